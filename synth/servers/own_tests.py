"""The tests that an author writes for a server: the examples that they are written from, and their run by pytest.

They run in the sandbox, in the folders in which they will lie.
"""

import re
from collections.abc import Sequence

from skillweave.sandbox.limits import SandboxLimits
from skillweave.sandbox.run import run
from skillweave.schema.call import RowChange, ToolError
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json, Record
from synth.servers.cases import Observed, ServerCase
from synth.servers.runtime import runtime_files

LARGEST = 4000
"""Characters of a result beyond which a case is no example, unless a tool has no other success."""


class CallExample(Record):
    """A call with what the contract answers."""

    tool: str
    caller: str | None
    arguments: dict[str, Json]
    patch: list[RowChange]
    """Row changes made before the call."""
    value: Json = None
    """The result, if the call succeeds."""
    error: ToolError | None = None

    @property
    def as_python(self) -> str:
        """The call and its answer as one line of Python."""
        given = [repr(self.tool), repr(self.arguments), f"caller={self.caller!r}"]
        if self.patch:
            rows = [
                change.model_dump(include={"table", "op", "key", "after"}, exclude_none=True) for change in self.patch
            ]
            given.append(f"patch={rows!r}")
        if self.error is not None:
            return f"call({', '.join(given)}) is refused: {self.error.code!r}, rule {self.error.rule!r}"
        return f"call({', '.join(given)}) == { ({'ok': True, 'value': self.value})!r}"


def examples_of(tools: Sequence[Tool], cases: Sequence[ServerCase], observed: Sequence[Observed]) -> list[CallExample]:
    """Choose one success of each tool and one refusal of each kind.

    Of several, the one with a result that is not empty, few changed rows and a short answer is chosen.

    Args:
        tools: The tools, in the order of the examples.
        cases: The cases; those of one call are considered.
        observed: What the contract answered to each case.
    """
    best: dict[tuple[str, str], tuple[tuple[bool, bool, int, int], CallExample]] = {}
    for case, seen in zip(cases, observed, strict=True):
        if len(case.calls) != 1 or not isinstance(answer := seen.answers[0], dict):
            continue
        example = _example(case, answer)
        kind = f"{example.error.code} {example.error.rule}" if example.error else ""
        length = len(str(answer))
        size = length > LARGEST, example.value == [], len(case.patch), length
        known = best.get((example.tool, kind))
        if (length <= LARGEST or not kind) and (known is None or size < known[0]):
            best[example.tool, kind] = size, example
    order = {tool.name: place for place, tool in enumerate(tools)}
    chosen = [(key, example) for key, (_, example) in best.items() if key[0] in order and _is_worth_testing(example)]
    return [example for _, example in sorted(chosen, key=lambda entry: (order[entry[0][0]], entry[0][1]))]


def _example(case: ServerCase, answer: dict[str, Json]) -> CallExample:
    call = case.calls[0]
    error = answer.get("error")
    return CallExample(
        tool=call.tool,
        caller=case.caller,
        arguments={name: value for name, value in call.arguments.items() if value is not None},
        patch=list(case.patch),
        value=answer.get("value"),
        error=ToolError.model_validate(error) if error is not None else None,
    )


def _is_worth_testing(example: CallExample) -> bool:
    """Whether an author should test it: a success, or a refusal by a rule."""
    return example.error is None or example.error.rule is not None


PASSED = re.compile(r"^(\d+) passed\b.* in [\d.]+s.*\s*\Z", re.MULTILINE)
"""pytest's last line. The exit status is no proof: code that ends the process can set it to 0."""
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
FAILED = re.compile(r"^_{3,} (.+?) _{3,}\n(.*?)(?=^_{3,} |^={3,} |\Z)", re.MULTILINE | re.DOTALL)
"""A test that fails, with pytest's report on it."""
MOST = 12
"""Failing tests that are reported; pytest stops after them."""
LINES = 12
"""Lines of pytest's report on one test."""
COMMAND = ("-m", "pytest", "-q", f"--maxfail={MOST}", "--tb=short", "-o", "verbosity_assertions=2")


def failures(server: str, source: str, tests: str, database: bytes, limits: SandboxLimits | None = None) -> list[str]:
    """Run a server's tests in the sandbox.

    Args:
        server: The server's name.
        source: Its Python source.
        tests: The source of its tests.
        database: The world's SQLite file.
        limits: What the sandbox allows; None for its defaults.

    Returns:
        What fails, in words; empty if all tests pass.
    """
    files: dict[str, str | bytes] = {f"mcp_servers/{name}": text for name, text in runtime_files().items()}
    files[f"mcp_servers/{server}.py"] = source
    files[f"mcp_servers/tests/test_{server}.py"] = tests
    files[f"database/{server}.sqlite"] = database
    command = [*COMMAND, "-p", "no:cacheprovider", "--disable-plugin-autoload", "mcp_servers/tests"]
    outcome = run(files, command, limits=limits, packages=True)
    passed = PASSED.search(outcome.stdout)
    if outcome.ok and passed and int(passed[1]) >= len(set(TEST.findall(tests))):
        return []
    why = outcome.reason or "pytest did not report that all of them passed"
    reports = [f"{name}:\n{_report(text)}" for name, text in FAILED.findall(outcome.stdout)]
    if reports:
        return [f"these tests do not pass on the right server:\n{reports[0]}", *reports[1:]]
    last = (outcome.stdout + outcome.stderr).strip().splitlines()[-LINES:]
    return ["\n".join([f"the tests do not pass: {why}", *last])]


def _report(text: str) -> str:
    """The lines that failed and pytest's explanation, without the code around them."""
    lines = [line for line in text.splitlines() if line.startswith(("E ", "    "))]
    return "\n".join(lines[:LINES])

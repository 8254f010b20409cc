"""Ask the author to write a server, check it, and send it back until it equals its contract.

A static check reads the source, then the contract's test suite runs it. The author gets the observed differences and
patches the source. The author's own tests have to pass too: it writes them from examples, and pytest runs them in the
sandbox. If a server is still wrong after the last repair, the step raises AuthorError; it never keeps a server with
faults. The server of a fused world is not written anew if it can be carried over from those of its domains.
"""

import ast
import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from sqlglot import exp

from skillweave.base.code import parse_python
from skillweave.base.errors import AuthorError
from skillweave.llm.parse import PatchError, apply_patch, parse_patch
from skillweave.llm.question import question
from skillweave.sandbox.folder import SandboxLimits
from skillweave.sandbox.run import run
from skillweave.sandbox.strength import strength
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import KeyCall, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.fusion import BridgeProof
from skillweave.world.sql import parse
from synth.artifacts import SERVER_TESTS, SERVERS
from synth.engine.artifact import each
from synth.engine.context import Context
from synth.engine.step import Params
from synth.servers.differential import ServerDifference
from synth.servers.runtime import runtime_files
from synth.servers.skeleton import booleans, function_head, own_test_faults, registry, static_faults
from synth.servers.suite import CarriedTools, DifferentialSuite, ServerReport, prepare_suite, run_suite

P = TypeVar("P", bound=Params)

WRITE = question("server.write", returns=str, role="coding", form="code")
REPAIR = question("server.repair", returns=str, role="coding", form="text")
TESTS = question("server.tests", returns=str, role="coding", form="code")
QUESTIONS = (WRITE, REPAIR, TESTS)
"""The questions that a step declares if it calls `written_server`."""
SERVER_REPORTS = each("mcp_servers/reports/{key}.json", ServerReport)
WRITES = (SERVERS, SERVER_TESTS, SERVER_REPORTS)
"""The artifacts that `WrittenServer.write` writes."""


class WrittenServer(NamedTuple):
    """A server that equals its contract."""

    source: str
    tests: str
    report: ServerReport
    key_calls: list[KeyCall]

    def write(self, ctx: Context[P]) -> None:
        """Write the server, its tests and its report."""
        ctx.write(SERVERS, ctx.key, self.source)
        ctx.write(SERVER_TESTS, ctx.key, self.tests)
        ctx.write(SERVER_REPORTS, ctx.key, self.report)


class CarriedSource(NamedTuple):
    """The server of a fused world as it is carried over from those of its domains."""

    source: str
    """Empty if it cannot be carried over."""
    calls: Mapping[str, list[KeyCall]]
    """Domain's server -> the calls on which its proof stands."""


async def written_server(
    ctx: Context[P],
    blueprint: Blueprint,
    database: bytes,
    bridges: Sequence[BridgeProof] = (),
    carried: CarriedSource | None = None,
) -> WrittenServer:
    """Ask the author for the server of a world and for its tests, until both are right.

    Args:
        ctx: The step's context. Its parameter `repairs` also bounds the rounds of patching.
        blueprint: The contract.
        database: The world's SQLite file.
        bridges: Proofs of the bridge rules of a fused world.
        carried: Takes the place of the author's first answer.

    Raises:
        AuthorError: The server or its tests are still wrong after the last repair.
    """
    name = blueprint.server
    ctx.log(f"sandbox strength: {strength()}")
    carried = carried or CarriedSource("", {})
    source, suite, rounds = await _equal_source(ctx, blueprint, database, bridges, carried)

    async def failing(tests: str) -> Sequence[str]:
        wrong = own_test_faults(tests, blueprint)
        return wrong or await asyncio.to_thread(failures, name, source, tests, database, ctx.sandbox)

    tests = await ctx.ask(TESTS, blueprint=blueprint, examples=list(suite.examples), check=failing)
    report = suite.report(rounds, tests.count("\ndef test_"))
    ctx.count("cases", report.cases)
    ctx.count("guards", report.guards)
    ctx.count("guards unmet", len(report.guards_unmet))
    return WrittenServer(source, tests, report, list(suite.key_calls))


async def _equal_source(
    ctx: Context[P], blueprint: Blueprint, database: bytes, bridges: Sequence[BridgeProof], carried: CarriedSource
) -> tuple[str, DifferentialSuite, int]:
    """A source that equals the contract, its suite, and the number of repairs. AuthorError if no source does."""
    source = carried.source
    if not source or static_faults(source, blueprint):
        source = await _first_source(ctx, blueprint)
    seed = f"{ctx.seed}/{blueprint.server}"
    suite: DifferentialSuite | None = None
    for number in range(ctx.params.repairs + 1):
        tools = CarriedTools(same_functions(carried.source, source, blueprint), carried.calls)
        if suite is None or suite.carried != tools.tools:
            world = blueprint, database, ctx.now, seed, tuple(bridges)
            first = await ctx.offload(first_run, *world, tools, source, ctx.sandbox)
            suite, wrong = first[0], first[1]
        else:
            wrong = await ctx.offload(run_suite, suite, source, ctx.sandbox)
        if not wrong:
            return source, suite, number
        if number < ctx.params.repairs:
            source = await _patched(ctx, blueprint, source, wrong, number + 1)
    raise AuthorError(
        f"the server of {ctx.key!r} still differs from its contract after {ctx.params.repairs} repairs: {wrong[0]}",
        question=REPAIR.name,
        key=ctx.key,
        reasons=tuple(map(str, wrong)),
    )


def first_run(
    blueprint: Blueprint,
    database: bytes,
    now: str,
    seed: str,
    bridges: Sequence[BridgeProof],
    tools: CarriedTools,
    source: str,
    limits: SandboxLimits,
) -> tuple[DifferentialSuite, list[ServerDifference]]:
    """Prepare a suite and run it. If the server equals its contract, the suite comes without cases: it has done its
    work, and they would only have to travel between processes."""
    suite = prepare_suite(blueprint, database, now, seed, bridges, tools)
    wrong = run_suite(suite, source, limits)
    if not wrong:
        suite = replace(suite, expected=replace(suite.expected, database=b"", cases=(), observed=()))
    return suite, wrong


async def _first_source(ctx: Context[P], blueprint: Blueprint) -> str:
    return await ctx.ask(
        WRITE,
        blueprint=blueprint,
        now=ctx.now,
        registry="\n".join(registry(blueprint, ctx.now)),
        outlines=tool_outlines(blueprint),
        tables=[*blueprint.tables, *(view.entity for view in blueprint.views)],
        check=lambda written: static_faults(written, blueprint),
    )


def same_functions(carried: str, source: str, blueprint: Blueprint) -> frozenset[str]:
    """The tools whose functions are the carried ones; none if the sources differ in anything else."""
    names = {tool.name for tool in blueprint.tools}
    own, other = (excerpt(text, names) for text in (carried, source))
    if own.text != other.text:
        return frozenset()
    lines = {f"# {name}: right, left out\n": name for name in names}
    return frozenset(name for line, name in lines.items() if own.hidden[line] == other.hidden[line])


async def _patched(
    ctx: Context[P], blueprint: Blueprint, source: str, wrong: Sequence[ServerDifference], number: int
) -> str:
    """The source with the author's SEARCH/REPLACE blocks applied. The author sees only parts that may be wrong."""
    concerned = {tool for difference in wrong for tool in difference.tools}
    if not all(difference.tools for difference in wrong):
        concerned = set()
    outlines = tool_outlines(blueprint, concerned)
    shown = excerpt(source, {tool.name for tool in blueprint.tools} - {outline.tool.name for outline in outlines})

    def corrected(answer: str) -> str:
        return shown.whole(apply_patch(shown.text, parse_patch(answer)))

    def check(answer: str) -> Sequence[str]:
        try:
            return static_faults(corrected(answer), blueprint)
        except PatchError as error:
            return [str(error)]

    answer = await ctx.ask(
        REPAIR,
        key=f"{ctx.key}/{number}",
        blueprint=blueprint,
        outlines=outlines,
        tables=tables_used(blueprint, outlines),
        source=shown.text,
        failures=[str(difference) for difference in wrong],
        check=check,
    )
    return corrected(answer)


class Excerpt(NamedTuple):
    """A server's source in which one line replaces each function without faults."""

    text: str
    hidden: dict[str, str]
    """Line of the excerpt -> the function that it replaces."""

    def whole(self, patched: str) -> str:
        """The whole source for a patched excerpt.

        Raises:
            PatchError: A line that stands for a function is missing.
        """
        lines = patched.splitlines(keepends=True)
        for line in self.hidden:
            if lines.count(line) != 1:
                raise PatchError(f"the line {line.strip()!r} stands for a function that is right; leave it as it is")
        return "".join(self.hidden.get(line, line) for line in lines)


def excerpt(source: str, functions: Collection[str]) -> Excerpt:
    """Replace each of these top-level functions by one line."""
    source = source if source.endswith("\n") else source + "\n"
    lines = source.splitlines(keepends=True)
    hidden: dict[str, str] = {}
    for node in reversed(parse_python(source).body):
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            start = min(node.lineno, *(decorator.lineno for decorator in node.decorator_list)) - 1
            line = f"# {node.name}: right, left out\n"
            hidden[line] = "".join(lines[start : node.end_lineno])
            lines[start : node.end_lineno] = [line]
    return Excerpt("".join(lines), hidden)


class ToolOutline(NamedTuple):
    """One tool, as the author of a server sees it."""

    tool: Tool
    head: str
    """Decorator, signature and docstring of its function."""
    booleans: list[str]
    """Boolean columns of its result."""


def tool_outlines(blueprint: Blueprint, names: Collection[str] = ()) -> list[ToolOutline]:
    """The tools of these names; all tools if no names are given."""
    return [
        ToolOutline(tool, "\n".join(function_head(blueprint, tool)), booleans(blueprint, tool))
        for tool in blueprint.tools
        if not names or tool.name in names
    ]


def tables_used(blueprint: Blueprint, outlines: Sequence[ToolOutline]) -> list[Entity]:
    """The tables and views that the SQL of these tools reads or writes."""
    texts = [text for outline in outlines for text in _texts(outline.tool)]
    named = {table.name.lower() for text in texts for table in parse(text).tree.find_all(exp.Table)}
    known = [*blueprint.tables, *(view.entity for view in blueprint.views)]
    return [entity for entity in known if entity.table.lower() in named]


def _texts(tool: Tool) -> list[str]:
    guards = [guard.holds for guard in tool.guards if guard.enforced_by == "tool"]
    return [*guards, *(effect.sql for effect in tool.effects), tool.returns.select]


PASSED = re.compile(r"^(\d+) passed\b.* in [\d.]+s.*\s*\Z", re.MULTILINE)
"""pytest's last line. The exit status is no proof: code that ends the process can set it to 0."""
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
FAILED = re.compile(r"^_{3,} (.+?) _{3,}\n(.*?)(?=^_{3,} |^={3,} |\Z)", re.MULTILINE | re.DOTALL)
"""A test that fails, with pytest's report on it."""
MOST = 12
"""Most failing tests to report; pytest stops after them."""
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
        limits: The limits of the sandbox; None for its defaults.

    Returns:
        The failures, in words; empty if all tests pass.
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

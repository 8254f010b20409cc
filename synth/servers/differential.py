"""The differential test: the contract's session and the generated server get the same cases and must agree.

A server is right if it answers every call as its contract does and leaves the same state. It runs in the sandbox; a
server that hangs or dies differs like any other. The report names each cause once, however many calls show it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillweave.base.progress import told
from skillweave.sandbox.folder import SandboxLimits
from skillweave.sandbox.run import SandboxOutcome, run
from skillweave.schema.contract import Call, RowChange
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.servers.cases import (
    Mismatch,
    Observed,
    ServerCase,
    change_mismatches,
    observe,
    tool_mismatches,
    value_mismatches,
)
from synth.servers.runtime import probe_source, runtime_files

MOST = 12
"""Causes that are reported."""
DEFECT = "refuses with world_defect"
BRIEF = 60
"""Most characters of an argument to show."""
LISTED = 3
"""Most earlier calls and changed rows of a case to show."""


@dataclass(frozen=True)
class ServerDifference:
    """One cause of differences between the server and its contract."""

    message: str
    """One line: the call, where its outcome differs, and how many other calls differ there."""
    tools: tuple[str, ...] = ()
    """Tools that may be at fault; empty if the whole server may be."""

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class ExpectedAnswers:
    """Cases with the contract's answers, which are the same for every attempt of an author."""

    server: str
    now: str
    database: bytes
    tools: list[Json]
    """Name, description and schema of each offered tool."""
    cases: tuple[ServerCase, ...]
    observed: tuple[Observed, ...]


@dataclass(frozen=True)
class _FailedCase:
    """A case in which the server differs."""

    case: ServerCase
    calls: int
    """Number of calls up to the one whose outcome differs."""
    mismatch: Mismatch


def run_contract(world: World, cases: Sequence[ServerCase]) -> ExpectedAnswers:
    """Run cases on the contract, without cases whose row changes are not possible."""
    tried = ((case, observe(world, case)) for case in told(cases, "cases on the contract"))
    pairs = [(case, observed) for case, observed in tried if observed is not None]
    tools: list[Json] = [_definition(tool) for tool in world.tools]
    possible, answers = tuple(case for case, _ in pairs), tuple(observed for _, observed in pairs)
    return ExpectedAnswers(world.blueprint.server, world.now, world.content, tools, possible, answers)


def differences(
    expected: ExpectedAnswers, source: str, most: int = MOST, limits: SandboxLimits | None = None
) -> list[ServerDifference]:
    """Run a server in the sandbox and compare it with its contract.

    Args:
        expected: The cases with the contract's answers.
        source: The server's Python source.
        most: Most causes to report.
        limits: The limits of the sandbox; None for its defaults.

    Returns:
        The differences, one for each cause; empty if the server equals its contract.
    """
    outcome = _run_probe(expected, source, limits)
    lines = outcome.stdout.splitlines()
    if not lines:
        return [ServerDifference(f"the server does not start: {_why(outcome)}")]
    try:
        offered = json.loads(lines[0])
        if isinstance(offered, str):
            return [ServerDifference(f"the server does not start: {offered}")]
        tools = tool_mismatches(expected.tools, offered)
        causes = [ServerDifference(f"the tools offered: {mismatch}") for mismatch in tools]
        causes += _causes(list(_failed_cases(expected, lines[1:])))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        return [ServerDifference(f"the server's answers cannot be read: {error!r}; a server must not print")]
    if len(lines) - 1 < len(expected.cases):
        stopped = expected.cases[len(lines) - 1]
        message = f"{_case_shown(stopped, len(stopped.calls))}: the server gave no answer: {_why(outcome)}"
        causes.insert(0, ServerDifference(message, _tools(stopped.calls)))
    left = len(causes) - most
    return [*causes[:most], ServerDifference(f"there are {left} more causes")] if left > 0 else causes


def _run_probe(expected: ExpectedAnswers, source: str, limits: SandboxLimits | None) -> SandboxOutcome:
    first: Json = {"server": expected.server, "now": expected.now}
    lines = [json.dumps(line) for line in [first, *(case.as_json(expected.now) for case in expected.cases)]]
    own: dict[str, str | bytes] = {
        f"{expected.server}.py": source,
        "probe.py": probe_source(),
        "world.sqlite": expected.database,
    }
    return run({**runtime_files(), **own}, ["probe.py"], stdin="\n".join(lines).encode() + b"\n", limits=limits)


def _why(outcome: SandboxOutcome) -> str:
    """Why the sandbox ended the server, with the last line that it wrote."""
    last = outcome.stderr.strip().splitlines()[-1:]
    return "; ".join([outcome.reason, *last])


def _definition(tool: Mapping[str, Json]) -> Json:
    function = tool["function"]
    assert isinstance(function, dict)
    return [function["name"], function["description"], function["parameters"]]


def _failed_cases(expected: ExpectedAnswers, lines: Sequence[str]) -> Iterator[_FailedCase]:
    """Each case with the first mismatch of each kind in the first call that differs."""
    for case, observed, line in zip(expected.cases, expected.observed, lines, strict=False):
        answers, changes, faults = json.loads(line)
        calls, mismatches = len(case.calls), []
        for place, given in enumerate(zip(observed.answers, answers, faults, strict=True), start=1):
            mismatches = list(_answer_mismatches(*given))
            if mismatches:
                calls = place
                break
        first: dict[str, Mismatch] = {}
        for mismatch in mismatches or _state_mismatches(observed, changes):
            first.setdefault(mismatch.kind, mismatch)
        yield from (_FailedCase(case, calls, mismatch) for mismatch in first.values())


def _state_mismatches(observed: Observed, changes: Any) -> Iterator[Mismatch]:
    assert isinstance(observed.changes, dict)
    return change_mismatches(observed.changes, changes)


def _answer_mismatches(contract: Any, server: Any, fault: str) -> Iterator[Mismatch]:
    """The differences between two answers; `fault` is the reason if the server could not answer."""
    wanted = _outcome(contract)
    given = _outcome(server, "" if wanted == DEFECT else fault)
    if wanted != given:
        # A failure is one cause for all answers of the contract.
        yield Mismatch("", given if fault else f"{wanted} / {given}", wanted, given)
    elif contract["ok"]:
        yield from value_mismatches(contract["value"], server["value"])
    else:
        yield from value_mismatches(contract["error"], server["error"], "error", "error")


def _outcome(answer: Any, fault: str = "") -> str:
    if answer["ok"]:
        return "carries it out"
    error = answer["error"]
    if fault:
        return f"fails at {' '.join(fault.split())}"
    return f"refuses with {error['code']}" + (f" ({error['rule']})" if error["rule"] else "")


def _causes(failed: Sequence[_FailedCase]) -> list[ServerDifference]:
    """One entry for each tool and kind, shown by its simplest case. Each tool's first cause comes before all others."""
    groups: dict[tuple[str, str], list[_FailedCase]] = {}
    for case in sorted(failed, key=lambda case: case.calls > 1):
        # A fault of a single call is the same fault if it appears after other calls.
        keys = [(call.tool, case.mismatch.kind) for call in case.case.calls[: case.calls]]
        known = next((key for key in reversed(keys) if key in groups), keys[-1])
        groups.setdefault(known, []).append(case)
    ranks: dict[str, int] = {}
    ranked: list[tuple[int, ServerDifference]] = []
    for (tool, _), group in groups.items():
        simplest = min(group, key=lambda case: (case.calls, len(case.case.patch)))
        ranks[tool] = ranks.get(tool, -1) + 1
        ranked.append((ranks[tool], _cause(simplest, len(group) - 1)))
    return [cause for _, cause in sorted(ranked, key=lambda entry: entry[0])]


def _cause(shown: _FailedCase, others: int) -> ServerDifference:
    kind = shown.mismatch.kind
    more = f"{others} more call{'s' * (others > 1)} differ{'s' * (others == 1)}"
    also = f" (and {more} {f'in {kind}' if shown.mismatch.path else 'likewise'})" if others else ""
    message = f"{_case_shown(shown.case, shown.calls)}: {shown.mismatch}{also}"
    return ServerDifference(message, _tools(shown.case.calls[: shown.calls]))


def _tools(calls: Sequence[Call]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.tool for call in calls))


def _case_shown(case: ServerCase, calls: int) -> str:
    """The call, its caller, and the earlier calls and changed rows."""
    *earlier, last = case.calls[:calls]
    parts = [f"{_call_shown(last)} {f'as {case.caller}' if case.caller else 'not signed in'}"]
    if earlier:
        more = f", and {len(earlier) - LISTED} more calls" if len(earlier) > LISTED else ""
        parts.append(f"after {', '.join(map(_call_shown, earlier[-LISTED:]))}{more}")
    if case.patch:
        more = f", and {len(case.patch) - LISTED} more rows" if len(case.patch) > LISTED else ""
        parts.append(f"with {', '.join(map(_row_shown, case.patch[:LISTED]))}{more}")
    return " ".join(parts)


def _call_shown(call: Call) -> str:
    return f"{call.tool}({', '.join(f'{name}={_shortened(value)}' for name, value in call.arguments.items())})"


def _row_shown(change: RowChange) -> str:
    """A row that the case changes before its calls."""
    row = f"{change.table} {next(iter(change.key.values()), '')}"
    if change.op == "delete":
        return f"no {row}"
    cells = ", ".join(f"{name}={_shortened(value)}" for name, value in (change.after or {}).items())
    return f"{'a new ' * (change.op == 'insert')}{row} ({cells})"


def _shortened(value: Json) -> str:
    text = ascii(value)
    return text if len(text) <= BRIEF else f"{text[:BRIEF]}... ({len(text)} characters)"

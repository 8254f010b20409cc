"""The differential test: the contract's session and the generated server get the same cases and must agree.

A server is right if it answers every call as its contract does and leaves the same state. It runs in the sandbox;
a server that hangs or dies differs like any other. However many calls show a fault, it is reported once.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from skillweave.sandbox.limits import SandboxLimits
from skillweave.sandbox.run import SandboxOutcome, run
from skillweave.schema.call import Call, RowChange
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
from synth.servers.runtime_files import runtime_files

MOST = 12
"""Causes that are told."""
DEFECT = "refuses with world_defect"
BRIEF = 60
"""Characters of an argument that are shown."""
LISTED = 3
"""Former calls and changed rows of a case that are shown."""


@dataclass(frozen=True)
class ServerDifference:
    """One cause for which the server is not its contract."""

    told: str
    """The call, where its outcome parts, and how many others part there: one line."""
    tools: tuple[str, ...] = ()
    """Tools that may be at fault; none: the whole server."""

    def __str__(self) -> str:
        return self.told


@dataclass(frozen=True)
class ExpectedAnswers:
    """Cases with what the contract gives: the same for every attempt of an author."""

    server: str
    now: str
    database: bytes
    tools: list[Json]
    """Name, description and schema of each tool that is offered."""
    cases: tuple[ServerCase, ...]
    observed: tuple[Observed, ...]


@dataclass(frozen=True)
class _FailedCase:
    """A case in which something parts."""

    case: ServerCase
    calls: int
    """Up to the one whose outcome parts."""
    parting: Mismatch


def run_contract(world: World, cases: Sequence[ServerCase]) -> ExpectedAnswers:
    """Run the cases on the contract."""
    seen = [(case, made) for case in cases if (made := observe(world, case)) is not None]
    tools: list[Json] = [_definition(tool) for tool in world.tools]
    kept, observed = tuple(case for case, _ in seen), tuple(made for _, made in seen)
    return ExpectedAnswers(world.blueprint.server, world.now, world.content, tools, kept, observed)


def differences(
    expected: ExpectedAnswers, source: str, most: int = MOST, limits: SandboxLimits | None = None
) -> list[ServerDifference]:
    """Where the server `source` is not its contract, a cause each, at most `most` of them; empty where it is."""
    first: Json = {"server": expected.server, "now": expected.now}
    lines = [json.dumps(line) for line in [first, *(case.as_json(expected.now) for case in expected.cases)]]
    outcome = run(
        {**runtime_files(), f"{expected.server}.py": source, "probe.py": _probe(), "world.sqlite": expected.database},
        ["probe.py"],
        stdin="\n".join(lines).encode() + b"\n",
        limits=limits,
    )
    told = outcome.stdout.splitlines()
    if not told:
        return [ServerDifference(f"the server does not start: {_why(outcome)}")]
    try:
        offered = json.loads(told[0])
        if isinstance(offered, str):
            return [ServerDifference(f"the server does not start: {offered}")]
        found = [
            ServerDifference(f"the tools offered: {parting}") for parting in tool_mismatches(expected.tools, offered)
        ]
        found += _causes(list(_seen(expected, told[1:])))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        return [ServerDifference(f"the server's answers cannot be read: {error!r}; a server must not print")]
    if len(told) - 1 < len(expected.cases):
        stopped = expected.cases[len(told) - 1]
        about = f"{_told_case(stopped, len(stopped.calls))}: the server gave no answer: {_why(outcome)}"
        found.insert(0, ServerDifference(about, _tools(stopped.calls)))
    return (
        [*found[:most], ServerDifference(f"there are {len(found) - most} more causes")] if len(found) > most else found
    )


def _probe() -> str:
    return files("synth.servers").joinpath("probe.py").read_text("utf-8")


def _why(outcome: SandboxOutcome) -> str:
    """Why the sandbox ended it, with the last line that it wrote."""
    last = outcome.stderr.strip().splitlines()[-1:]
    return "; ".join([outcome.reason, *last])


def _definition(tool: Mapping[str, Json]) -> Json:
    function = tool["function"]
    assert isinstance(function, dict)
    return [function["name"], function["description"], function["parameters"]]


def _seen(expected: ExpectedAnswers, told: Sequence[str]) -> Iterator[_FailedCase]:
    """Each place where a case parts, of each kind the first."""
    for case, observed, line in zip(expected.cases, expected.observed, told, strict=False):
        answers, changes, faults = json.loads(line)
        calls, partings = len(case.calls), []
        for place, given in enumerate(zip(observed.answers, answers, faults, strict=True), start=1):
            partings = list(_answers_apart(*given))
            if partings:
                calls = place
                break
        first: dict[str, Mismatch] = {}
        for parting in partings or _changes_apart(observed, changes):
            first.setdefault(parting.kind, parting)
        yield from (_FailedCase(case, calls, parting) for parting in first.values())


def _changes_apart(observed: Observed, changes: Any) -> Iterator[Mismatch]:
    assert isinstance(observed.changes, dict)
    return change_mismatches(observed.changes, changes)


def _answers_apart(contract: Any, server: Any, fault: str) -> Iterator[Mismatch]:
    """Where two answers part; `fault` is why the server could not answer."""
    one = _outcome(contract)
    other = _outcome(server, "" if one == DEFECT else fault)
    if one != other:
        # A failure is one cause, whatever the contract gives.
        yield Mismatch("", other if fault else f"{one} / {other}", one, other)
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


def _causes(seen: Sequence[_FailedCase]) -> list[ServerDifference]:
    """A line for each tool and kind, shown by the plainest of its cases; every tool's first cause before all others."""
    groups: dict[tuple[str, str], list[_FailedCase]] = {}
    for one in sorted(seen, key=lambda one: one.calls > 1):
        # What a call alone shows already is no other cause where it shows behind other calls.
        keys = [(call.tool, one.parting.kind) for call in one.case.calls[: one.calls]]
        known = next((key for key in reversed(keys) if key in groups), keys[-1])
        groups.setdefault(known, []).append(one)
    ranks: dict[str, int] = {}
    ranked: list[tuple[int, ServerDifference]] = []
    for (tool, _), group in groups.items():
        plainest = min(group, key=lambda one: (one.calls, len(one.case.patch)))
        ranks[tool] = ranks.get(tool, -1) + 1
        ranked.append((ranks[tool], _cause(plainest, len(group) - 1)))
    return [cause for _, cause in sorted(ranked, key=lambda entry: entry[0])]


def _cause(shown: _FailedCase, others: int) -> ServerDifference:
    kind = shown.parting.kind
    more = f"{others} more call{'s' * (others > 1)} differ{'s' * (others == 1)}"
    also = f" (and {more} {f'in {kind}' if shown.parting.path else 'likewise'})" if others else ""
    told = f"{_told_case(shown.case, shown.calls)}: {shown.parting}{also}"
    return ServerDifference(told, _tools(shown.case.calls[: shown.calls]))


def _tools(calls: Sequence[Call]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.tool for call in calls))


def _told_case(case: ServerCase, calls: int) -> str:
    """The call, who makes it, and what went before it."""
    *former, last = case.calls[:calls]
    parts = [f"{_told_call(last)} {f'as {case.caller}' if case.caller else 'not signed in'}"]
    if former:
        more = f", and {len(former) - LISTED} more calls" if len(former) > LISTED else ""
        parts.append(f"after {', '.join(map(_told_call, former[-LISTED:]))}{more}")
    if case.patch:
        more = f", and {len(case.patch) - LISTED} more rows" if len(case.patch) > LISTED else ""
        parts.append(f"with {', '.join(map(_told_row, case.patch[:LISTED]))}{more}")
    return " ".join(parts)


def _told_call(call: Call) -> str:
    return f"{call.tool}({', '.join(f'{name}={_brief(value)}' for name, value in call.arguments.items())})"


def _told_row(change: RowChange) -> str:
    """A row that the case has changed before its calls."""
    row = f"{change.table} {next(iter(change.key.values()), '')}"
    if change.op == "delete":
        return f"no {row}"
    cells = ", ".join(f"{name}={_brief(value)}" for name, value in (change.after or {}).items())
    return f"{'a new ' * (change.op == 'insert')}{row} ({cells})"


def _brief(value: Json) -> str:
    text = ascii(value)
    return text if len(text) <= BRIEF else f"{text[:BRIEF]}... ({len(text)} characters)"

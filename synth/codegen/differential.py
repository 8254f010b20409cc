"""The differential test: the same cases to the contract's session and to the generated server, answer by answer.

A server is right iff it answers every call as its contract does, and leaves the same state. The server runs in the
sandbox; one that hangs or dies is a difference like any other.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from skillweave.sandbox.limits import Limits
from skillweave.sandbox.run import run
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.codegen.case import Case, Observed, observe
from synth.codegen.runtime_files import runtime_files

SHOWN = 400
"""Characters of an answer that a difference shows."""


@dataclass(frozen=True)
class Difference:
    """One case in which the server is not its contract."""

    case: str
    told: str
    """What was called, what the contract gives and what the server gave."""

    def __str__(self) -> str:
        return f"{self.case}: {self.told}"


@dataclass(frozen=True)
class Expected:
    """Cases with what the contract gives: the same for every attempt of an author."""

    server: str
    now: str
    database: bytes
    tools: Json
    """Name, description and schema of each tool that is offered."""
    cases: tuple[Case, ...]
    observed: tuple[Observed, ...]


def expect(world: World, cases: Sequence[Case]) -> Expected:
    """Run the cases on the contract."""
    seen = [(case, made) for case in cases if (made := observe(world, case)) is not None]
    tools: Json = [_definition(tool) for tool in world.tools]
    kept, observed = tuple(case for case, _ in seen), tuple(made for _, made in seen)
    return Expected(world.blueprint.server, world.now, world.content, tools, kept, observed)


def differences(expected: Expected, source: str, most: int = 8, limits: Limits | None = None) -> list[Difference]:
    """Where the server `source` is not its contract, at most `most` of them; empty where it is."""
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
        return [Difference("the server does not start", f"{outcome.reason}: {outcome.stderr[-SHOWN:]}")]
    try:
        found = _told(expected, told, most)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return [Difference("the server's answers cannot be read", f"{error!r}; a server must not print")]
    if len(found) < most and len(told) - 1 < len(expected.cases):
        stopped = expected.cases[len(told) - 1]
        about = f"the server gave no answer: {outcome.reason}; {outcome.stderr[-SHOWN:]}"
        found.append(Difference(f"{stopped.about} (caller {stopped.caller!r})", about))
    return found


def _told(expected: Expected, told: Sequence[str], most: int) -> list[Difference]:
    found = _tools(expected, json.loads(told[0]))
    for case, observed, line in zip(expected.cases, expected.observed, told[1:], strict=False):
        if len(found) >= most:
            break
        answers, changes = json.loads(line)
        found.extend(_compare(case, observed, answers, changes))
    return found


def _probe() -> str:
    return files("synth.codegen").joinpath("inside/probe.py").read_text("utf-8")


def _tools(expected: Expected, offered: Json) -> list[Difference]:
    """Whether the server offers the tools that agents are offered, word by word."""
    if offered == expected.tools:
        return []
    wanted = expected.tools if isinstance(expected.tools, list) else []
    given = {json.dumps(tool) for tool in offered} if isinstance(offered, list) else set()
    wrong: Json = [tool for tool in wanted if json.dumps(tool) not in given]
    return [Difference("the tools offered", f"expected {_short(wrong or wanted)}, in this order")]


def _definition(tool: Mapping[str, Json]) -> Json:
    function = tool["function"]
    assert isinstance(function, dict)
    return [function["name"], function["description"], function["parameters"]]


def _compare(case: Case, observed: Observed, answers: list[Json], changes: Json) -> list[Difference]:
    for call, expected, given in zip(case.calls, observed.answers, answers, strict=True):
        if json.dumps(expected, sort_keys=True) != json.dumps(given, sort_keys=True):
            told = f"{call.tool}({_short(call.arguments)}) must give {_short(expected)}, not {_short(given)}"
            return [Difference(case.about, told)]
    if observed.changes != changes:
        calls = ", ".join(f"{call.tool}({_short(call.arguments)})" for call in case.calls)
        return [Difference(case.about, f"{calls} must change {_short(observed.changes)}, not {_short(changes)}")]
    return []


def _short(value: Json) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."

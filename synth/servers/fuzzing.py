"""Fuzzing: cases of odd calls, random sessions of one person, and sessions that only a fused world has.

Odd calls have wrong types, unknown names, huge numbers, odd text or no sign-in. Later calls of a random session take
values from earlier results. A fused world adds sign-ins through several domains, callers whom one domain does not know,
and bridge rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from random import Random

from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedMember
from skillweave.schema.contract import DECLINE, TRANSFER, Call, Parameter, Tool
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.servers.cases import CandidateCall, ServerCase, row_edits

ODD_VALUES: tuple[Json, ...] = (
    None,
    True,
    0,
    -1,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    "'; DROP TABLE x; --",
    "%",
    "1",
    "naïve — 日本語 \U0001f600",
    "a\x00b",
    "\ud800",
    "x" * 5000,
    [],
    ["a", 1, None],
    {},
    {"a": {"b": [1]}},
    "2025-02-30",
    "20250120",
    "2025-01-20T10:00:00+02:00",
    "2025-01-20 10:00",
    "2025-W04-1",
    "0001-01-01T00:00:00+23:59",
)
PER_PARAMETER = 9
"""Odd values tried at each parameter; a seed chooses them."""


def odd_cases(
    blueprint: Blueprint, arguments: Mapping[str, dict[str, Json]], caller: str, seed: str, most: int = PER_PARAMETER
) -> list[ServerCase]:
    """Make cases of odd calls and odd sessions.

    Args:
        blueprint: The contract.
        arguments: Tool name -> arguments with which it succeeds; each odd call changes one of them.
        caller: Who is signed in.
        seed: Seeds the choice of odd values.
        most: Most odd values to try at each parameter.
    """
    cases = [
        ServerCase(
            f"{tool.name}, {about}",
            (Call.model_construct(tool=tool.name, arguments=given),),
            caller=_caller(tool, caller),
        )
        for tool in blueprint.tools
        for about, given in _odd_arguments(tool, arguments[tool.name], Random(f"{seed}/{tool.name}"), most)
    ]
    return [*cases, *_odd_sessions(blueprint, arguments, caller)]


def _caller(tool: Tool, caller: str) -> str | None:
    return None if tool.kind == "auth" else caller


def _odd_arguments(
    tool: Tool, good: dict[str, Json], random: Random, most: int
) -> Iterator[tuple[str, dict[str, Json]]]:
    yield "an unknown argument", {**good, "no_such_argument": 1}
    yield "no arguments", {}
    for parameter in tool.parameters:
        yield f"without {parameter.name}", {name: value for name, value in good.items() if name != parameter.name}
        for value in [*random.sample(ODD_VALUES, most), *_almost_right(parameter)]:
            yield f"{parameter.name} is {ascii(value)[:40]}", {**good, parameter.name: value}


def _almost_right(parameter: Parameter) -> list[Json]:
    """Values that are almost right."""
    if parameter.enum:
        return [parameter.enum[0].upper(), parameter.enum[0] + " "]
    values: dict[str, list[Json]] = {
        "string": ["no-such-row", 7],
        "integer": [1.0, "3"],
        "number": [3, "3.0"],
        "boolean": [1, "true"],
        "date": ["2025-01-20T00:00:00", 20250120],
        "datetime": ["2025-01-20", "2025-01-20T10:00:00.5Z"],
        "array": ["[]", [[["deep"]]]],
        "object": ["{}", {"é": 1.5}],
    }
    return values[parameter.type]


def _odd_sessions(blueprint: Blueprint, arguments: Mapping[str, dict[str, Json]], caller: str) -> list[ServerCase]:
    """Sessions with a wrong beginning, middle or end."""

    def call(tool: str, **given: Json) -> Call:
        return Call.model_construct(tool=tool, arguments=given)

    auth = next(tool.name for tool in blueprint.tools if tool.kind == "auth")
    other = next(tool.name for tool in blueprint.tools if tool.kind != "auth")
    sign_in = Call(tool=auth, arguments=arguments[auth])
    rule = blueprint.rules[0] if blueprint.rules else "R1"
    decline = call(DECLINE, rule=rule, note="a favour")
    transfer = call(TRANSFER, reason="policy", rule=rule, summary="done")
    return [
        ServerCase("every tool before signing in", tuple(call(tool.name) for tool in blueprint.tools)),
        ServerCase("sign in, twice, then call", (sign_in, sign_in, Call(tool=other, arguments=arguments[other]))),
        ServerCase("sign in where signed in already", (sign_in,), caller=caller),
        ServerCase("an unknown tool", (call("no_such_tool"), call("")), caller=caller),
        ServerCase(
            "calls after a transfer", (transfer, Call(tool=other, arguments=arguments[other]), transfer), caller=caller
        ),
        ServerCase("transfer before signing in", (transfer, sign_in)),
        ServerCase("decline before signing in", (decline, sign_in, decline)),
        ServerCase(
            "decline twice, then go on", (decline, decline, Call(tool=other, arguments=arguments[other])), caller=caller
        ),
        ServerCase("decline after a transfer", (transfer, decline), caller=caller),
        ServerCase(
            "odd declines",
            (
                call(DECLINE),
                call(DECLINE, rule=None),
                call(DECLINE, rule="no such rule"),
                call(DECLINE, rule=rule.lower()),
                call(DECLINE, rule=7),
                call(DECLINE, rule=rule, note=7),
                call(DECLINE, rule=rule, why="y"),
                call(DECLINE, rule=rule, note=None),
            ),
            caller=caller,
        ),
        ServerCase(
            "odd transfers",
            (
                call(TRANSFER),
                call(TRANSFER, reason="because", summary="x"),
                call(TRANSFER, reason="policy", summary=1),
                call(TRANSFER, reason="policy", summary="x", why="y"),
                call(TRANSFER, reason="policy", rule="no such rule", summary="x"),
                call(TRANSFER, reason="no_tool", rule=None, summary=""),
            ),
            caller=caller,
        ),
    ]


SESSIONS = 30
CALLS = 10
PLAIN_VALUES: Mapping[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def random_sessions(world: World, successes: Mapping[str, dict[str, Json]], seed: str) -> list[ServerCase]:
    """Make random sessions.

    Args:
        world: The world.
        successes: Tool name -> arguments with which it has succeeded for somebody.
        seed: Seeds the choices.
    """
    core = world.blueprint.core
    with world.session() as opened:
        people = [str(row[core.key]) for row in opened.rows(core.table)]
    if not people:
        return []
    return [
        _session(world, successes, people, Random(f"{seed}/session {number}"), number) for number in range(SESSIONS)
    ]


def _session(
    world: World, successes: Mapping[str, dict[str, Json]], people: list[str], random: Random, number: int
) -> ServerCase:
    caller = random.choice(people)
    tools = [tool for tool in world.blueprint.tools if tool.kind != "auth"]
    known: dict[str, list[Json]] = {}
    calls: list[Call] = []
    with world.session(caller=caller) as session:
        for _ in range(CALLS):
            tool = random.choice(tools)
            arguments = {
                parameter.name: _value(parameter, tool, known, successes, random)
                for parameter in tool.parameters
                if parameter.required or random.random() < 0.4
            }
            calls.append(Call(tool=tool.name, arguments=arguments))
            _remember(known, session.call(tool.name, arguments).value)
    return ServerCase(f"session {number} of {CALLS} calls", tuple(calls), caller=caller)


def _value(
    parameter: Parameter,
    tool: Tool,
    known: Mapping[str, list[Json]],
    successes: Mapping[str, dict[str, Json]],
    random: Random,
) -> Json:
    column = (parameter.refers_to or "").partition(".")[2]
    returned = known.get(parameter.name) or known.get(column)
    if returned and random.random() < 0.8:
        return random.choice(returned)
    if parameter.enum:
        return random.choice(parameter.enum)
    return successes.get(tool.name, {}).get(parameter.name, PLAIN_VALUES.get(parameter.type, "x"))


def _remember(known: dict[str, list[Json]], value: Json) -> None:
    """Remember the values of a result by column."""
    for row in value if isinstance(value, list) else [value]:
        if isinstance(row, dict):
            for name, cell in row.items():
                if cell is not None and cell not in known.setdefault(name, []):
                    known[name].append(cell)


def fused_cases(world: World, fused: FusedBlueprint, arguments: Mapping[str, dict[str, Json]]) -> list[ServerCase]:
    """Make the cases that only a fused world has, except those of bridge rules.

    Args:
        world: The fused world.
        fused: Its blueprint.
        arguments: Tool name -> arguments with which it succeeds.
    """
    return [*_sign_ins(world, fused, arguments), *_unknown_callers(world, fused, arguments)]


def bridge_cases(proofs: Sequence[BridgeProof]) -> list[ServerCase]:
    """Cases that meet and break each bridge rule, as in its proof."""
    return [
        _proof_case(f"bridge rule {proof.rule} {word}", record)
        for proof in proofs
        for word, record in (("met", proof.met), ("broken", proof.broken))
    ]


def bridge_calls(world: World, proofs: Sequence[BridgeProof]) -> dict[str, list[CandidateCall]]:
    """Tool -> the calls that meet and break its bridge rules in their proofs; earlier calls have become row changes."""
    found: dict[str, list[CandidateCall]] = {}
    for case in bridge_cases(proofs):
        *before, last = case.calls
        with world.session(caller=case.caller) as session:
            for call in before:
                session.call(call.tool, call.arguments)
            edits = row_edits(session.diff())
        tool = world.blueprint.tool(last.tool)
        arguments = tuple((parameter.name, last.arguments.get(parameter.name)) for parameter in tool.parameters)
        found.setdefault(tool.name, []).append(CandidateCall(tool, case.caller, arguments, edits))
    return found


def _proof_case(about: str, record: Mapping[str, Json]) -> ServerCase:
    before = record.get("before")
    steps = [*(before if isinstance(before, list) else []), dict(record)]
    calls = [Call.model_validate({"tool": step["tool"], "arguments": step["arguments"]}) for step in steps]  # type: ignore[index,call-overload]
    return ServerCase(about, tuple(calls), caller=str(record["person"]))


def _sign_ins(world: World, fused: FusedBlueprint, arguments: Mapping[str, dict[str, Json]]) -> Iterator[ServerCase]:
    """Each domain signs a person in for all domains; then another domain signs in the same person, or another one."""
    others = [_call(tool, arguments) for tool in _probing_tools(fused)]
    for first, second in permutations([tool for tool in fused.tools if tool.kind == "auth"], 2):
        signed_in = _two_persons(world, first, second)
        if not signed_in:
            continue
        opening = _sign_in(world, first, signed_in[0])
        yield ServerCase(f"sign in by {first.name}, then call every domain", (opening, *others))
        for person in signed_in:
            who = "the same person" if person == signed_in[0] else "another person"
            again = _sign_in(world, second, person)
            yield ServerCase(f"sign in by {first.name}, {who} by {second.name}", (opening, again, *others))
            yield ServerCase(f"{who} by {second.name}, signed in already", (again, *others), caller=signed_in[0])


def _unknown_callers(
    world: World, fused: FusedBlueprint, arguments: Mapping[str, dict[str, Json]]
) -> Iterator[ServerCase]:
    """Somebody without an account in one domain calls all its tools, and one tool of each other domain."""
    others = [_call(tool, arguments) for tool in _probing_tools(fused)]
    for member in fused.members:
        unknown = _person_without_account(world, fused, member)
        if unknown is not None:
            own = [_call(tool, arguments) for tool in fused.tools if tool.server == member.server]
            wrong = Call(tool=own[-1].tool, arguments={"no_such_argument": 1})
            about = f"every tool of {member.namespace} by somebody whom it does not know"
            yield ServerCase(about, (*own, wrong, *others), caller=unknown)
            yield ServerCase(
                f"{about}, identified by another domain", tuple(_after_sign_in(world, fused, unknown, own))
            )


def _after_sign_in(world: World, fused: FusedBlueprint, unknown: str, calls: list[Call]) -> Iterator[Call]:
    """The calls, after a sign-in by a domain that knows the person."""
    for tool in fused.tools:
        if tool.kind == "auth" and world.row_of(unknown, tool.name) is not None:
            yield _sign_in(world, tool, unknown)
            break
    yield from calls


def _person_without_account(world: World, fused: FusedBlueprint, member: FusedMember) -> str | None:
    with world.session() as session:
        people = session.rows(fused.core.table)
    return next((str(row[fused.core.key]) for row in people if row[member.account] is None), None)


def _two_persons(world: World, *tools: Tool) -> list[str]:
    """Two persons who have accounts in the domains of all these tools."""
    return [caller for caller in world.callers if all(world.row_of(caller, tool.name) for tool in tools)][:2]


def _probing_tools(fused: FusedBlueprint) -> list[Tool]:
    """For each domain a read without required arguments, or else its last tool."""
    tools: list[Tool] = []
    for member in fused.members:
        own = [tool for tool in fused.tools if tool.server == member.server]
        plain = [
            tool for tool in own if tool.kind == "read" and not any(parameter.required for parameter in tool.parameters)
        ]
        tools.append((plain or own[-1:])[0])
    return tools


def _sign_in(world: World, tool: Tool, person: str) -> Call:
    """A sign-in with the domain's facts about the person."""
    row = world.row_of(person, tool.name) or {}
    return Call(tool=tool.name, arguments={parameter.name: row.get(parameter.name) for parameter in tool.parameters})


def _call(tool: Tool, arguments: Mapping[str, dict[str, Json]]) -> Call:
    return Call(tool=tool.name, arguments=arguments[tool.name])

"""Calls that no sensible agent makes: wrong types, unknown names, huge numbers, odd text, no sign-in."""

from collections.abc import Iterator, Mapping
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import DECLINE, TRANSFER, Call
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json
from synth.servers.cases import ServerCase

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
        seed: Where the choice of odd values comes from.
        most: Odd values tried at each parameter.
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
    """Sessions that begin, go on or end in a way they should not."""

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

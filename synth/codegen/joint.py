"""Cases that only a fused world has: sign-ins through several domains, callers whom one does not know, bridge rules."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from skillweave.schema.call import Call
from skillweave.schema.contract import Tool
from skillweave.schema.fused import FusedBlueprint, Member
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.codegen.case import Case


def joint_cases(world: World, fused: FusedBlueprint, arguments: Mapping[str, dict[str, Json]]) -> list[Case]:
    """The cases; `arguments[tool]` are in order."""
    return [*_sign_ins(world, fused, arguments), *_strangers(world, fused, arguments)]


def bridge_cases(proofs: Sequence[BridgeProof]) -> list[Case]:
    """Each bridge rule met and broken, as its proof did it."""
    return [
        _shown(f"bridge rule {proof.rule} {word}", record)
        for proof in proofs
        for word, record in (("met", proof.met), ("broken", proof.broken))
    ]


def _shown(about: str, record: Mapping[str, Json]) -> Case:
    before = record.get("before")
    steps = [*(before if isinstance(before, list) else []), dict(record)]
    calls = [Call.model_validate({"tool": step["tool"], "arguments": step["arguments"]}) for step in steps]  # type: ignore[index,call-overload]
    return Case(about, tuple(calls), caller=str(record["person"]))


def _sign_ins(world: World, fused: FusedBlueprint, arguments: Mapping[str, dict[str, Json]]) -> Iterator[Case]:
    """Each domain signs somebody in for all; the next one the same person, or another, or one whom it does not know."""
    others = [_call(tool, arguments) for tool in _one_of_each(fused)]
    for first, second in permutations([tool for tool in fused.tools if tool.kind == "auth"], 2):
        signed_in = _first_two(world, first, second)
        if not signed_in:
            continue
        opening = _facts(world, first, signed_in[0])
        yield Case(f"sign in by {first.name}, then call every domain", (opening, *others))
        for person in signed_in:
            who = "the same person" if person == signed_in[0] else "another person"
            again = _facts(world, second, person)
            yield Case(f"sign in by {first.name}, {who} by {second.name}", (opening, again, *others))
            yield Case(f"{who} by {second.name}, signed in already", (again, *others), caller=signed_in[0])


def _strangers(world: World, fused: FusedBlueprint, arguments: Mapping[str, dict[str, Json]]) -> Iterator[Case]:
    """Somebody without an account in one domain calls all its tools, and one of each other domain."""
    others = [_call(tool, arguments) for tool in _one_of_each(fused)]
    for member in fused.members:
        stranger = _without(world, fused, member)
        if stranger is not None:
            own = [_call(tool, arguments) for tool in fused.tools if tool.server == member.server]
            wrong = Call(tool=own[-1].tool, arguments={"no_such_argument": 1})
            about = f"every tool of {member.namespace} by somebody whom it does not know"
            yield Case(about, (*own, wrong, *others), caller=stranger)
            yield Case(f"{about}, identified by another domain", tuple(_identified(world, fused, stranger, own)))


def _identified(world: World, fused: FusedBlueprint, stranger: str, calls: list[Call]) -> Iterator[Call]:
    """The calls, behind a sign-in by a domain that knows the person."""
    for tool in fused.tools:
        if tool.kind == "auth" and world.row_of(stranger, tool.name) is not None:
            yield _facts(world, tool, stranger)
            break
    yield from calls


def _without(world: World, fused: FusedBlueprint, member: Member) -> str | None:
    with world.session() as session:
        people = session.rows(fused.core.table)
    return next((str(row[fused.core.key]) for row in people if row[member.account] is None), None)


def _first_two(world: World, *tools: Tool) -> list[str]:
    """Two persons whom the domains of these tools know and can tell apart."""
    return [caller for caller in world.callers if all(world.row_of(caller, tool.name) for tool in tools)][:2]


def _one_of_each(fused: FusedBlueprint) -> list[Tool]:
    """A read of each domain that needs no argument, or else its last tool."""
    found: list[Tool] = []
    for member in fused.members:
        own = [tool for tool in fused.tools if tool.server == member.server]
        plain = [tool for tool in own if tool.kind == "read" and not any(one.required for one in tool.parameters)]
        found.append((plain or own[-1:])[0])
    return found


def _facts(world: World, tool: Tool, person: str) -> Call:
    """A sign-in with what the domain knows of the person."""
    row = world.row_of(person, tool.name) or {}
    return Call(tool=tool.name, arguments={one.name: row.get(one.name) for one in tool.parameters})


def _call(tool: Tool, arguments: Mapping[str, dict[str, Json]]) -> Call:
    return Call(tool=tool.name, arguments=arguments[tool.name])

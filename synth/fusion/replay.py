"""Calls of single worlds made again in a fused world: it must answer all that the domain's own world answers.

Ids that calls mint differ, since a fused world counts through all its domains; they are compared by when they
were minted. Only bridge rules may change an answer.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint, FusedMember
from skillweave.schema.call import CallResult, Cells, RowChange
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Tool
from skillweave.schema.fusion import FusedReplays
from skillweave.schema.record import Json
from skillweave.schema.task import GoldenCall
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.search.arguments import ArgumentSearch

CALLERS = 3
"""Persons of each domain for whom trajectories are found."""
NODES = 40
"""Bound on one search for arguments."""


class SessionCalls(NamedTuple):
    """Calls of one session of a single world."""

    caller: str | None
    """Who is signed in at its start."""
    calls: list[GoldenCall]


class Replayed(NamedTuple):
    """How a replay in a fused world went, beside the one in the single world."""

    differences: list[str]
    """What is not the same, in words; empty: nothing. Bridge rules apart."""
    bridges: list[str]
    """Bridge rules that refused a call, or that it broke."""


def replay_differences(single: World, fused: World, random: Random) -> list[str]:
    """What a few persons' lawful, unlawful and refused calls of all of a domain's tools show to be different."""
    server = single.blueprint.server
    found = []
    for trajectory in sample_sessions(single, random):
        who = trajectory.caller or "somebody not signed in"
        differences = replay_in_both(single, fused, trajectory.calls, caller=trajectory.caller).differences
        found += [f"{server}, {who}: {difference}" for difference in differences]
    return found


def replay_in_both(
    single: World, fused: World, calls: Sequence[GoldenCall], *, caller: str | None, now: str | None = None
) -> Replayed:
    """The calls of a single world in a session of it, and in one of a fused world that has its domain.

    `caller` is their key in the single world; None: the calls sign in. It ends where a bridge rule refuses a call.
    """
    contract = fused.blueprint
    assert isinstance(contract, FusedBlueprint)
    member = contract.member(single.blueprint.server)
    person = None if caller is None else fused.person_of(member.account, caller)
    if caller is not None and person is None:
        return Replayed([f"{caller!r} is nobody in {contract.server}"], [])
    with single.session(caller=caller, now=now) as own, fused.session(caller=person, now=now) as joined:
        return _Pair(member, own, joined).run(calls)


def sample_sessions(world: World, random: Random) -> list[SessionCalls]:
    """Sessions of a few persons in which every tool is called: lawfully, and against each of its rules in turn."""
    callers = random.sample(world.callers, min(CALLERS, len(world.callers)))
    return [_found(world, caller, random) for caller in (None, *callers)]


def _found(world: World, caller: str | None, random: Random) -> SessionCalls:
    signing_in = [tool for tool in world.blueprint.tools if tool.kind == "auth"]
    others = [tool for tool in world.blueprint.tools if tool.kind != "auth"]
    with world.session(caller=caller) as session:
        if caller is None:
            session.call(others[0].name, {})
            for tool in signing_in:
                _try(session, tool, random)
        for tool in random.sample(others, len(others)):
            _try(session, tool, random)
        return SessionCalls(caller, [GoldenCall(tool=r.call.tool, arguments=r.call.arguments) for r in session.results])


def _try(session: ContractSession, tool: Tool, random: Random) -> None:
    """Break each rule of a tool where that can be done, then call it as is lawful."""
    ways = [(guard.rule, True) for guard in tool.guards] + [("", False)]
    for rule, breaks in ways:
        search = ArgumentSearch(
            session.world.blueprint, tool, session, session.caller, session.now, random, nodes=NODES
        )
        for arguments in islice(search.breaking(rule) if breaks else search.meeting(), 1):
            session.call(tool.name, arguments)


class _Pair:
    """A session of a single world, and one of a fused world that does the same."""

    def __init__(self, member: FusedMember, own: ContractSession, joined: ContractSession) -> None:
        self._member = member
        self._own = own
        self._joined = joined
        self._rules = {new: old for old, new in member.rules.items()}
        self._tables = {new: old for old, new in member.tables.items()}
        self._there: dict[str, str] = {}
        """Id that the single world minted -> the fused world's."""
        self._back: dict[str, str] = {}

    def run(self, calls: Sequence[GoldenCall]) -> Replayed:
        """All calls in both, compared one by one, and what they have left in the end."""
        differences: list[str] = []
        bridges: list[str] = []
        for position, call in enumerate(calls):
            expected = self._own.call(call.tool, rebound(call, self._own.results))
            arguments = {name: replace_ids(value, self._there) for name, value in expected.call.arguments.items()}
            got = self._joined.call(self._member.tools.get(call.tool, call.tool), arguments)
            self._there |= dict(zip(expected.minted, got.minted, strict=False))
            self._back |= dict(zip(got.minted, expected.minted, strict=False))
            own_rules = self._rules.keys()
            bridges += [verdict.rule for verdict in got.verdicts if not verdict.holds and verdict.rule not in own_rules]
            if got.error is not None and got.error.rule is not None and got.error.rule not in own_rules:
                return Replayed(differences, [*bridges, got.error.rule])
            differences += [f"call {position} ({call.tool}): {fault}" for fault in self._faults(expected, got)]
        if not differences:
            differences += self._changed_apart()
        return Replayed(differences, bridges)

    def _faults(self, expected: CallResult, got: CallResult) -> list[str]:
        """How two results differ, the fused world's rules and ids brought back."""
        rules = self._rules
        error = got.error and got.error.model_copy(update={"rule": rules.get(got.error.rule or "")})
        pairs: dict[str, tuple[object, object]] = {
            "error": (expected.error, error),
            "value": (expected.value, replace_ids(got.value, self._back)),
            "verdicts": (
                [(verdict.rule, verdict.holds) for verdict in expected.verdicts],
                [(rules[verdict.rule], verdict.holds) for verdict in got.verdicts if verdict.rule in rules],
            ),
            "ids minted": (len(expected.minted), len(got.minted)),
            "effects": ([n > 0 for n in expected.changed], [n > 0 for n in got.changed]),
        }
        return [f"{what} {one!r}, in the fused world {other!r}" for what, (one, other) in pairs.items() if one != other]

    def _changed_apart(self) -> list[str]:
        """How the differences that the sessions made to their data differ."""
        expected = _by_place(self._own.diff())
        got = _by_place([self._brought_back(change) for change in self._joined.diff()])
        places = sorted(expected.keys() | got.keys())
        return [
            f"row {key} of {table}: {expected.get((table, key))!r}, in the fused world {got.get((table, key))!r}"
            for table, key in places
            if expected.get((table, key)) != got.get((table, key))
        ]

    def _brought_back(self, change: RowChange) -> RowChange:
        """A change as the single world would tell it: what persons share is their row's there."""
        world = self._joined.world
        table, key = self._tables.get(change.table, change.table), change.key
        if change.table == world.people.table:
            person = world.original(change.table, str(change.key[world.people.key])) or {}
            table, key = self._tables[self._member.person], {self._member.key: person.get(self._member.account)}
        return RowChange.model_construct(
            table=table,
            op=change.op,
            key=self._cells(key),
            before=change.before and self._cells(change.before),
            after=change.after and self._cells(change.after),
        )

    def _cells(self, cells: Cells) -> Cells:
        return {name: replace_ids(value, self._back) for name, value in cells.items()}


def _by_place(changes: Sequence[RowChange]) -> dict[tuple[str, str], tuple[str, Cells, Cells]]:
    """(table, key) -> what was done, and the cells before and after: those of both parts of a person in one."""
    found: dict[tuple[str, str], tuple[str, Cells, Cells]] = {}
    for change in changes:
        place = change.table, ", ".join(map(str, change.key.values()))
        _, before, after = found.setdefault(place, (change.op, {}, {}))
        before.update(change.before or {})
        after.update(change.after or {})
    return found


def replace_ids(value: Json, ids: Mapping[str, str]) -> Json:
    """A value with these ids replaced, and keys derived from them."""
    if isinstance(value, dict):
        return {name: replace_ids(one, ids) for name, one in value.items()}
    if isinstance(value, list):
        return [replace_ids(one, ids) for one in value]
    if not isinstance(value, str) or not any(old in value for old in ids):
        return value
    pattern = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    return re.sub(rf"(?:{pattern})(?!\d)", lambda found: ids[found.group()], value)


class SingleWorld(NamedTuple):
    """A domain's own world, and the combinations that were kept of it."""

    blueprint: Blueprint
    database: Path
    combinations: list[Combination]


def replay_goldens(
    contract: FusedBlueprint, bridges: Sequence[BridgeRule], database: Path, now: str, homes: Sequence[SingleWorld]
) -> FusedReplays:
    """What became of all golden calls. WorldError, with its id, where one gives something else without bridge rules."""
    plain, bridged = World(contract, database, now=now), World(contract.with_bridges(bridges), database, now=now)
    count = 0
    changed: dict[str, list[str]] = {}
    for home in homes:
        single = World(home.blueprint, home.database, now=now)
        for combination in home.combinations:
            caller = combination.caller if combination.login == "session" else None
            found = replay_in_both(single, plain, combination.golden, caller=caller, now=combination.now)
            if found.differences:
                raise WorldError(f"{combination.id} is not the same in {contract.server}: {found.differences[0]}")
            found = replay_in_both(single, bridged, combination.golden, caller=caller, now=combination.now)
            for rule in dict.fromkeys(found.bridges):
                changed.setdefault(rule, []).append(combination.id)
            count += 1
        single.close()
    plain.close()
    bridged.close()
    return FusedReplays(name=contract.server, replayed=count, changed={rule: changed[rule] for rule in sorted(changed)})

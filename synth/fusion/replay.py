"""Replay of a single world's calls in a fused world, which must return the same results.

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
from skillweave.base.progress import told
from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint, FusedMember
from skillweave.schema.combination import Combination
from skillweave.schema.contract import CallResult, Cells, RowChange, Tool
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.fusion import FusedReplays
from skillweave.schema.record import Json
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.search.arguments import ArgumentSearch

MOST_CALLERS = 3
"""Persons of each domain for whom to sample calls."""
MOST_NODES = 40
"""Bound on one search for arguments."""


class SessionCalls(NamedTuple):
    """Calls of one session of a single world."""

    caller: str | None
    """Who is signed in at its start."""
    calls: list[GoldenCall]


class Replayed(NamedTuple):
    """A replay in a fused world, compared with the one in the single world."""

    differences: list[str]
    """The differences, in words, except calls that bridge rules forbid."""
    bridges: list[str]
    """Bridge rules that refused a call, or that a call broke."""


def replay_differences(single: World, fused: World, random: Random) -> list[str]:
    """Compare a single world with a fused one by sampled calls of all its tools, lawful and unlawful.

    Args:
        single: The world of one domain.
        fused: A fused world that has the domain, without bridge rules.
        random: Samples persons and arguments.

    Returns:
        What differs, in words. Empty if nothing does.
    """
    server = single.blueprint.server
    all_differences = []
    with single.sharing():
        for trajectory in sample_sessions(single, random):
            who = trajectory.caller or "somebody not signed in"
            differences = replay_in_both(single, fused, trajectory.calls, caller=trajectory.caller).differences
            all_differences += [f"{server}, {who}: {difference}" for difference in differences]
    return all_differences


def replay_in_both(
    single: World, fused: World, calls: Sequence[GoldenCall], *, caller: str | None, now: str | None = None
) -> Replayed:
    """Make the calls of a single world both there and in a fused world.

    The replay ends if a bridge rule refuses a call.

    Args:
        single: The world of one domain.
        fused: A fused world that has the domain.
        calls: The calls, in the names of the single world.
        caller: The caller's key in the single world. None: the calls sign in.
        now: The sessions' clock; by default the worlds' own.
    """
    contract = fused.blueprint
    assert isinstance(contract, FusedBlueprint)
    member = contract.member(single.blueprint.server)
    person = None if caller is None else fused.person_of(member.account, caller)
    if caller is not None and person is None:
        return Replayed([f"{caller!r} is nobody in {contract.server}"], [])
    with single.session(caller=caller, now=now) as own, fused.session(caller=person, now=now) as joined:
        return _SessionPair(member, own, joined).run(calls)


def sample_sessions(world: World, random: Random) -> list[SessionCalls]:
    """Sessions of some persons in which every tool is called: against each of its rules, and lawfully."""
    callers = random.sample(world.callers, min(MOST_CALLERS, len(world.callers)))
    return [_session_calls(world, caller, random) for caller in (None, *callers)]


def _session_calls(world: World, caller: str | None, random: Random) -> SessionCalls:
    signing_in = [tool for tool in world.blueprint.tools if tool.kind == "auth"]
    others = [tool for tool in world.blueprint.tools if tool.kind != "auth"]
    with world.session(caller=caller) as session:
        if caller is None:
            session.call(others[0].name, {})
            for tool in signing_in:
                _make_calls(session, tool, random)
        for tool in random.sample(others, len(others)):
            _make_calls(session, tool, random)
        return SessionCalls(caller, [GoldenCall(tool=r.call.tool, arguments=r.call.arguments) for r in session.results])


def _make_calls(session: ContractSession, tool: Tool, random: Random) -> None:
    """Break each rule of a tool if a call can, then make a lawful call."""
    ways = [(guard.rule, True) for guard in tool.guards] + [("", False)]
    for rule, breaks in ways:
        search = ArgumentSearch(
            session.world.blueprint, tool, session, session.caller, session.now, random, nodes=MOST_NODES
        )
        for arguments in islice(search.breaking(rule) if breaks else search.meeting(), 1):
            session.call(tool.name, arguments)


class _SessionPair:
    """A session of a single world, and one of a fused world in which the same calls are made."""

    def __init__(self, member: FusedMember, own: ContractSession, joined: ContractSession) -> None:
        self._member = member
        self._own = own
        self._joined = joined
        self._rules = {new: old for old, new in member.rules.items()}
        self._tables = {new: old for old, new in member.tables.items()}
        self._fused_ids: dict[str, str] = {}
        """Id that the single world minted -> the id that the fused world minted for the same row."""
        self._own_ids: dict[str, str] = {}

    def run(self, calls: Sequence[GoldenCall]) -> Replayed:
        """Make all calls in both; compare their results one by one, and the changes at the end."""
        differences: list[str] = []
        bridges: list[str] = []
        for position, call in enumerate(calls):
            expected = self._own.call(call.tool, rebound(call, self._own.results))
            arguments = {name: replace_ids(value, self._fused_ids) for name, value in expected.call.arguments.items()}
            actual = self._joined.call(self._member.tools.get(call.tool, call.tool), arguments)
            self._fused_ids |= dict(zip(expected.minted, actual.minted, strict=False))
            self._own_ids |= dict(zip(actual.minted, expected.minted, strict=False))
            own_rules = self._rules.keys()
            bridges += [
                verdict.rule for verdict in actual.verdicts if not verdict.holds and verdict.rule not in own_rules
            ]
            if actual.error is not None and actual.error.rule is not None and actual.error.rule not in own_rules:
                return Replayed(differences, [*bridges, actual.error.rule])
            differences += [
                f"call {position} ({call.tool}): {fault}" for fault in self._result_differences(expected, actual)
            ]
        if not differences:
            differences += self._state_differences()
        return Replayed(differences, bridges)

    def _result_differences(self, expected: CallResult, actual: CallResult) -> list[str]:
        """How two results differ, with the fused world's rules and ids translated to the single world's."""
        rules = self._rules
        error = actual.error and actual.error.model_copy(update={"rule": rules.get(actual.error.rule or "")})
        pairs: dict[str, tuple[object, object]] = {
            "error": (expected.error, error),
            "value": (expected.value, replace_ids(actual.value, self._own_ids)),
            "verdicts": (
                [(verdict.rule, verdict.holds) for verdict in expected.verdicts],
                [(rules[verdict.rule], verdict.holds) for verdict in actual.verdicts if verdict.rule in rules],
            ),
            "ids minted": (len(expected.minted), len(actual.minted)),
            "effects": ([n > 0 for n in expected.changed], [n > 0 for n in actual.changed]),
        }
        return [f"{what} {own!r}, in the fused world {fused!r}" for what, (own, fused) in pairs.items() if own != fused]

    def _state_differences(self) -> list[str]:
        """How the changes that the two sessions made to their data differ."""
        expected = _by_row(self._own.diff())
        actual = _by_row([self._own_change(change) for change in self._joined.diff()])
        rows = sorted(expected.keys() | actual.keys())
        return [
            f"row {key} of {table}: {expected.get((table, key))!r}, in the fused world {actual.get((table, key))!r}"
            for table, key in rows
            if expected.get((table, key)) != actual.get((table, key))
        ]

    def _own_change(self, change: RowChange) -> RowChange:
        """A change in the terms of the single world, where shared columns belong to the domain's own person."""
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
        return {name: replace_ids(value, self._own_ids) for name, value in cells.items()}


def _by_row(changes: Sequence[RowChange]) -> dict[tuple[str, str], tuple[str, Cells, Cells]]:
    """(table, key) -> operation, cells before, cells after; both parts of a person become one row."""
    by_row: dict[tuple[str, str], tuple[str, Cells, Cells]] = {}
    for change in changes:
        row = change.table, ", ".join(map(str, change.key.values()))
        _, before, after = by_row.setdefault(row, (change.op, {}, {}))
        before.update(change.before or {})
        after.update(change.after or {})
    return by_row


def replace_ids(value: Json, ids: Mapping[str, str]) -> Json:
    """A value with ids replaced, also inside keys that are derived from them. `ids`: old -> new."""
    if isinstance(value, dict):
        return {name: replace_ids(part, ids) for name, part in value.items()}
    if isinstance(value, list):
        return [replace_ids(part, ids) for part in value]
    if not isinstance(value, str) or not any(old in value for old in ids):
        return value
    pattern = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    return re.sub(rf"(?:{pattern})(?!\d)", lambda match: ids[match.group()], value)


class SingleWorld(NamedTuple):
    """A domain's own world, and the task combinations that are kept of it."""

    blueprint: Blueprint
    database: Path
    combinations: list[Combination]


def replay_goldens(
    contract: FusedBlueprint, bridges: Sequence[BridgeRule], database: Path, now: str, homes: Sequence[SingleWorld]
) -> FusedReplays:
    """Replay the golden calls of single-domain tasks in a fused world.

    A bridge rule is one more guard of a call. Calls that break none do with bridge rules what they do without, so what
    is the same with them and breaks none is not replayed without them.

    Args:
        contract: The contract of the fused world, without bridge rules.
        bridges: Its bridge rules.
        database: Its database.
        now: The run's clock.
        homes: The worlds of its domains.

    Returns:
        How many were replayed, and which of them bridge rules change.

    Raises:
        WorldError: Without bridge rules, a combination's calls have other results.
    """
    plain, bridged = World(contract, database, now=now), World(contract.with_bridges(bridges), database, now=now)
    count = 0
    changed: dict[str, list[str]] = {}
    for home in homes:
        single = World(home.blueprint, home.database, now=now)
        for combination in told(home.combinations, "golden calls replayed"):
            caller = combination.caller if combination.login == "session" else None
            replay = replay_in_both(single, bridged, combination.golden, caller=caller, now=combination.now)
            if replay != Replayed([], []):
                own = replay_in_both(single, plain, combination.golden, caller=caller, now=combination.now)
                if own.differences:
                    raise WorldError(f"{combination.id} is not the same in {contract.server}: {own.differences[0]}")
            for rule in dict.fromkeys(replay.bridges):
                changed.setdefault(rule, []).append(combination.id)
            count += 1
        single.close()
    plain.close()
    bridged.close()
    return FusedReplays(name=contract.server, replayed=count, changed={rule: changed[rule] for rule in sorted(changed)})

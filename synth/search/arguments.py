"""The search for arguments: given a tool, a caller and a state, find calls that keep its guards, or break one of them.

Parameters are bound one after the other; those whose values belong together are bound at once. A guard filters as soon
as all that it reads is bound, in one query over all candidate values. Bounds are numbers of queries, never seconds.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, compress, islice, zip_longest
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Row, Value
from skillweave.world.session import ContractSession
from synth.search.slots import (
    DesiredGuard,
    Slot,
    batch_query,
    candidate_bindings,
    guard_conditions,
    rows_query,
    sensible_conditions,
    slots,
)
from synth.search.values import QueryableState, odd_values, plain_values

Arguments = dict[str, Value]
ParameterNames = tuple[str, ...]
JointChoice = tuple[ParameterNames, list[tuple[Value, ...]]]
"""Parameters that are bound together, with the values that they can take. Mostly one parameter alone."""
WIDTHS = (4, 16, 32, 64)
"""Candidate values in one query. There are few sizes, so that SQLite can reuse prepared statements."""


@dataclass
class ArgumentSearch:
    """A search for one tool in one state, for one caller at one time. Its order is seeded."""

    blueprint: Blueprint
    tool: Tool
    state: QueryableState
    caller: str | None
    now: str
    random: Random
    fixed: Mapping[str, Value] = field(default_factory=dict)
    """Arguments that are not searched for."""
    optional: float = 0.5
    """How often an optional parameter is given, 0 to 1."""
    nodes: int = 400
    """Bound on the queries of one search."""
    soon: bool = False
    """Whether rows that have a time are tried by how near it is to now: the next slot, the last bill."""
    person: str | None = None
    """In a fused world the person whose key in the tool's own domain `caller` is; None: the same as `caller`."""

    def meeting(self) -> Iterator[Arguments]:
        """Arguments with which every guard holds, the tool's and the agent's. Sensible ones come first."""
        guards = [DesiredGuard(condition, True) for condition in guard_conditions(self.tool)]
        desired = [DesiredGuard(condition, True) for condition in sensible_conditions(self.tool)]
        preferred: list[Arguments] = []
        if desired:
            for arguments in self._calls([*guards, *desired]):
                preferred.append(arguments)
                yield arguments
        yield from (arguments for arguments in self._calls(guards) if arguments not in preferred)

    def lawful(self, choices: Iterator[Arguments]) -> Iterator[Arguments]:
        """Those of several choices of the same arguments that no guard forbids which is settled by them."""
        guards = [DesiredGuard(condition, True) for condition in guard_conditions(self.tool)]
        bound = self._given()
        while batch := [*islice(choices, WIDTHS[-1])]:
            names = tuple(batch[0])
            settled, _ = _parted(guards if names else [], {*bound, *names})
            for chosen in self._filter(names, [tuple(one.values()) for one in batch], settled, bound, [1]):
                yield dict(zip(names, chosen, strict=True))

    def breaking(self, rule: str, *, alone: bool = False) -> Iterator[Arguments]:
        """Arguments with which this rule is the first that does not hold.

        Args:
            alone: Whether it must also be the only one.

        Raises:
            KeyError: The tool has no such rule.
        """
        guards = guard_conditions(self.tool)
        place = next((number for number, guard in enumerate(guards) if guard.rule == rule), None)
        if place is None:
            raise KeyError(rule)
        held = [*guards[:place], *(guards[place + 1 :] if alone else ())]
        return self._calls([DesiredGuard(guards[place], False), *(DesiredGuard(guard, True) for guard in held)])

    def _calls(self, desired: list[DesiredGuard]) -> Iterator[Arguments]:
        """First values that belong together; then each by itself, if one is to break a guard or is fixed already."""
        named = self._joint_parameters()
        together = tuple(name for name in named if name not in self.fixed)
        yield from self._bound(desired, together)
        broken = frozenset[str]().union(*(guard.condition.bindings for guard in desired if not guard.holds))
        if together and (len(together) < len(named) or broken & {*together}):
            yield from self._bound(desired, ())

    def _joint_parameters(self) -> ParameterNames:
        """Parameters whose values belong together, by the tool's examples."""
        return tuple(dict.fromkeys(name for row in self.tool.examples for name in row))

    def _bound(self, desired: list[DesiredGuard], together: ParameterNames) -> Iterator[Arguments]:
        bound, known = self._given(), slots(self.tool)
        settled, pending = _parted(desired, bound)
        if not self._hold(settled, bound):
            return
        budget = [self.nodes]
        broken = frozenset[str]().union(*(guard.condition.bindings for guard in desired if not guard.holds))
        order: list[JointChoice] = []
        alone = [(name,) for name in known if name not in self.fixed and name not in together]
        for names in [together, *alone] if together else alone:
            own, pending = _parted(pending, {*bound, *names})
            if names == together:
                kept = self._joint_values(names, own, bound, budget)
            else:
                kept = [(value,) for value in self._values(known[names[0]], own, bound, budget, names[0] in broken)]
            if not kept:
                return
            order.append((names, kept))
        order.sort(key=lambda entry: len(entry[1]))
        for complete in self._bind(order, pending, bound, budget):
            yield {name: complete[name] for name in known if complete[name] is not None}

    def _given(self) -> dict[str, Value]:
        """What is bound before anything is searched for."""
        person = self.caller if self.person is None else self.person
        given = {name: self.fixed[name] for name in slots(self.tool) if name in self.fixed}
        return {"now": self.now, "caller": self.caller, "person": person, **given}

    def _joint_values(
        self, names: ParameterNames, desired: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int]
    ) -> list[tuple[Value, ...]]:
        """Values that belong together for these parameters, and fit what is bound already, in a seeded order."""
        rows = [row for row in self.tool.examples if all(bound.get(name, row[name]) == row[name] for name in row)]
        self.random.shuffle(rows)
        given = [tuple(row.get(name) for name in names) for row in rows]
        required = {one.name for one in self.tool.parameters if one.required}
        if not required.issuperset(names):
            bare = [tuple(row.get(name) if name in required else None for name in names) for row in rows]
            given = [*given, *bare] if self.random.random() < self.optional else [*bare, *given]
        return [*self._filter(names, [*dict.fromkeys(given)], desired, bound, budget)]

    def _values(
        self, slot: Slot, desired: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int], broken: bool
    ) -> list[Value]:
        """The values of a parameter that meet all guards which depend on it alone, in a seeded order."""
        parameter = slot.parameter
        rows = [self._rows(slot, desired, bound, budget)] if parameter.refers_to else []
        plain = [] if parameter.refers_to else plain_values(slot, self.state, self.now)
        # NULL counts too where it is all that a guard agrees with.
        others: list[list[Value]] = [odd_values(slot, plain) if broken else [], [] if parameter.required else [None]]
        *groups, odd, without = self._meeting_groups(parameter.name, [*plain, *others], desired, bound, budget)
        groups = [*rows, *groups]
        if broken:
            groups = [list(dict.fromkeys([*groups[0], *odd])), *groups[1:]] if groups else [odd]
        for group in groups:
            self.random.shuffle(group)
        if self.soon and parameter.refers_to:
            groups = [self._by_nearness(parameter.refers_to, group) for group in groups]
        values = list(dict.fromkeys(value for group in groups for value in group))
        if parameter.required:
            return values
        return [*values, *without] if self.random.random() < self.optional else [*without, *values]

    def _rows(
        self, slot: Slot, desired: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int]
    ) -> list[Value]:
        """Keys that meet the guards, of all rows that a parameter may name, in one query."""
        entity, attribute = self.blueprint.target(slot.parameter.refers_to or "")
        budget[0] -= 1
        sql = rows_query(entity.table, attribute.name, slot.parameter.name, tuple(desired))
        return [row["value"] for row in self._queried(sql, _bindings(desired, (slot.parameter.name,), bound))]

    def _queried(self, sql: str, given: Mapping[str, Value]) -> Sequence[Row]:
        """The result of a query; empty if a guard's SQL fails, since no call goes through then."""
        try:
            return list(self.state.query(sql, given))
        except sqlite3.Error:
            return []

    def _by_nearness(self, reference: str, keys: list[Value]) -> list[Value]:
        """The keys, sorted by how near to now their rows' first time is."""
        if len(keys) < 2:
            return keys
        entity, attribute = self.blueprint.target(reference)
        time = next((a.name for a in entity.attributes if a.type in ("datetime", "date") and not a.nullable), None)
        if time is None:
            return keys
        distance = f"ABS(julianday({time}) - julianday(:now))"
        near = f"SELECT {attribute.name} AS value, {distance} AS days FROM {entity.table} ORDER BY days, value"
        ranks = {row["value"]: rank for rank, row in enumerate(self.state.query(near, {"now": self.now}))}
        return sorted(keys, key=lambda key: ranks.get(key, len(ranks)))

    def _bind(
        self, order: list[JointChoice], pending: list[DesiredGuard], bound: dict[str, Value], budget: list[int]
    ) -> Iterator[dict[str, Value]]:
        if not order:
            yield bound
            return
        (names, values), rest = order[0], order[1:]
        own, later = _parted(pending, {*bound, *names})
        for chosen in self._filter(names, values, own, bound, budget):
            yield from self._bind(rest, later, {**bound, **dict(zip(names, chosen, strict=True))}, budget)
            if budget[0] <= 0:
                return

    def _meeting_values(
        self, name: str, values: list[Value], desired: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int]
    ) -> list[Value]:
        """The values of one parameter that meet the guards."""
        return [value for (value,) in self._filter((name,), [(value,) for value in values], desired, bound, budget)]

    def _meeting_groups(
        self,
        name: str,
        groups: list[list[Value]],
        desired: list[DesiredGuard],
        bound: Mapping[str, Value],
        budget: list[int],
    ) -> list[list[Value]]:
        """The values of each group that meet the guards, in new lists: those that are remembered stay as they are.

        They are what `_meeting_values` finds of one group after the other, at the same cost; but a value is tested
        once, however many groups it is in, since guards ask about each value by itself.
        """
        if not desired:
            return [[*group] for group in groups]
        reached = []
        for group in groups:
            batches = min(-(-len(group) // WIDTHS[-1]), max(budget[0], 0))
            budget[0] -= batches
            reached.append(group[: batches * WIDTHS[-1]])
        # 1, 1.0 and TRUE are equal, and SQL tells them apart.
        typed = dict.fromkeys(chain.from_iterable(map(_typed, reached)))
        tested: list[tuple[Value, ...]] = [(value,) for _, value in typed]
        met = {*_typed([value for (value,) in self._filter((name,), tested, desired, bound, [len(tested)])])}
        return [[*compress(group, map(met.__contains__, _typed(group)))] for group in reached]

    def _filter(
        self,
        names: ParameterNames,
        values: list[tuple[Value, ...]],
        desired: list[DesiredGuard],
        bound: Mapping[str, Value],
        budget: list[int],
    ) -> Iterator[tuple[Value, ...]]:
        """The values that meet the guards, tested a batch at a time."""
        if not desired:
            yield from values
            return
        start = 0
        while start < len(values) and budget[0] > 0:
            budget[0] -= 1
            yield from self._meeting(names, values[start : start + WIDTHS[-1]], desired, bound)
            start += WIDTHS[-1]

    def _meeting(
        self,
        names: ParameterNames,
        values: list[tuple[Value, ...]],
        desired: list[DesiredGuard],
        bound: Mapping[str, Value],
    ) -> list[tuple[Value, ...]]:
        width = next(width for width in WIDTHS if width >= len(values))
        sql = batch_query(names, width, tuple(desired))
        given = _bindings(desired, names, bound) | {"candidates": len(values)}
        given.update(zip_longest(candidate_bindings(width, len(names)), chain.from_iterable(values)))
        try:
            return [values[int(row["number"] or 0)] for row in self.state.query(sql, given)]
        except sqlite3.Error:
            # A guard whose SQL fails for one value must not cost the others.
            if len(values) == 1:
                return []
            return [one for value in values for one in self._meeting(names, [value], desired, bound)]

    def _hold(self, desired: list[DesiredGuard], bound: Mapping[str, Value]) -> bool:
        if not desired:
            return True
        tests = " AND ".join(guard.test() for guard in desired)
        return any(row["held"] for row in self._queried(f"SELECT {tests} AS held", _bindings(desired, (), bound)))


def argument_search(
    session: ContractSession,
    tool: Tool,
    random: Random,
    fixed: Mapping[str, Value] | None = None,
    *,
    optional: float = 0.5,
    nodes: int = 400,
    soon: bool = False,
) -> ArgumentSearch:
    """A search for a tool's arguments in the state of a session, for whoever is signed in there.

    Args:
        fixed: Arguments that are not searched for.
        optional: How often an optional parameter is given, 0 to 1.
        nodes: Bound on the queries.
        soon: Whether rows that have a time are tried by how near it is to now.
    """
    return ArgumentSearch(
        session.world.blueprint,
        tool,
        session,
        session.account(tool.name),
        session.now,
        random,
        fixed or {},
        optional,
        nodes,
        soon,
        session.caller,
    )


def _typed(values: list[Value]) -> Iterator[tuple[type, Value]]:
    """The values, each with its type."""
    return zip(map(type, values), values, strict=True)


def _parted(guards: list[DesiredGuard], bound: Collection[str]) -> tuple[list[DesiredGuard], list[DesiredGuard]]:
    """Guards all of whose names are bound, and the others."""
    parted: tuple[list[DesiredGuard], list[DesiredGuard]] = [], []
    for guard in guards:
        parted[not guard.condition.bindings.issubset(bound)].append(guard)
    return parted


def _bindings(desired: list[DesiredGuard], names: ParameterNames, bound: Mapping[str, Value]) -> dict[str, Value]:
    return {key: bound[key] for key in _names_used(tuple([guard.condition.bindings for guard in desired]), names)}


@lru_cache(maxsize=4096)
def _names_used(bindings: tuple[frozenset[str], ...], names: ParameterNames) -> list[str]:
    """What guards bind beside these parameters."""
    return sorted(frozenset[str]().union(*bindings) - {*names})

"""The search for arguments: a tool, a caller and a state in; calls that do what is asked of them out.

Parameters are bound one after the other, those whose values go together at once. A guard filters as soon as all that it
reads is bound, in one query over all candidate values just bound. Bounds are counted in nodes, never in seconds.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Row, Value
from skillweave.world.session import ContractSession
from synth.search.slots import GuardCondition, Slot, guard_conditions, sensible_conditions, slots, substitute
from synth.search.values import QueryableState, odd_values, plain_values

Arguments = dict[str, Value]
ParameterNames = tuple[str, ...]
JointChoice = tuple[ParameterNames, list[tuple[Value, ...]]]
"""Parameters that are bound together, with the values that they can take: mostly one alone."""
WIDTHS = (4, 16, 64)
"""Candidate values that one query looks at: few sizes, so that prepared statements are met again."""
MOST_ROWS = 5000
"""Rows of one table that are considered for a parameter."""


@dataclass(frozen=True)
class DesiredGuard:
    """A guard, and whether it is to hold."""

    condition: GuardCondition
    holds: bool

    @property
    def sql(self) -> str:
        """What the database is asked, with `{}` for the guard."""
        return f"(\n{{}}\n) IS {'' if self.holds else 'NOT '}TRUE"


@dataclass
class ArgumentSearch:
    """One tool in one state, for one caller at one time."""

    blueprint: Blueprint
    tool: Tool
    state: QueryableState
    caller: str | None
    now: str
    random: Random
    fixed: Mapping[str, Value] = field(default_factory=dict)
    """Arguments that are given."""
    optional: float = 0.5
    """How often an optional parameter is filled in."""
    nodes: int = 400
    """Bound on the queries of one search."""
    soon: bool = False
    """Rows that have a time are taken by how near to now it is, not at random: the next free slot, the last bill."""
    person: str | None = None
    """The person whose key in the tool's own domain `caller` is; None: they are the same."""

    def meeting(self) -> Iterator[Arguments]:
        """Arguments with which every guard holds, tool's and agent's; the sensible ones first."""
        guards = [DesiredGuard(condition, True) for condition in guard_conditions(self.tool)]
        wishes = [DesiredGuard(condition, True) for condition in sensible_conditions(self.tool)]
        preferred: list[Arguments] = []
        if wishes:
            for arguments in self._calls([*guards, *wishes]):
                preferred.append(arguments)
                yield arguments
        yield from (arguments for arguments in self._calls(guards) if arguments not in preferred)

    def breaking(self, rule: str, *, alone: bool = False) -> Iterator[Arguments]:
        """Arguments with which this rule is the first that does not hold; `alone`: and the only one.

        KeyError where the tool has no such rule.
        """
        guards = guard_conditions(self.tool)
        place = next((number for number, guard in enumerate(guards) if guard.rule == rule), None)
        if place is None:
            raise KeyError(rule)
        held = [*guards[:place], *(guards[place + 1 :] if alone else ())]
        return self._calls([DesiredGuard(guards[place], False), *(DesiredGuard(guard, True) for guard in held)])

    def _calls(self, wishes: list[DesiredGuard]) -> Iterator[Arguments]:
        """Values that one person gives together first; then each by itself, where a value is to break a guard, or is
        given already."""
        named = self._together()
        together = tuple(name for name in named if name not in self.fixed)
        yield from self._bound(wishes, together)
        broken = frozenset[str]().union(*(wish.condition.bindings for wish in wishes if not wish.holds))
        if together and (len(together) < len(named) or broken & {*together}):
            yield from self._bound(wishes, ())

    def _together(self) -> ParameterNames:
        """Parameters whose values go together."""
        return tuple(dict.fromkeys(name for row in self.tool.examples for name in row))

    def _bound(self, wishes: list[DesiredGuard], together: ParameterNames) -> Iterator[Arguments]:
        person = self.caller if self.person is None else self.person
        bound: dict[str, Value] = {"now": self.now, "caller": self.caller, "person": person}
        known = slots(self.tool)
        bound |= {name: self.fixed[name] for name in known if name in self.fixed}
        settled = [wish for wish in wishes if wish.condition.bindings <= bound.keys()]
        if not self._agree(settled, bound):
            return
        pending = [wish for wish in wishes if wish not in settled]
        budget = [self.nodes]
        broken = frozenset[str]().union(*(wish.condition.bindings for wish in wishes if not wish.holds))
        order: list[JointChoice] = []
        alone = [(name,) for name in known if name not in self.fixed and name not in together]
        for names in [together, *alone] if together else alone:
            own = [wish for wish in pending if wish.condition.bindings <= bound.keys() | {*names}]
            if names == together:
                kept = self._given_together(names, own, bound, budget)
            else:
                kept = [(value,) for value in self._values(known[names[0]], own, bound, budget, names[0] in broken)]
            if not kept:
                return
            order.append((names, kept))
            pending = [wish for wish in pending if wish not in own]
        order.sort(key=lambda entry: len(entry[1]))
        for found in self._bind(order, pending, bound, budget):
            yield {name: found[name] for name in known if found[name] is not None}

    def _given_together(
        self, names: ParameterNames, wishes: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int]
    ) -> list[tuple[Value, ...]]:
        """What one person gives for these parameters, beside what is given already, in a seeded order."""
        rows = [row for row in self.tool.examples if all(bound.get(name, row[name]) == row[name] for name in row)]
        self.random.shuffle(rows)
        given = [tuple(row.get(name) for name in names) for row in rows]
        required = {one.name for one in self.tool.parameters if one.required}
        if not required.issuperset(names):
            bare = [tuple(row.get(name) if name in required else None for name in names) for row in rows]
            given = [*given, *bare] if self.random.random() < self.optional else [*bare, *given]
        return [*self._filter(names, [*dict.fromkeys(given)], wishes, bound, budget)]

    def _values(
        self, slot: Slot, wishes: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int], broken: bool
    ) -> list[Value]:
        """The values of a parameter that agree with what depends on it alone, in a seeded order."""
        name = slot.parameter.name
        if slot.parameter.refers_to:
            groups = [self._rows(slot, wishes, bound, budget)]
        else:
            groups = [
                self._agreeing_with(name, g, wishes, bound, budget) for g in plain_values(slot, self.state, self.now)
            ]
        if broken:
            strange = self._agreeing_with(name, odd_values(slot, self.state, self.now), wishes, bound, budget)
            groups = [list(dict.fromkeys([*groups[0], *strange])), *groups[1:]] if groups else [strange]
        for group in groups:
            self.random.shuffle(group)
        if self.soon and slot.parameter.refers_to:
            groups = [self._nearest(slot.parameter.refers_to, group) for group in groups]
        found = list(dict.fromkeys(value for group in groups for value in group))
        if slot.parameter.required:
            return found
        # NULL counts too where it is all that a guard agrees with.
        without = self._agreeing_with(name, [None], wishes, bound, budget)
        return [*found, *without] if self.random.random() < self.optional else [*without, *found]

    def _rows(
        self, slot: Slot, wishes: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int]
    ) -> list[Value]:
        """Keys that agree, of all rows that a parameter may name, in one query."""
        entity, attribute = self.blueprint.target(slot.parameter.refers_to or "")
        budget[0] -= 1
        tests = [
            wish.sql.format(substitute(wish.condition.holds, slot.parameter.name, "candidate.value")) for wish in wishes
        ]
        listed = f"WITH candidate(value) AS (SELECT DISTINCT {attribute.name} FROM {entity.table})"
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        sql = f"{listed} SELECT value FROM candidate{where} ORDER BY value LIMIT {MOST_ROWS}"
        return [row["value"] for row in self._asked(sql, _used(wishes, (slot.parameter.name,), bound))]

    def _asked(self, sql: str, given: Mapping[str, Value]) -> Sequence[Row]:
        """What guards come to; nothing where their SQL fails, for no call goes through then."""
        try:
            return list(self.state.query(sql, given))
        except sqlite3.Error:
            return []

    def _nearest(self, reference: str, keys: list[Value]) -> list[Value]:
        """Keys by how near to now their rows' first time is."""
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
        own = [wish for wish in pending if wish.condition.bindings <= bound.keys() | {*names}]
        later = [wish for wish in pending if wish not in own]
        for chosen in self._filter(names, values, own, bound, budget):
            yield from self._bind(rest, later, {**bound, **dict(zip(names, chosen, strict=True))}, budget)
            if budget[0] <= 0:
                return

    def _agreeing_with(
        self, name: str, values: list[Value], wishes: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int]
    ) -> list[Value]:
        """The values of one parameter that agree."""
        return [value for (value,) in self._filter((name,), [(value,) for value in values], wishes, bound, budget)]

    def _filter(
        self,
        names: ParameterNames,
        values: list[tuple[Value, ...]],
        wishes: list[DesiredGuard],
        bound: Mapping[str, Value],
        budget: list[int],
    ) -> Iterator[tuple[Value, ...]]:
        """The values that agree, looked up a batch at a time."""
        if not wishes:
            yield from values
            return
        start = 0
        while start < len(values) and budget[0] > 0:
            width = next((width for width in WIDTHS if width >= len(values) - start), WIDTHS[-1])
            budget[0] -= 1
            yield from self._agreeing(names, values[start : start + width], width, wishes, bound)
            start += width

    def _agreeing(
        self,
        names: ParameterNames,
        values: list[tuple[Value, ...]],
        width: int,
        wishes: list[DesiredGuard],
        bound: Mapping[str, Value],
    ) -> list[tuple[Value, ...]]:
        held = [wish.condition.holds for wish in wishes]
        for place, name in enumerate(names):
            held = [substitute(sql, name, f"candidate.value_{place}") for sql in held]
        tests = " AND ".join(wish.sql.format(sql) for wish, sql in zip(wishes, held, strict=True))
        listed = _listed(width, len(names))
        sql = f"{listed} SELECT number FROM candidate WHERE number < :candidates AND {tests} ORDER BY number"
        given = _used(wishes, names, bound) | {"candidates": len(values)}
        for number in range(width):
            chosen = values[number] if number < len(values) else (None,) * len(names)
            given |= {f"candidate_{number}_{place}": value for place, value in enumerate(chosen)}
        try:
            return [values[int(row["number"] or 0)] for row in self.state.query(sql, given)]
        except sqlite3.Error:
            # One value at which a guard fails must not cost the others.
            if len(values) == 1:
                return []
            return [one for value in values for one in self._agreeing(names, [value], WIDTHS[0], wishes, bound)]

    def _agree(self, wishes: list[DesiredGuard], bound: Mapping[str, Value]) -> bool:
        if not wishes:
            return True
        tests = " AND ".join(wish.sql.format(wish.condition.holds) for wish in wishes)
        return any(row["held"] for row in self._asked(f"SELECT {tests} AS held", _used(wishes, (), bound)))


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
    """A search for a tool's arguments in the state of a session, for whoever is signed in there."""
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


def _used(wishes: list[DesiredGuard], names: ParameterNames, bound: Mapping[str, Value]) -> dict[str, Value]:
    used = frozenset[str]().union(*(wish.condition.bindings for wish in wishes)) - {*names}
    return {key: bound[key] for key in sorted(used)}


def _listed(width: int, columns: int) -> str:
    rows = (", ".join(f":candidate_{number}_{place}" for place in range(columns)) for number in range(width))
    names = ", ".join(f"value_{place}" for place in range(columns))
    return f"WITH candidate(number, {names}) AS (VALUES {', '.join(f'({n}, {row})' for n, row in enumerate(rows))})"

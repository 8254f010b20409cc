"""The search for arguments: a tool, a caller and a state in; calls that do what is asked of them out.

Parameters are bound one after the other; a guard filters as soon as all that it reads is bound, in one query over all
candidate values of the parameter just bound. Bounds are counted in nodes, never in seconds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Value
from synth.planner.slots import Condition, Slot, conditions, slots, substitute
from synth.planner.values import State, candidates

Arguments = dict[str, Value]
WIDTH = 60
"""Candidate values of one parameter that one query looks at."""


@dataclass
class Search:
    """One tool in one state, for one caller at one time."""

    blueprint: Blueprint
    tool: Tool
    state: State
    caller: str | None
    now: str
    random: Random
    fixed: Mapping[str, Value] = field(default_factory=dict)
    """Arguments that are given."""
    optional: float = 0.5
    """How often an optional parameter is filled in."""
    nodes: int = 400
    """Bound on the queries of one search."""

    def meeting(self) -> Iterator[Arguments]:
        """Arguments with which every guard holds, tool's and agent's."""
        return self._calls([(condition, True) for condition in conditions(self.tool)])

    def breaking(self, rule: str) -> Iterator[Arguments]:
        """Arguments with which this rule is the first that does not hold."""
        wanted = []
        for condition in conditions(self.tool):
            wanted.append((condition, condition.rule != rule))
            if condition.rule == rule:
                return self._calls(wanted)
        raise KeyError(rule)

    def _calls(self, wanted: list[tuple[Condition, bool]]) -> Iterator[Arguments]:
        bound: dict[str, Value] = {"now": self.now, "caller": self.caller}
        lists = self._lists()
        open_slots = [name for name in lists if name not in self.fixed]
        bound |= {name: self.fixed[name] for name in lists if name in self.fixed}
        ready = [(c, holds) for c, holds in wanted if c.bindings <= bound.keys()]
        if not all(self._decide(condition, bound) is holds for condition, holds in ready):
            return
        budget = [self.nodes]
        pending = [pair for pair in wanted if pair not in ready]
        narrowed = []
        for name in open_slots:
            own = [pair for pair in pending if pair[0].bindings <= bound.keys() | {name}]
            kept = self._filter(name, lists[name], own, bound, budget)
            if not kept:
                return
            narrowed.append((len(kept), name, kept))
            pending = [pair for pair in pending if pair not in own]
        order = sorted(narrowed, key=lambda entry: entry[0])
        for found in self._bind([(name, kept) for _, name, kept in order], pending, bound, budget):
            yield {name: found[name] for name in lists if found[name] is not None}

    def _lists(self) -> dict[str, list[Value]]:
        found = {}
        for name, slot in slots(self.tool).items():
            values = [] if name in self.fixed else self._candidates(slot)
            if not slot.parameter.required and self.random.random() >= self.optional:
                values.sort(key=lambda value: value is not None)
            found[name] = values
        return found

    def _candidates(self, slot: Slot) -> list[Value]:
        return candidates(slot, self.blueprint, self.state, self.now, self.random)

    def _bind(
        self,
        order: list[tuple[str, list[Value]]],
        pending: list[tuple[Condition, bool]],
        bound: dict[str, Value],
        budget: list[int],
    ) -> Iterator[dict[str, Value]]:
        if not order:
            yield bound
            return
        (name, values), rest = order[0], order[1:]
        own = [pair for pair in pending if pair[0].bindings <= bound.keys() | {name}]
        later = [pair for pair in pending if pair not in own]
        for value in self._filter(name, values, own, bound, budget):
            yield from self._bind(rest, later, {**bound, name: value}, budget)
            if budget[0] <= 0:
                return

    def _filter(
        self,
        name: str,
        values: list[Value],
        deciding: list[tuple[Condition, bool]],
        bound: Mapping[str, Value],
        budget: list[int],
    ) -> list[Value]:
        if not deciding:
            return values
        kept: list[Value] = []
        for start in range(0, len(values), WIDTH):
            if budget[0] <= 0:
                break
            budget[0] -= 1
            kept += self._decided(name, values[start : start + WIDTH], deciding, bound)
        return kept

    def _decided(
        self, name: str, values: list[Value], deciding: list[tuple[Condition, bool]], bound: Mapping[str, Value]
    ) -> list[Value]:
        rows = ", ".join(f"({number}, :candidate_{number})" for number in range(len(values)))
        tests = " AND ".join(
            f"({substitute(condition.holds, name, 'candidate.value')}) IS {'' if holds else 'NOT '}TRUE"
            for condition, holds in deciding
        )
        listed = f"WITH candidate(number, value) AS (VALUES {rows})"
        sql = f"{listed} SELECT number FROM candidate WHERE {tests} ORDER BY number"
        used = frozenset[str]().union(*(condition.bindings for condition, _ in deciding)) - {name}
        given = {key: bound[key] for key in used} | {f"candidate_{n}": value for n, value in enumerate(values)}
        return [values[int(row["number"] or 0)] for row in self.state.query(sql, given)]

    def _decide(self, condition: Condition, bound: Mapping[str, Value]) -> bool:
        given = {name: bound[name] for name in condition.bindings}
        return bool(self.state.query(f"SELECT ({condition.holds}) IS TRUE AS held", given)[0]["held"])

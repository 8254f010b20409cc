"""Looking: all that reads show in the present state, called in every way that what is known allows.

Where reads have shown rows that the user speaks of, they are asked about those and no others; else about the first few.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice, product

from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.world.canonical import dump
from skillweave.world.session import ContractSession
from synth.planner.knowledge import Knowledge, Reading
from synth.planner.problem import Budget, Problem
from synth.planner.slots import Slot, slots
from synth.planner.writes import tables_read

ROUNDS = 3
"""How often reads are asked again about what they have shown."""
KEYS = 10
"""Rows of one kind that a read is asked about."""
DAYS = 6
"""Days, or other values, for one argument of a read."""
WAYS = 40
"""Ways in which one read is called in one round."""

Memory = dict[tuple[str, str], Reading]
"""Tool and arguments -> what the read shows."""


class Looking:
    """The reads of one problem."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._problem = problem
        self._budget = budget
        self._reads = [tool for tool in problem.tools if tool.kind == "read"]

    def look(
        self, session: ContractSession, results: Sequence[Reading], before: Memory, changed: Collection[str] | None
    ) -> Memory:
        """What reads show now; of `before` what reads no `changed` table still holds (None: nothing does)."""
        tables = tables_read(self._problem.world)
        kept = (
            {}
            if changed is None
            else {key: reading for key, reading in before.items() if tables[key[0]].isdisjoint(changed)}
        )
        found: Memory = dict(kept)
        failed: set[tuple[str, str]] = set()
        for _ in range(ROUNDS):
            known = Knowledge(self._problem, [*before.values(), *found.values()], results)
            new = [self._made(session, tool, arguments, found, failed) for tool, arguments in self._calls(known)]
            if not any(new):
                break
        return found

    def _made(
        self,
        session: ContractSession,
        tool: Tool,
        arguments: dict[str, Json],
        found: Memory,
        failed: set[tuple[str, str]],
    ) -> bool:
        """Whether the call has shown something new."""
        key = tool.name, dump(arguments)
        if key in found or key in failed:
            return False
        self._budget.spend()
        result = session.call(tool.name, arguments)
        if not result.ok or result.violations:
            failed.add(key)
            return False
        found[key] = Reading(self._problem, result)
        return bool(found[key].rows)

    def _calls(self, known: Knowledge) -> Iterator[tuple[Tool, dict[str, Json]]]:
        for tool in self._reads:
            compared = slots(tool)
            is_open = not any(parameter.required for parameter in tool.parameters)
            choices = [_choices(compared[parameter.name], known, is_open) for parameter in tool.parameters]
            names = [parameter.name for parameter in tool.parameters]
            for values in islice(product(*choices), WAYS):
                yield tool, {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _choices(slot: Slot, known: Knowledge, searches_all: bool) -> list[Json]:
    """Values for one argument of a read; what only narrows the result is left out, unless nothing else does."""
    parameter = slot.parameter
    if parameter.refers_to:
        entity = parameter.refers_to.partition(".")[0]
        keys = known.meant.get(entity) or known.keys.get(entity, {})
        return [*(() if parameter.required else (None,)), *islice(keys, KEYS)]
    if not parameter.required and not (parameter.type in ("date", "datetime") and searches_all):
        return [None]
    if parameter.enum:
        given = [one for one in known.problem.said if one.value in parameter.enum]
        named = [one for one in given if one.name == parameter.name]
        return [*dict.fromkeys(one.value for one in named or given)] or [*parameter.enum]
    return [*known.values(slot)[: DAYS + (not parameter.required)]]

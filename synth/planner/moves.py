"""Moves: the lawful calls of a tool in a state, with arguments that somebody can know.

Every guard has to hold, those that only the policy holds too. An argument that surely ends up in a column where no end
state has it, and which nothing changes later, is left out: such a call leads nowhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from skillweave.schema.change import ANY, NEW
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json, Value
from skillweave.world.session import ContractSession
from synth.planner.distance import is_same
from synth.planner.knowledge import Knowledge
from synth.planner.problem import Budget, Problem
from synth.planner.search import Arguments, Names, Search, Wish
from synth.planner.slots import Slot, slots
from synth.planner.writes import Column, Writes, writes_of


@dataclass
class Among(Search):
    """The search for arguments, among given values and no others."""

    given: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    budget: Budget = field(default_factory=lambda: Budget(0))

    def _values(
        self, slot: Slot, wishes: list[Wish], bound: Mapping[str, Value], budget: list[int], broken: bool
    ) -> list[Value]:
        name = slot.parameter.name
        return self._agreeing_with(name, list(self.given[name]), wishes, bound, budget)

    def _together(self) -> Names:
        return ()

    def _agreeing(
        self, names: Names, values: list[tuple[Value, ...]], width: int, wishes: list[Wish], bound: Mapping[str, Value]
    ) -> list[tuple[Value, ...]]:
        self.budget.spend()
        return super()._agreeing(names, values, width, wishes, bound)


class Moves:
    """The writes of one problem."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._problem = problem
        self._budget = budget
        made = {change.table for end in problem.ends for change in end if change.op == "insert"}
        writes = writes_of(problem.world)
        self.tools = {tool.name: tool for tool in problem.tools if tool.kind == "write"}
        """Those of which not every call makes a row that no end has."""
        while True:
            self._removable = {table for name in self.tools for table in writes[name].deletes}
            useless = [name for name in self.tools if writes[name].makes - made - self._removable]
            if not useless:
                break
            self.tools = {name: tool for name, tool in self.tools.items() if name not in useless}
        self._updated = {column for name in self.tools for column in writes[name].updates}
        self.writes: dict[str, Writes] = {name: writes[name] for name in self.tools}

    def calls(
        self, session: ContractSession, tool: Tool, known: Knowledge, *, last: bool = False
    ) -> Iterator[Arguments]:
        """Arguments with which the tool is lawfully called. Exhausted where the budget ends.

        `last`: nothing comes after it, so what it makes has to be right at once.
        """
        fixed = self._fixed(tool, last)
        given = {
            name: self._useful(known.values(slot), fixed.get(name, ()), session) for name, slot in slots(tool).items()
        }
        if not all(given.values()):
            return
        search = Among(
            session.world.blueprint,
            tool,
            session,
            session.account(tool.name),
            session.now,
            Random(0),
            nodes=1 << 60,
            person=session.caller,
            given=given,
            budget=self._budget,
        )
        yield from search.meeting()

    def _fixed(self, tool: Tool, last: bool) -> dict[str, list[Column]]:
        """Parameter -> columns of the row made that nothing changes any more."""
        writes = self.writes[tool.name]
        updated = writes.updates if last else self._updated
        removable = writes.deletes if last else self._removable
        return {
            name: [column for column in sorted(columns) if column not in updated and column[0] not in removable]
            for name, columns in writes.flows.items()
        }

    def _useful(self, values: Sequence[Value], columns: Sequence[Column], session: ContractSession) -> list[Value]:
        """The values with which the row that the call makes can be one of an end state."""
        return [value for value in values if all(self._fits(column, value, session) for column in columns)]

    def _fits(self, column: Column, value: Value, session: ContractSession) -> bool:
        how = self._problem.world.comparison(*column)
        return how == "free" or any(
            _is_allowed(cell, value, how == "normalised", session.minted) for cell in self._cells(column)
        )

    def _cells(self, column: Column) -> Iterator[Json]:
        for end in self._problem.ends:
            for change in end:
                if change.op == "insert" and change.table == column[0]:
                    yield (change.after or {}).get(column[1])


def _is_allowed(cell: Json, value: Value, normalised: bool, minted: Sequence[str]) -> bool:
    if isinstance(cell, dict):
        return ANY in cell or (NEW in cell and any(one in str(value) for one in minted))
    return is_same(cell, value.strip(" ") if isinstance(value, str) else value, normalised) or cell == value

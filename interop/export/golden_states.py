"""Golden states: where a task stands after each of its golden calls, with the best next calls and the cost to go.

The cost to go is the number of golden calls that are still needed: needless ones are left out as the evaluator leaves
them out, and a call that a planted fault spoils counts, since nobody can go round it. Needed calls may change places
where carrying them out shows that they reach the same end: every call succeeds, breaks no rule and finds its arguments
in results, the same rows change, the same person is signed in, and what the user is told still stands in results. Four
things keep their order, because an agent could not know better: equal calls; reads that no argument comes from, which
are there for what they show, and writes; declining and handing over, and everything else; and what belongs to a wish
that the user comes out with later, and what came before it.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from evaluator.replay.golden import golden_execution_of
from interop.export.format import LeftOut
from skillweave.schema.contract import SESSION_TOOLS, Call, CallResult
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.canonical import canonical
from skillweave.world.replay import rebound, result_reference, spoiled_calls
from skillweave.world.session import ContractSession
from skillweave.world.world import World

MOST_TRIED = 300
"""Most calls that are carried out to find an order which begins with one call; if none is found by then, the call is
not among the best."""
_NOT_MADE = CallResult(call=Call(tool=""), ok=False)


class GoldenState(NamedTuple):
    """Where a task stands after some of its golden calls."""

    step: int
    """Number of golden calls made."""
    made: list[CallResult]
    """Their results, in order."""
    optimal: list[Call]
    """The calls with which a shortest way to the end may begin; none at the end."""
    cost_to_go: int
    """Calls of a shortest way to the end."""
    digest: str
    """sha256 of all rows."""


def golden_states(world: World, task: Task) -> list[GoldenState]:
    """The states of a task's golden trajectory, from before the first call to behind the last.

    Raises:
        LeftOut: The golden calls do not do what the task demands.
    """
    return list(_Orders(world, task).states())


class _Orders:
    """Finds in which orders the needed golden calls of a task reach the same end."""

    def __init__(self, world: World, task: Task) -> None:
        self._world, self._task, self._golden = world, task, task.golden
        found = golden_execution_of(world, task)
        if found.fault is not None:
            raise LeftOut(f"its golden calls do not replay: {found.fault}")
        self._execution = found.execution
        self._spoiled = spoiled_calls(task.golden)
        pruned = found.pruned - self._spoiled
        self.needed = [place for place in range(len(task.golden)) if not pruned.issuperset(self._repeats_of(place))]
        """Places of the golden calls that are needed."""

    def states(self) -> Iterator[GoldenState]:
        """All states. Each is searched with the calls before it made."""
        with self._world.session(self._task) as session:
            results, digest = [_NOT_MADE] * len(self._golden), self._task.initial_state.digest
            for step in range(len(self._golden) + 1):
                remaining = [place for place in self.needed if place >= step]
                best = [
                    place for place in self._available(remaining) if self._leads(session, results, place, remaining)
                ]
                calls = [Call(tool=self._golden[at].tool, arguments=rebound(self._golden[at], results)) for at in best]
                yield GoldenState(step, list(session.results), calls, len(remaining), digest)
                if step < len(self._golden):
                    call = self._golden[step]
                    results[step] = session.call(call.tool, rebound(call, results))
                    digest = session.digest() if any(results[step].changed) else digest

    def _repeats_of(self, place: int) -> list[int]:
        """The calls that repeat one that a fault spoils; any other call itself."""
        call = self._golden[place]
        return [
            later
            for later in range(place, len(self._golden) if place in self._spoiled else place + 1)
            if later not in self._spoiled
            and (self._golden[later].tool, self._golden[later].arguments) == (call.tool, call.arguments)
        ] or [place]

    def _leads(self, session: ContractSession, results: list[CallResult], first: int, remaining: list[int]) -> bool:
        """Whether some order of the remaining calls that begins with one of them reaches the end."""
        left = MOST_TRIED

        def completes(place: int, remaining: list[int]) -> bool:
            nonlocal left
            if left == 0 or not self._makes(session, results, place):
                return False
            left -= 1
            rest = [other for other in remaining if other != place]
            return self._has_ended(session) if not rest else any(tries(other, rest) for other in self._available(rest))

        def tries(place: int, remaining: list[int]) -> bool:
            mark = session.mark()
            is_complete = completes(place, remaining)
            results[place] = _NOT_MADE
            session.forget(mark)
            return is_complete

        return tries(first, remaining)

    def _makes(self, session: ContractSession, results: list[CallResult], place: int) -> bool:
        """Make a call. Returns whether it went as the golden one did."""
        call, wanted = self._golden[place], self._execution.calls[place].result
        try:
            result = session.call(call.tool, rebound(call, results))
        except LookupError:
            return False
        results[place] = result
        same_error = (result.error and result.error.code) == (wanted.error and wanted.error.code)
        return same_error and not result.violations

    def _has_ended(self, session: ContractSession) -> bool:
        golden = self._execution
        ends = (session.caller, session.transfer) == (golden.caller, golden.transfer)
        if not ends or not self._told <= {*_cells([result.value for result in session.results])}:
            return False
        return canonical(session.diff(), session.minted) == golden.changes

    def _available(self, remaining: Collection[int]) -> list[int]:
        """The calls that may come first of the remaining ones, as far as their order is fixed."""
        left = {*remaining}
        return [place for place in sorted(left) if not self._before[place] & left]

    @cached_property
    def _before(self) -> list[frozenset[int]]:
        """For each golden call the earlier ones that have to come before it."""
        return [
            frozenset(earlier for earlier in range(place) if self._is_fixed(earlier, place))
            for place in range(len(self._golden))
        ]

    def _is_fixed(self, first: int, second: int) -> bool:
        one, other = self._golden[first], self._golden[second]
        if (
            one.tool in SESSION_TOOLS
            or other.tool in SESSION_TOOLS
            or (one.tool, one.arguments)
            == (
                other.tool,
                other.arguments,
            )
        ):
            return True
        if any(first < border <= second for border in self._borders) or first in self._sources[second]:
            return True
        kinds = {self._is_write(first), self._is_write(second)}
        return len(kinds) == 2 and any(place in self._evidence for place in (first, second))

    def _is_write(self, place: int) -> bool:
        return bool(self._world.compiled(self._golden[place].tool).tool.effects)

    @cached_property
    def _sources(self) -> list[set[int]]:
        """For each golden call the calls that its arguments come from."""
        references = [[result_reference(text) for text in call.grounding.values()] for call in self._golden]
        return [{found.call for found in row if found is not None} for row in references]

    @cached_property
    def _evidence(self) -> set[int]:
        """Reads that no argument comes from."""
        used = {source for place in self.needed for source in self._sources[place]}
        return {
            place
            for place in {*self.needed} - used
            if self._golden[place].tool not in SESSION_TOOLS
            and self._world.compiled(self._golden[place].tool).tool.kind == "read"
        }

    @cached_property
    def _borders(self) -> list[int]:
        """Places that no call crosses, because the user comes out with what follows only then."""
        task, every = self._task, list(range(1, len(self._golden)))
        if task.scenario.later is None:
            return []
        said = {json.dumps(fact.value) for fact in task.scenario.facts if fact.tell == "later"}
        before = {json.dumps(fact.value) for fact in task.scenario.facts if fact.tell != "later"}
        replaced = [max(task.criteria.thought_better_of) + 1] if task.criteria.thought_better_of else []
        values = [{json.dumps(value) for value in call.arguments.values()} for call in self._golden]
        later = [place for place, given in enumerate(values) if given & (said - before)]
        return replaced or later[:1] or every

    @cached_property
    def _told(self) -> set[tuple[str, str]]:
        """What golden results show of the values that the user has to be told."""
        facts = self._task.criteria.communicate
        values = {_text(value) for fact in facts for values in fact.shown for value in values}
        shown = _cells([step.result.value for step in self._execution.calls])
        return {cell for cell in shown if cell[1] in values}


def _cells(value: Json | Sequence[Json], name: str = "") -> Iterator[tuple[str, str]]:
    """All scalars in a value as JSON text, each with its name."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _cells(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _cells(item, name)
    else:
        yield name, _text(value)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

"""Executes variants of a task's golden calls in fresh sessions of its world."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import NamedTuple

from skillweave.schema.contract import SESSION_TOOLS, CallResult, RowChange, Tool
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.canonical import dump
from skillweave.world.compare import compare
from skillweave.world.noise import ERRORS
from skillweave.world.replay import rebound, result_reference, spoiled_calls
from skillweave.world.session import ContractSession
from skillweave.world.tools import name_of, result_text
from skillweave.world.world import World


class VariantCall(NamedTuple):
    """A call to make: a golden one, or another."""

    tool: str
    arguments: Mapping[str, Json]
    """The arguments; for a golden call, those that replace its own."""
    golden: int | None = None
    """Position of the golden call; None for another call."""
    is_malformed: bool = False
    """Whether its arguments are unreadable; then the call is not executed."""


@dataclass(frozen=True, eq=False, slots=True)
class VariantStep:
    """An executed call with its result. Executions that make the same call with the same result share it."""

    call: VariantCall
    arguments: dict[str, Json]
    result: CallResult
    text: str
    """The result as agents see it."""


class VariantExecution(NamedTuple):
    """Calls executed in a fresh session of the task."""

    steps: list[VariantStep]
    changes: list[RowChange]
    """The row changes of all calls, in canonical form."""
    unexecuted: list[int]
    """Positions of golden calls that could not be executed, or that a tool refused."""

    @property
    def is_lawful(self) -> bool:
        """Whether no call broke a rule that only the policy states."""
        return not any(step.result.violations for step in self.steps)


class VariantExecutor:
    """Executes variants of one task. The same task gives the same random draws."""

    def __init__(self, world: World, task: Task) -> None:
        self.world = world
        self.task = task
        self.calls = [VariantCall(call.tool, {}, position) for position, call in enumerate(task.golden)]
        """The golden calls."""
        self.keys: dict[str, list[str]] = {}
        """Reference -> keys of the initial rows that it may name, computed at first use."""
        self._goals: dict[int, tuple[Sequence[RowChange], bool]] = {}
        """By their identity: changes, and whether they are an end state that the task demands."""
        self._steps: dict[tuple[int, int], VariantStep] = {}
        """By the identity of call and result, which a step keeps alive."""
        self._minted: frozenset[str] = frozenset()
        self.golden = self.execute(self.calls)
        """The golden calls, executed."""
        self._minted = frozenset(id for step in self.golden.steps for id in step.result.minted)
        with self.session(len(self.calls)) as session:
            self.tools: list[Tool] = [
                world.blueprint.tool(name) for name in map(name_of, session.tools) if name not in SESSION_TOOLS
            ]
            self.caller = session.caller

    @cached_property
    def results(self) -> list[CallResult]:
        """Results of the golden calls."""
        return [step.result for step in self.golden.steps]

    @cached_property
    def shown(self) -> dict[str, list[Json]]:
        """Name -> the values that the results of the golden calls show under it, in order."""
        values: dict[str, list[Json]] = {}
        for result in self.results:
            _collect("", result.value, values)
        return values

    @cached_property
    def writes(self) -> list[int]:
        """Positions of the golden calls that change something."""
        return [position for position, result in enumerate(self.results) if any(result.changed)]

    @cached_property
    def delayed_writes(self) -> list[int]:
        """Positions of golden writes that a planted fault prevents; the golden calls repeat each."""
        golden = self.task.golden
        spoiled = sorted(spoiled_calls(golden))
        return [position for position in spoiled if self.world.compiled(golden[position].tool).tool.kind == "write"]

    @cached_property
    def world_calls(self) -> list[VariantCall]:
        """The golden calls of the world's tools: all but those that decline or transfer."""
        return [call for call in self.calls if call.tool not in SESSION_TOOLS]

    @cached_property
    def ending_calls(self) -> list[VariantCall]:
        """The golden calls that decline or transfer."""
        return [call for call in self.calls if call.tool in SESSION_TOOLS]

    @cached_property
    def requested_call(self) -> VariantCall | None:
        """The requested call that the agent must not make; its arguments come from golden results."""
        call = self.task.criteria.asked
        if call is None:
            return None
        try:
            return VariantCall(call.tool, rebound(call, self.results))
        except LookupError:
            return None

    @cached_property
    def wrong_rules(self) -> list[str]:
        """Rules by which nothing is to be declined; first those of the requested tool."""
        criteria, blueprint = self.task.criteria, self.world.blueprint
        asked = criteria.asked.tool if criteria.asked is not None else None
        near = [guard.rule for tool in blueprint.tools if tool.name == asked for guard in tool.guards]
        accepted = criteria.declined.accepted if criteria.declined is not None else frozenset[str]()
        return [rule for rule in dict.fromkeys([*near, *blueprint.rules]) if rule not in accepted]

    def random(self, purpose: str) -> Random:
        """Random draws for one purpose, independent of all others."""
        return Random(f"{self.task.id} {purpose}")

    def execute(self, calls: Iterable[VariantCall]) -> VariantExecution:
        """Execute calls in a fresh session, with arguments bound again from results and without failed golden calls."""
        with self.world.session(self.task) as session:
            steps, unexecuted = self._execute(session, calls)
            return VariantExecution(steps, session.canonical(), unexecuted)

    def session(self, count: int) -> ContractSession:
        """A session after the first `count` golden calls; the caller closes it."""
        session = self.world.session(self.task)
        self._execute(session, self.calls[:count])
        return session

    def reaches_goal(self, changes: Sequence[RowChange]) -> bool:
        """Whether the changes, in canonical form, are an end state that the task demands."""
        if id(changes) not in self._goals:
            demanded = [self.task.criteria.state, *self.task.criteria.any_of]
            is_reached = any(compare(state, changes, self.world.comparison).is_empty for state in demanded)
            self._goals[id(changes)] = changes, is_reached
        return self._goals[id(changes)][1]

    def shows_facts(self, execution: VariantExecution) -> bool:
        """Whether its results show all that the user has to be told. In another order of calls they may not."""
        values: dict[str, list[Json]] = {}
        for step in execution.steps:
            _collect("", step.result.value, values)
        found = {dump(value) for column in values.values() for value in column}
        needed = [wanted for fact in self.task.criteria.communicate for wanted in fact.shown]
        return all(not found.isdisjoint(map(dump, wanted)) for wanted in needed)

    def with_arguments(self, position: int, arguments: Mapping[str, Json]) -> list[VariantCall]:
        """The golden calls, with these arguments in one of them."""
        return [call._replace(arguments=arguments) if call.golden == position else call for call in self.calls]

    def depends_on(self, position: int) -> set[int]:
        """The golden calls that a golden call takes arguments from, directly or through others."""
        direct = self.takes_from(position)
        return direct.union(*map(self.depends_on, direct))

    def takes_from(self, position: int) -> set[int]:
        """The golden calls from whose results a golden call takes arguments."""
        sources = map(result_reference, self.task.golden[position].grounding.values())
        return {source.call for source in sources if source is not None and source.call < position}

    def _execute(self, session: ContractSession, calls: Iterable[VariantCall]) -> tuple[list[VariantStep], list[int]]:
        steps: list[VariantStep] = []
        unexecuted: list[int] = []
        results: dict[int, CallResult] = {}
        for call in calls:
            arguments = self._arguments(call, results)
            if arguments is None and call.golden is not None:
                unexecuted.append(call.golden)
                continue
            result = session.call(call.tool, arguments or {}) if not call.is_malformed else _UNREADABLE
            if call.golden is not None and not result.ok and self.task.golden[call.golden].fault not in ERRORS:
                unexecuted.append(call.golden)
                continue
            # Whoever looks twice has what the first look showed, though the second one may be cut short.
            if call.golden is not None and (call.golden not in results or not results[call.golden].ok):
                results[call.golden] = result
            steps.append(self._step(call, arguments or {}, result))
        return steps, unexecuted

    def _step(self, call: VariantCall, arguments: dict[str, Json], result: CallResult) -> VariantStep:
        """The step of a call and its result, which follow from each other where sessions share what they execute."""
        key = id(call), id(result)
        if key not in self._steps:
            self._steps[key] = VariantStep(call, arguments, result, result_text(result))
        return self._steps[key]

    def _arguments(self, call: VariantCall, results: Mapping[int, CallResult]) -> dict[str, Json] | None:
        """The arguments of a call; None if they come from a result that does not exist."""
        if call.golden is None:
            return dict(call.arguments)
        golden = self.task.golden[call.golden]
        try:
            bound = self._rebound(golden, call.arguments, results)
        except LookupError:
            return None
        return {**bound, **call.arguments}

    def _rebound(
        self, golden: GoldenCall, given: Collection[str], results: Mapping[int, CallResult]
    ) -> dict[str, Json]:
        """Bind the arguments again, except those that are given. One without its source keeps its value, unless the
        golden execution minted it."""
        sources = {name: result_reference(text) for name, text in golden.grounding.items() if name not in given}
        lost = [name for name, source in sources.items() if source is not None and source.call not in results]
        if any(golden.arguments.get(name) in self._minted for name in lost):
            raise LookupError(golden.tool)
        by_position = [results.get(position, _UNREADABLE) for position in range(len(self.task.golden))]
        return rebound(golden, by_position, {*given, *lost})


_UNREADABLE = CallResult.model_validate(
    {
        "call": {"tool": ""},
        "ok": False,
        "error": {"code": "invalid_arguments", "message": "The arguments are not valid JSON."},
    }
)
"""The result of a call whose arguments cannot be read."""


def _collect(name: str, value: Json, values: dict[str, list[Json]]) -> None:
    """Add the scalars in a value, each under the name nearest to it."""
    if isinstance(value, dict):
        for key, part in value.items():
            _collect(key, part, values)
    elif isinstance(value, list):
        for part in value:
            _collect(name, part, values)
    elif value is not None:
        values.setdefault(name, []).append(value)


def first_lawful(
    executions: Iterable[VariantExecution], is_wanted: Callable[[VariantExecution], bool]
) -> VariantExecution | None:
    """The first lawful execution that meets the condition; if none is lawful, the first that meets it."""
    fallback = None
    for execution in filter(is_wanted, executions):
        if execution.is_lawful:
            return execution
        fallback = fallback or execution
    return fallback

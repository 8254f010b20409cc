"""Golden executions: what a task's golden calls lead to, and which of them the outcome does not need.

An execution is made once and cached by the content of world and task. A golden call is needless if the others end
in the same state, none of them fails or breaks a rule, the same person is signed in, the same transfer is made,
every argument still has its source, and every value that the user must be told, or from which it is computed, still
stands in a result.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from evaluator.replay.execution import ExecutedCall, Execution, execute_golden
from skillweave.base.store import digest_text
from skillweave.schema.contract import SESSION_TOOLS, Call, CallResult
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.canonical import canonical, dump
from skillweave.world.compare import compare
from skillweave.world.noise import ERRORS
from skillweave.world.replay import rebound, spoiled_calls, violations, without_noise
from skillweave.world.world import World

MOST_REPLAYS = 200
"""Most replays of one task's golden calls; calls not tried by then count as needed."""
_FROM_CALL = re.compile(r"\bcall (\d+)\b")
_LEFT_OUT = CallResult(call=Call(tool=""), ok=False)
CACHED_EXECUTIONS = 4096
"""Most golden executions kept in memory."""


class GoldenExecution(NamedTuple):
    """A task's golden calls, executed."""

    execution: Execution
    pruned: frozenset[int]
    """Positions of calls that are not demanded: the outcome does not need them, or a planted fault spoils them."""
    fault: str | None
    """Why the golden calls do not do what the task demands; None where they do."""


class GoldenCache:
    """Keeps recent golden executions by the content of world and task."""

    def __init__(self, *, prune: bool = True, keeps: int = CACHED_EXECUTIONS) -> None:
        """Args:
        prune: Whether needless calls are found.
        keeps: Most executions kept; 0: each is made anew.
        """
        self._prune = prune
        self._keeps = keeps
        self._held: OrderedDict[tuple[str, str], GoldenExecution] = OrderedDict()

    def of(self, world: World, task: Task, task_digest: str) -> GoldenExecution:
        """The golden execution of a task.

        Args:
            task_digest: Digest of the task's record.
        """
        key = (world.digest, task_digest)
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key]
        found = golden_execution_of(world, task, prune=self._prune)
        if self._keeps:
            self._held[key] = found
            if len(self._held) > self._keeps:
                self._held.popitem(last=False)
        return found


def golden_execution_of(world: World, task: Task, *, prune: bool = True) -> GoldenExecution:
    """Execute a task's golden calls in a fresh session.

    Args:
        prune: Whether needless calls are found.
    """
    with world.session(task) as session:
        execution = execute_golden(session, task.golden)
    fault = _fault(world, task, execution)
    spoiled = spoiled_calls(task.golden)
    return GoldenExecution(
        execution, spoiled | (_needless(world, task, execution) if prune and fault is None else set()), fault
    )


def digest_of_task(task: Task) -> str:
    """The sha256 of a task's record, which trajectories carry."""
    return digest_text(task.model_dump_json())


def _fault(world: World, task: Task, execution: Execution) -> str | None:
    """Why the golden calls do not do what the task demands; None where they do."""
    if execution.defects:
        return execution.defects[0]
    for step, call in zip(execution.calls, task.golden, strict=False):
        planted = ERRORS.get(call.fault) if call.fault else None
        if planted is not None and step.ok:
            return f"call {step.position} ({step.tool}) is not befallen by a {call.fault}"
        if step.result.error is not None and step.result.error != planted:
            return f"call {step.position} ({step.tool}) fails: {step.result.error.code}, {step.result.error.message}"
    broken = violations([step.result for step in execution.calls])
    if broken:
        return f"it breaks a rule: {broken[0]}"
    found = compare(task.criteria.state, execution.changes, world.comparison)
    if not found.is_empty:
        row = next(iter([*found.missing, *found.unexpected]))
        what = "is demanded and does not happen" if found.missing else "happens and is not demanded"
        return f"{row.op} of {row.table} {json.dumps(row.key)} {what}"
    return None


def _needless(world: World, task: Task, execution: Execution) -> set[int]:
    """Needless golden calls; of a task with planted faults, those that are needless without the faults."""
    if task.noise is None:
        return {*needless_calls(world, task, execution)}
    calm = without_noise(task)
    with world.session(calm) as session:
        found = needless_calls(world, calm, execute_golden(session, calm.golden))
    kept = sorted({*range(len(task.golden))} - spoiled_calls(task.golden))
    return {kept[place] for place in found}


def needless_calls(world: World, task: Task, execution: Execution) -> frozenset[int]:
    """Positions of golden calls without which the outcome is the same.

    Args:
        execution: The execution of all golden calls.
    """
    return frozenset(_Pruning(world, task, execution).settled())


class _Pruning:
    def __init__(self, world: World, task: Task, execution: Execution) -> None:
        self._world = world
        self._task = task
        self._golden = execution
        self._steps = execution.calls
        self._replays = 0
        self._sources = _Sources(task, self._steps)
        self._writes = [step.position for step in self._steps if self._can_write(step)]
        self._signs_in = [step.position for step in self._steps if self._kind(step) == "auth"]

    def settled(self) -> set[int]:
        """Positions of calls that can be left out together, found from the last call to the first."""
        out: set[int] = set()
        places = [step.position for step in reversed(self._steps) if step.tool not in SESSION_TOOLS]
        pairs = list(combinations(reversed(self._writes), 2))
        while True:
            before = len(out)
            for place in places:
                self._leave_out({place}, out)
            for pair in pairs:
                self._leave_out({*pair}, out)
            if len(out) == before:
                return out

    def _leave_out(self, more: set[int], out: set[int]) -> None:
        if not more & out and self._goes_without(out | more):
            out |= more

    def _goes_without(self, out: set[int]) -> bool:
        if self._changes_nothing(out) or not self._sources.remain(out):
            return False
        if not out & {*self._writes, *self._signs_in}:
            return True
        self._replays += 1
        return self._replays <= MOST_REPLAYS and self._ends_alike(out)

    def _changes_nothing(self, out: set[int]) -> bool:
        """Whether the remaining calls obviously cannot reach the same outcome; saves a replay."""
        idle = bool(self._golden.changes) and out.issuperset(self._writes)
        return idle or (bool(self._signs_in) and out.issuperset(self._signs_in))

    def _ends_alike(self, out: set[int]) -> bool:
        with self._world.session(self._task) as session:
            results: list[CallResult] = []
            for place, call in enumerate(self._task.golden):
                if place in out:
                    results.append(_LEFT_OUT)
                    continue
                try:
                    results.append(session.call(call.tool, rebound(call, results)))
                except LookupError:
                    return False
                if not results[-1].ok or results[-1].violations:
                    return False
            changes = canonical(session.diff(), session.minted)
            ends = session.caller, session.transfer
        return changes == self._golden.changes and ends == (self._golden.caller, self._golden.transfer)

    def _can_write(self, step: ExecutedCall) -> bool:
        return step.tool not in SESSION_TOOLS and bool(self._world.compiled(step.tool).tool.effects)

    def _kind(self, step: ExecutedCall) -> str:
        return "read" if step.tool in SESSION_TOOLS else self._world.compiled(step.tool).tool.kind


class _Sources:
    """Which calls show the values that arguments and facts to tell need."""

    def __init__(self, task: Task, steps: Sequence[ExecutedCall]) -> None:
        self._steps = steps
        self._shown = [{(name, dump(value)) for name, value in _cells(step.result.value)} for step in steps]
        self._values = [
            {value for _, value in shown} - {dump(value) for _, value in _cells({**step.arguments})}
            for shown, step in zip(self._shown, steps, strict=True)
        ]
        told = {dump(value) for fact in task.criteria.communicate for values in fact.shown for value in values}
        self._told = {cell for shown in self._shown for cell in shown if cell[1] in told}
        self._demands = [*self._demanded(task)]

    def remain(self, out: set[int]) -> bool:
        """Whether all needed values are still shown without these calls."""
        for place, needs in enumerate(self._demands):
            if place not in out and any(sources <= out for sources in needs):
                return False
        left = {cell for place, shown in enumerate(self._shown) if place not in out for cell in shown}
        return self._told <= left

    def _demanded(self, task: Task) -> Iterator[list[set[int]]]:
        """For each call, sets of calls that its arguments come from; of each set at least one is needed."""
        known = _known(task)
        for place, call in enumerate(task.golden):
            named = [{int(found)} for source in call.grounding.values() for found in _FROM_CALL.findall(source)]
            free = [value for name, value in self._steps[place].arguments.items() if name not in call.grounding]
            values = {dump(value) for argument in free for _, value in _cells(argument) if _tells(value, known)}
            shown = [
                {earlier for earlier in range(place) if value in self._values[earlier]} for value in sorted(values)
            ]
            yield [*named, *filter(None, shown)]


def _cells(value: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """All scalars in a value, each with its name."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _cells(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _cells(item, name)
    else:
        yield name, value


def _tells(value: Json, known: str) -> bool:
    """Whether a value must come from a result: it is no boolean or null, and no text gives it."""
    if value is None or isinstance(value, bool) or value == "":
        return False
    return re.search(rf"(?<!\w){re.escape(str(value).casefold())}(?!\w)", known) is None


def _known(task: Task) -> str:
    """Everything that the user, the session and the task's text give, as one text."""
    env, scenario = task.env_variables, task.scenario
    facts = [text for fact in scenario.facts for text in (fact.text, str(fact.value))]
    said = [message.content or "" for message in task.messages]
    given = [env.CURRENT_DATE, env.LOGGED_IN_USER or "", env.LOGGED_IN_NAME or "", task.now]
    texts = [scenario.goal, scenario.reason, *scenario.said_later, task.user_system_prompt, task.task_info.known_info]
    return "\n".join([*facts, *said, *given, *texts, task.task_info.instruction]).casefold()

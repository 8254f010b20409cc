"""Golden executions: what a task's golden calls lead to, made once and cached by content."""

import json
from collections import OrderedDict
from typing import NamedTuple

from evaluator.execution import Execution, execute_golden
from evaluator.prune import needless
from skillweave.digest import digest_text
from skillweave.schema.task import Task
from skillweave.world.compare import compare
from skillweave.world.noise import ERRORS
from skillweave.world.replay import violations
from skillweave.world.undisturbed import befallen, undisturbed
from skillweave.world.world import World

CACHED = 4096
"""Golden executions that are kept."""


class Golden(NamedTuple):
    """A task's golden calls, carried out."""

    execution: Execution
    pruned: frozenset[int]
    """Positions of calls that change nothing in the outcome, or that a planted fault spoils: not demanded."""
    fault: str | None
    """Why the task cannot be scored: its golden calls do not do what they should."""


class GoldenCache:
    """The most recent golden executions, by the content of world and task."""

    def __init__(self, *, prune: bool = True, keeps: int = CACHED) -> None:
        """With `keeps=0` every one is made anew."""
        self._prune = prune
        self._keeps = keeps
        self._held: OrderedDict[tuple[str, str], Golden] = OrderedDict()

    def of(self, world: World, task: Task, task_digest: str) -> Golden:
        """The golden execution of a task; `task_digest` is that of its record."""
        key = (world.digest, task_digest)
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key]
        found = golden_of(world, task, prune=self._prune)
        if self._keeps:
            self._held[key] = found
            if len(self._held) > self._keeps:
                self._held.popitem(last=False)
        return found


def golden_of(world: World, task: Task, *, prune: bool = True) -> Golden:
    """Carry the golden calls out in a fresh session."""
    with world.session(task) as session:
        execution = execute_golden(session, task.golden)
    fault = _fault(world, task, execution)
    spoiled = befallen(task.golden)
    return Golden(execution, spoiled | (_needless(world, task, execution) if prune and fault is None else set()), fault)


def _needless(world: World, task: Task, execution: Execution) -> set[int]:
    """Golden calls that change nothing in the outcome; of a noisy task those that would not without its faults."""
    if task.noise is None:
        return {*needless(world, task, execution)}
    calm = undisturbed(task)
    with world.session(calm) as session:
        found = needless(world, calm, execute_golden(session, calm.golden))
    kept = sorted({*range(len(task.golden))} - befallen(task.golden))
    return {kept[place] for place in found}


def _fault(world: World, task: Task, execution: Execution) -> str | None:
    """Why the golden calls prove nothing; None where they do what the task says."""
    if task.kind == "refuse" and task.criteria.declined is None:
        return "criteria.declined does not say which rule decides a request that is to be declined"
    if execution.defects:
        return execution.defects[0]
    for step, call in zip(execution.steps, task.golden, strict=False):
        planted = ERRORS.get(call.fault) if call.fault else None
        if planted is not None and step.ok:
            return f"call {step.call} ({step.tool}) is not befallen by a {call.fault}"
        if step.result.error is not None and step.result.error != planted:
            return f"call {step.call} ({step.tool}) fails: {step.result.error.code}, {step.result.error.message}"
    broken = violations([step.result for step in execution.steps])
    if broken:
        return f"it breaks a rule: {broken[0]}"
    found = compare(task.criteria.state, execution.changes, world.comparison)
    if not found.none:
        row = next(iter([*found.missing, *found.unexpected]))
        what = "is demanded and does not happen" if found.missing else "happens and is not demanded"
        return f"{row.op} of {row.table} {json.dumps(row.key)} {what}"
    return None


def digest_of(task: Task) -> str:
    """sha256 of a task's record, as trajectories name it."""
    return digest_text(task.model_dump_json())

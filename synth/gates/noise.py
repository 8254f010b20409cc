"""Gate: the golden calls of a noisy task meet the planted faults and recover from them.

The gate compares the task with the same task without its faults. A call that meets no fault returns the same bytes, a
call that meets one and is not repeated returns the same values, and the end state is the same.
"""

from collections.abc import Iterator, Sequence
from random import Random

from skillweave.schema.contract import SESSION_TOOLS, CallResult
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.canonical import dump
from skillweave.world.noise import ERRORS, INSTRUCTIONS
from skillweave.world.replay import Replay, replay, replay_in, spoiled_calls, without_noise
from skillweave.world.tools import result_text
from skillweave.world.world import World
from synth.gates.gate import TaskGate
from synth.tasks.noise import with_planted_faults
from synth.tasks.replay import Rejected

GATE = TaskGate(
    name="noise",
    proves="Planted faults can be recovered from.",
    runs=(
        "The golden calls with the planted faults, twice: calls that meet a fault are repeated; same end state, same "
        "values told."
    ),
    figures={
        "golden.befallen": "golden calls that meet a fault",
        "golden.made_again": "golden calls that are repeated",
        "golden.missed_without": "whether an agent that repeats no call fails",
    },
    reasons=(
        "planted fault befalls nothing",
        "noisy replay differs",
        "noisy golden call fails",
        "planted faults change the outcome",
        "noisy golden call is another",
        "noisy golden call is not as marked",
        "planted fault changes a value",
        "noisy golden calls are not all",
    ),
    check=lambda judged: {"golden": check_noise(judged.world, judged.noisy)} if judged.noisy else {},
)


def noisy_task(world: World, task: Task, random: Random) -> Task:
    """The task with faults planted in it, and the gate's figures on its record.

    Raises:
        Rejected: No fault fits, or the golden calls do not recover.
    """
    noisy = with_planted_faults(world, task, random)
    golden = {**task.gates.golden, **check_noise(world, noisy)}
    return noisy.model_copy(update={"gates": task.gates.model_copy(update={"golden": golden})})


def check_noise(world: World, task: Task) -> dict[str, Json]:
    """The gate's figures. Raises Rejected if the faults differ from the task's record, or the calls do not recover."""
    calm_task = without_noise(task)
    calm, first, second = replay(world, calm_task), replay(world, task), replay(world, task)
    for fault in _unfit(world, task):
        raise Rejected("planted fault befalls nothing", fault)
    if _seen(first) != _seen(second):
        raise Rejected("noisy replay differs")
    if first.defects or first.violations or len(first.results) != len(task.golden):
        raise Rejected("noisy golden call fails", next(iter([*first.defects, *first.violations])))
    if first.changes != calm.changes:
        raise Rejected("planted faults change the outcome")
    _compare(task, first.results, calm.results)
    with world.session(task) as session:
        alone = replay_in(session, calm_task.golden)
    is_missed = alone.changes != calm.changes or not _told(task) & _cells_of(calm) <= _cells_of(alone)
    marked = sum(call.fault is not None for call in task.golden)
    return {"befallen": marked, "made_again": len(spoiled_calls(task.golden)), "missed_without": is_missed}


def _unfit(world: World, task: Task) -> Iterator[str]:
    if task.noise is None or not any(call.fault for call in task.golden):
        yield "no golden call"
        return
    for planted in task.noise.faults:
        is_offered = world.has_tool(planted.tool) and planted.tool not in task.tools_hidden
        if planted.tool in SESSION_TOOLS or planted.tool in world.sign_ins or not is_offered:
            yield planted.tool


def _compare(task: Task, results: Sequence[CallResult], calm: Sequence[CallResult]) -> None:
    """Check that each call behaves as its mark says."""
    spoiled = spoiled_calls(task.golden)
    undisturbed_results = iter(calm)
    expected: CallResult | None = None
    for place, (call, result) in enumerate(zip(task.golden, results, strict=True)):
        # A call that a fault spoils comes just before its repetition.
        expected = expected or next(undisturbed_results, None)
        if expected is None or expected.call != result.call:
            raise Rejected("noisy golden call is another", f"call {place} ({call.tool})")
        error = ERRORS.get(call.fault) if call.fault else None
        if result.error != error or (result_text(result) != result_text(expected)) != (call.fault is not None):
            raise Rejected("noisy golden call is not as marked", f"call {place} ({call.tool})")
        if place in spoiled:
            continue
        if dump(_without_instructions(result.value)) != dump(expected.value):
            raise Rejected("planted fault changes a value", f"call {place} ({call.tool})")
        expected = None
    if expected is not None or next(undisturbed_results, None) is not None:
        raise Rejected("noisy golden calls are not all", f"{len(task.golden)} calls")


def _seen(replayed: Replay) -> tuple[list[str], str]:
    return [result_text(result) for result in replayed.results], str(replayed.changes)


def _without_instructions(value: Json) -> Json:
    if isinstance(value, list):
        return [_without_instructions(item) for item in value]
    if isinstance(value, dict):
        return {name: cell for name, cell in value.items() if cell not in INSTRUCTIONS}
    return value


def _told(task: Task) -> set[str]:
    return {dump(value) for fact in task.criteria.communicate for value in fact.values}


def _cells_of(replayed: Replay) -> set[str]:
    return {cell for result in replayed.results for cell in _cells(result.value)}


def _cells(value: Json) -> Iterator[str]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    yield dump(value)
    for part in parts:
        yield from _cells(part)

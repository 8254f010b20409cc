"""Noise in tasks: faults planted on the golden calls of a finished task, and the golden calls that overcome them.

Which golden calls a fault hits is not computed but observed: they are made in a session that has the faults.
"""

from collections.abc import Iterator, Sequence
from random import Random

from skillweave.schema.contract import SESSION_TOOLS, Call, CallResult
from skillweave.schema.criteria import FaultKind, GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.task import Noise, PlantedFault, Task
from skillweave.world.canonical import dump
from skillweave.world.noise import ERRORS, ToolNoise
from skillweave.world.replay import REPEATED_FAULTS, Replay, rebound, renumbered, replay
from skillweave.world.tools import result_text
from skillweave.world.world import World
from synth.tasks.assembly import hash_of
from synth.tasks.replay import Rejected

FAULT_COUNTS = (1, 1, 2, 3)
"""Golden calls that are hit; one of these numbers is drawn."""
TWICE_SHARE = 0.25
"""Share of the failing calls that fail a second time."""
TRAP_SHARE = 1 / 3
"""Share of the tasks with a trap: a read that is stale if it is repeated after a write, which no golden call does."""
MOST_ATTEMPTS = 4
"""How often one golden call is made at most."""


def with_planted_faults(world: World, task: Task, random: Random) -> Task:
    """Plant faults in a task.

    Returns:
        Another task, with an id of its own. Its gates' figures are still those of the first task.

    Raises:
        Rejected: No fault fits, or the golden calls do not overcome the faults.
    """
    calm = replay(world, task)
    faults = [*_drawn_faults(world, task, calm, random)]
    if not faults:
        raise Rejected("planted fault befalls nothing")
    noise = Noise(seed=random.getrandbits(32), faults=faults)
    planted = task.model_copy(update={"noise": noise})
    golden, places = _overcoming_calls(world, planted, noise, calm)
    asked = task.criteria.asked
    return planted.model_copy(
        update={
            "id": f"{task.world}-{hash_of([task.id, noise.model_dump(mode='json')])[:8]}",
            "golden": golden,
            "criteria": task.criteria.model_copy(update={"asked": asked and renumbered(asked, places)}),
            "difficulty": task.difficulty.model_copy(update={"calls": len(golden)}),
            "task_info": task.task_info.model_copy(
                update={
                    "trajectory": [call.tool for call in golden],
                    "trajectory_hash": hash_of([[call.tool, call.arguments] for call in golden]),
                }
            ),
        }
    )


def _drawn_faults(world: World, task: Task, calm: Replay, random: Random) -> Iterator[PlantedFault]:
    """Faults on some golden calls; the first time that such a call is made is hit."""
    fitting = {place: _fitting_faults(world, calm.results, place) for place in range(len(calm.results))}
    places = [place for place, faults in fitting.items() if faults]
    chosen = sorted(random.sample(places, min(len(places), random.choice(FAULT_COUNTS))))
    for place in chosen:
        fault = random.choice(fitting[place])
        result, first = calm.results[place], _occurrence(calm.results, place)
        # Words in an argument of a write are the agent's own, and so are ids that are minted on its way.
        is_any = (fault in ERRORS and bool(result.changed)) or _holds_minted(calm.results, place)
        arguments = None if is_any else result.call.arguments
        last = first + (fault in ERRORS and random.random() < TWICE_SHARE)
        for occurrence in range(first, last + 1):
            yield PlantedFault(tool=result.call.tool, arguments=arguments, occurrence=occurrence, fault=fault)
    if random.random() < TRAP_SHARE:
        yield from _trap_fault(world, calm.results, chosen, random)


def _trap_fault(
    world: World, results: Sequence[CallResult], taken: Sequence[int], random: Random
) -> Iterator[PlantedFault]:
    """A read that is stale if it is made once more after a write than the golden calls make it."""
    last = max((place for place, result in enumerate(results) if result.changed), default=0)
    calls = {dump(results[place].call.arguments): place for place in taken}
    reads = [
        place
        for place in range(last)
        if _is_open(world, results[place].call) and not results[place].changed
        if dump(results[place].call.arguments) not in calls and not _holds_minted(results, place)
    ]
    if reads:
        call = results[random.choice(reads)].call
        times = sum(result.call == call for result in results)
        yield PlantedFault(tool=call.tool, arguments=call.arguments, occurrence=times + 1, fault="stale_read")


def _fitting_faults(world: World, results: Sequence[CallResult], place: int) -> list[FaultKind]:
    """The faults that would show in a call's result."""
    result = results[place]
    if not _is_open(world, result.call):
        return []
    faults: list[FaultKind] = ["timeout", "temporary_error"]
    rows = result.value if isinstance(result.value, list) else [result.value]
    if isinstance(result.value, list) and len(rows) > 1:
        faults.append("partial_page")
    if rows and all(isinstance(row, dict) and len(row) > 1 for row in rows):
        faults += ["reordered_keys", "injected_instruction"]
    if any(results[earlier].call == result.call for earlier in range(place)) and not result.changed:
        faults.append("stale_read")
    return faults


def _is_open(world: World, call: Call) -> bool:
    return call.tool not in SESSION_TOOLS and call.tool not in world.sign_ins


def _occurrence(results: Sequence[CallResult], place: int) -> int:
    """How often the same call was made up to this place."""
    return sum(result.call == results[place].call for result in results[: place + 1])


def _holds_minted(results: Sequence[CallResult], place: int) -> bool:
    written = dump(results[place].call.arguments)
    return any(id in written for result in results[:place] for id in result.minted)


def _overcoming_calls(world: World, task: Task, noise: Noise, calm: Replay) -> tuple[list[GoldenCall], dict[int, int]]:
    """Make the golden calls in a session that has the faults, each until it is carried out.

    Returns:
        The calls that were made, and the new place of each golden call.
    """
    faults = ToolNoise(noise)
    golden: list[GoldenCall] = []
    places: dict[int, int] = {}
    with world.session(task) as session:
        for number, call in enumerate(task.golden):
            planned = renumbered(call, places)
            for _ in range(MOST_ATTEMPTS):
                attempt = Call(tool=call.tool, arguments=_bound(planned, session.results))
                befalling = faults.fault_for(attempt, session.results)
                result = session.call(attempt.tool, attempt.arguments)
                is_met = befalling is not None and result_text(result) != result_text(calm.results[number])
                fault = befalling.fault if befalling is not None and is_met else None
                golden.append(planned.model_copy(update={"fault": fault}))
                if fault not in REPEATED_FAULTS:
                    break
            places[number] = len(golden) - 1
    return golden, places


def _bound(call: GoldenCall, results: Sequence[CallResult]) -> dict[str, Json]:
    try:
        return {**rebound(call, results)}
    except LookupError as fault:
        raise Rejected("noisy golden call cannot be bound", str(fault)) from fault

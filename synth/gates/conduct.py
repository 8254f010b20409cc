"""What is declined or handed over, proven again from the task's record: the request, its ban, what is out of reach."""

from collections.abc import Iterator

from skillweave.schema.combination import Combination
from skillweave.schema.task import Criteria, GoldenCall, Task
from skillweave.world.canonical import dump
from skillweave.world.world import World
from synth.gates.declined import declined
from synth.gates.unreachable import unreachable
from synth.tasks.assemble import golden_of


def conduct_faults(world: World, combination: Combination, task: Task, criteria: Criteria) -> Iterator[str]:
    """Where a task's bans or what it holds to be out of reach is not what its request comes to; Rejected like a gate.

    `criteria` are those made anew.
    """
    if task.criteria.declined != criteria.declined or task.golden != golden_of(combination):
        yield "what it records as declined is not what decides the request"
    if task.criteria.must_not != criteria.must_not:
        yield "the rules that forbid the request are not those of its tool"
    if task.criteria.beyond != criteria.beyond:
        yield "what is out of reach is not what the tools offered leave"
    if task.criteria.asked is not None:
        yield from _unsaid(world, task, task.criteria.asked)
    declined(world, combination)
    unreachable(world, combination, task.criteria)


def _unsaid(world: World, task: Task, asked: GoldenCall) -> Iterator[str]:
    """What the user is to give to the request and does not know; rows are named in words."""
    known = {dump(fact.value) for fact in task.scenario.facts}
    tool = world.blueprint.tool(asked.tool)
    for name, value in asked.arguments.items():
        is_row = task.kind == "unavailable" and tool.parameter(name).refers_to is not None
        if name not in asked.grounding:
            yield f"{asked.tool}.{name} has no source"
        elif asked.grounding[name] == "user" and not is_row and dump(value) not in known:
            yield f"{asked.tool}.{name} is {value!r}, which the user does not know"

"""s17: put every validated task into words, and write it down whole.

A persona is drawn, the author tells the task in that person's manner, and the words are checked: they say the figures
that the person knows and no others. Left out are tasks whose words stay faulty, repeats, and overlaps between splits.
"""

from pydantic import Field

from evaluator.kinds import KINDS
from skillweave.schema.combination import ValidatedTask
from skillweave.schema.contract import SESSION_TOOLS, Policy
from skillweave.schema.task import Task
from skillweave.world.tools import name_of
from skillweave.world.world import World
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    DIVERSITY,
    DOMAIN_TOPICS,
    DUPLICATES,
    FALLEN,
    LACKING,
    MEDIATIONS,
    POLICIES,
    QUERIES,
    RULES,
    STEP_TRUTH,
    TASK_ROWS,
    TEMPLATES,
    TOOL_LISTS,
    VALIDATED,
    contract_of,
    servers_of,
)
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.gates.noise import noisy_task
from synth.planner.problem import DEFAULT_BOUNDS
from synth.planner.solutions import step_truths
from synth.reports.diversity import forms_of, without_repeats, write_rules
from synth.reports.task_table import write_shared
from synth.tasks.assembly import TaskAssembler
from synth.tasks.difficulty import NOISE_FACTOR
from synth.tasks.replay import Rejected
from synth.tasks.splits import families_of, splits_of
from synth.tasks.tellings import TELL, tell_tasks, untold_task


class InstantiationParams(Params):
    noise: float = Field(default=0.1, ge=0, le=1)
    """Share of the tasks with planted faults, of those that are carried out; of hard ones up to twice as much."""
    step_truth: bool = False
    """Write down, for training, the best next calls at each golden step: a search for each, so it takes its time."""


@step(
    each=BLUEPRINTS,
    fused=CONTRACTS,
    reads=[
        *(DOMAIN_TOPICS, BLUEPRINTS, CONTRACTS, MEDIATIONS, TOOL_LISTS, DATABASE, POLICIES),
        *(TEMPLATES, LACKING, VALIDATED, FALLEN),
    ],
    writes=[QUERIES, RULES, DUPLICATES, STEP_TRUTH],
    params=InstantiationParams,
    questions=[TELL],
    registries=[KINDS],
    join=write_shared,
    join_writes=[DIVERSITY, TASK_ROWS],
)
async def task_instantiation(ctx: Context[InstantiationParams], key: str) -> None:
    blueprint = contract_of(ctx)
    world = World(blueprint, ctx.path(DATABASE), now=ctx.now)
    assembler = TaskAssembler(world, [ctx.read(DOMAIN_TOPICS, server) for server in servers_of(blueprint)])
    templates = {template.id: template for template in ctx.read(TEMPLATES)}
    splits = splits_of(templates.values(), servers_of(blueprint), ctx.splits, str(ctx.seed))
    usable = {*Policy(world=key, text=ctx.read(POLICIES)).tools} & {name_of(tool) for tool in ctx.read(TOOL_LISTS)}
    validated: dict[str, ValidatedTask] = {}
    for one in ctx.read(VALIDATED):
        if {call.tool for call in one.combination.calls} - SESSION_TOOLS <= usable:
            validated[one.combination.id] = one
        else:
            ctx.reject(one.combination.id, "a golden tool is not offered, or not in the policy")
    requests = {
        name: assembler.request(templates[one.combination.template], one.combination, ctx.random(name))
        for name, one in validated.items()
    }
    untold = [untold_task(one.combination, requests[name], blueprint) for name, one in validated.items()]
    tellings = await tell_tasks(ctx, blueprint, untold)
    told = [
        assembler.task(one, requests[name], tellings[name], splits[one.combination.template])
        for name, one in validated.items()
        if name in tellings
    ]
    tasks = without_repeats(ctx, [_with_noise(ctx, world, task) for task in told], families_of(templates.values()))
    for task in tasks:
        forms = [f"{form} form" for form in forms_of(task)]
        for name in (task.kind, task.split, f"level {task.difficulty.level}", *forms):
            ctx.count(f"{name} tasks")
    ctx.write(QUERIES, key, tasks)
    await write_rules(ctx, blueprint, tasks)
    if ctx.params.step_truth:
        database, known = ctx.path(DATABASE), ctx.read(VALIDATED)
        truths = await ctx.offload(step_truths, blueprint, database, ctx.now, known, tasks, DEFAULT_BOUNDS)
        ctx.write(STEP_TRUTH, key, truths)


def _with_noise(ctx: Context[InstantiationParams], world: World, task: Task) -> Task:
    """A share of the tasks with faults planted in them; the others, and where no fault can be planted, as they are."""
    random = ctx.random(task.lineage.combo, "noise")
    share = ctx.params.noise * NOISE_FACTOR[task.difficulty.level]
    if random.random() >= share or not KINDS[task.kind].is_carried_out:
        return task
    try:
        noisy = noisy_task(world, task, random)
    except Rejected as rejected:
        ctx.count(f"left without noise: {rejected.reason}")
        return task
    ctx.count("tasks with planted faults")
    return noisy

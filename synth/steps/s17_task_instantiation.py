"""s17: put every validated task into words, and write it down whole.

A persona is drawn, the author tells the task in that person's manner, and what was told is checked: every figure that
the person knows is said where it is marked as said, and nothing that nobody knows. What repeats other tasks, or would
be in two splits, is left out.
"""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random

from pydantic import Field

from skillweave.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.combination import ValidatedTask
from skillweave.schema.policy import Policy
from skillweave.schema.task import Task
from skillweave.schema.telling import Telling
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
    TEMPLATES,
    TOOL_LISTS,
    VALIDATED,
)
from synth.context import Context
from synth.coverage.rules import rules_of
from synth.diversity.diversity import diversity_of
from synth.diversity.duplicates import REASONS, without_duplicates
from synth.diversity.overlaps import is_undecided
from synth.fusion.contract import contract_of, is_fused, servers_of
from synth.gates.rejection import Rejected
from synth.planner.problem import BOUNDS
from synth.planner.steps import truths
from synth.step import Params, step
from synth.tasks.assemble import Assembly
from synth.tasks.noise import KINDS, noisy
from synth.tasks.persona import persona_of
from synth.tasks.request import request_of
from synth.tasks.splits import family_of, splits_of
from synth.tasks.telling_check import telling_faults

TELL = question("tasks.tell", returns=Telling)


class InstantiationParams(Params):
    noise: float = Field(default=0.1, ge=0, le=1)
    """Share of the tasks in whose calls faults are planted, of those with something to carry on with: none where a rule
    forbids the request or no tool serves it."""
    step_truth: bool = False
    """Write down, for training, the best next calls at each golden step: a search for each, so it takes its time."""


async def report(ctx: Context[InstantiationParams], keys: list[str]) -> None:
    """Write down how much the tasks of all worlds differ."""
    fused = set(ctx.keys(CONTRACTS))
    contracts = {
        key: ctx.read(CONTRACTS, key).with_bridges(ctx.read(MEDIATIONS, key).bridges)
        if key in fused
        else ctx.read(BLUEPRINTS, key)
        for key in keys
    }
    tasks = {key: ctx.read(QUERIES, key) for key in keys}
    removed = {key: ctx.read(DUPLICATES, key) for key in keys}
    found = await ctx.offload(diversity_of, tasks, contracts, removed, ctx.splits.holdout_domains)
    ctx.write(DIVERSITY, "diversity", found)


@step(
    each=BLUEPRINTS,
    fused=CONTRACTS,
    reads=[
        DOMAIN_TOPICS,
        BLUEPRINTS,
        CONTRACTS,
        MEDIATIONS,
        TOOL_LISTS,
        DATABASE,
        POLICIES,
        TEMPLATES,
        LACKING,
        VALIDATED,
        FALLEN,
    ],
    writes=[QUERIES, RULES, DUPLICATES, STEP_TRUTH],
    params=InstantiationParams,
    questions=[TELL],
    join=report,
    join_writes=[DIVERSITY],
)
async def task_instantiation(ctx: Context[InstantiationParams], key: str) -> None:
    blueprint = contract_of(ctx)
    world = World(blueprint, ctx.path(DATABASE), now=ctx.now)
    assembly = Assembly(world, [ctx.read(DOMAIN_TOPICS, server) for server in servers_of(blueprint)])
    usable = set(Policy(world=key, text=ctx.read(POLICIES)).tools) & {name_of(tool) for tool in ctx.read(TOOL_LISTS)}
    templates = {template.id: template for template in ctx.read(TEMPLATES)}
    splits = splits_of(templates.values(), servers_of(blueprint), ctx.splits, str(ctx.seed))

    async def tell(validated: ValidatedTask) -> Task | None:
        combination = validated.combination
        if not {call.tool for call in combination.calls} - SESSION_TOOLS <= usable:
            ctx.reject(combination.id, "a golden tool is not offered, or not in the policy")
            return None
        template, random = templates[combination.template], ctx.random(combination.id)
        persona = persona_of(assembly.person(combination.caller), ctx.now, random)
        request = request_of(blueprint, template, combination, persona, random)
        try:
            telling = await ctx.ask(
                TELL,
                key=combination.id,
                server=key,
                blueprint=blueprint,
                request=request,
                check=lambda answer: telling_faults(answer, request, combination),
            )
        except AuthorError as error:
            ctx.reject(f"{combination.id}: {error}", "no words for it")
            return None
        task = assembly.task(validated, request, telling, splits[template.id])
        drawn = ctx.random(combination.id, "noise")
        return with_noise(ctx, world, task, drawn) if drawn.random() < ctx.params.noise else task

    told = await asyncio.gather(*(tell(validated) for validated in ctx.read(VALIDATED)))
    families = {name: family_of(template) for name, template in templates.items()}
    tasks = apart(ctx, key, [task for task in told if task], families)
    for task in tasks:
        ctx.count(f"{task.kind} tasks")
        ctx.count(f"{task.split} tasks")
    ctx.write(QUERIES, key, tasks)
    lacking = [*ctx.read(LACKING), *([] if is_fused(ctx) else ctx.read(FALLEN))]
    rules = await ctx.offload(rules_of, blueprint, ctx.path(DATABASE), ctx.now, tasks, [*templates.values()], lacking)
    ctx.count("rules", len(rules))
    ctx.count("rules kept and broken", sum(rule.why is None for rule in rules))
    ctx.write(RULES, key, rules)
    if ctx.params.step_truth:
        known = ctx.read(VALIDATED)
        ctx.write(
            STEP_TRUTH, key, await ctx.offload(truths, blueprint, ctx.path(DATABASE), ctx.now, known, tasks, BOUNDS)
        )


def with_noise(ctx: Context[InstantiationParams], world: World, task: Task, random: Random) -> Task:
    """The task with faults planted in it; as it is where none can be, or the golden calls do not come through."""
    if task.kind not in KINDS:
        return task
    try:
        planted = noisy(world, task, random)
    except Rejected as rejected:
        ctx.count(f"left without noise: {rejected.reason}")
        return task
    ctx.count("tasks with planted faults")
    return planted


def apart(
    ctx: Context[InstantiationParams], key: str, tasks: Sequence[Task], families: Mapping[str, str]
) -> list[Task]:
    """The tasks, by id, without those that repeat others or are in a split where they may not be."""
    decided = [task for task in tasks if not (task.split == "test" and is_undecided(task))]
    for task in tasks:
        if task.split == "test" and is_undecided(task):
            ctx.reject(task.id, "in test, and undecided whether its outcome is unique")
    kept = without_duplicates(decided, families)
    for task, repeat in kept.removed:
        ctx.reject(task.id, REASONS[repeat])
    ctx.write(DUPLICATES, key, kept.duplicates)
    return kept.tasks

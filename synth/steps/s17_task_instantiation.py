"""s17: put every validated task into words, and write it down whole.

A persona is drawn, the author tells the task in that person's manner, several tasks in one answer, and what was told is
checked: every figure that the person knows is said where it is marked as said, and nothing that nobody knows. A task
whose words stay faulty is left out alone; so is what repeats other tasks, or would be in two splits.
"""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.combination import Combination, Telling, UserRequest, ValidatedTask
from skillweave.schema.contract import Policy
from skillweave.schema.task import Task
from skillweave.user_prompt import day_in_words
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
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.planner.problem import DEFAULT_BOUNDS
from synth.planner.solutions import step_truths
from synth.questions.partial import ask_partial
from synth.reports.diversity import diversity_of
from synth.reports.duplicates import REASONS, is_undecided, without_duplicates
from synth.reports.rule_coverage import rules_of
from synth.steps.item_world import contract_of, is_fused, servers_of
from synth.tasks.assembly import TaskAssembler, persona_of
from synth.tasks.noise import NOISY_KINDS, with_planted_faults
from synth.tasks.replay import Rejected
from synth.tasks.requests import request_of
from synth.tasks.splits import family_of, splits_of
from synth.tasks.tellings import BATCH_SIZE, UntoldTask, batch_faults, numbered_tasks, telling_batches, untold_task

TELL = question("tasks.tell", returns=list[Telling], under="tellings", most=BATCH_SIZE)
NO_WORDS = "no words for it"
"""Why a task is left out."""


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
    assembly = TaskAssembler(world, [ctx.read(DOMAIN_TOPICS, server) for server in servers_of(blueprint)])
    usable = set(Policy(world=key, text=ctx.read(POLICIES)).tools) & {name_of(tool) for tool in ctx.read(TOOL_LISTS)}
    templates = {template.id: template for template in ctx.read(TEMPLATES)}
    splits = splits_of(templates.values(), servers_of(blueprint), ctx.splits, str(ctx.seed))

    def asked(combination: Combination) -> UntoldTask:
        template, random = templates[combination.template], ctx.random(combination.id)
        persona = persona_of(assembly.person(combination.caller), ctx.now, random)
        return untold_task(combination, request_of(blueprint, template, combination, persona, random), blueprint)

    def made(validated: ValidatedTask, request: UserRequest, telling: Telling) -> Task:
        name = validated.combination.id
        task = assembly.task(validated, request, telling, splits[validated.combination.template])
        drawn = ctx.random(name, "noise")
        return with_noise(ctx, world, task, drawn) if drawn.random() < ctx.params.noise else task

    kept: dict[str, ValidatedTask] = {}
    for validated in ctx.read(VALIDATED):
        if {call.tool for call in validated.combination.calls} - SESSION_TOOLS <= usable:
            kept[validated.combination.id] = validated
        else:
            ctx.reject(validated.combination.id, "a golden tool is not offered, or not in the policy")
    requests = {name: asked(validated.combination) for name, validated in kept.items()}
    tellings = await asyncio.gather(
        *(tellings_of(ctx, blueprint, batch) for batch in telling_batches([*requests.values()]))
    )
    words = {name: telling for batch in tellings for name, telling in batch.items()}
    families = {name: family_of(template) for name, template in templates.items()}
    told = [made(kept[name], requests[name].request, words[name]) for name in kept if name in words]
    tasks = apart(ctx, key, told, families)
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
            STEP_TRUTH,
            key,
            await ctx.offload(step_truths, blueprint, ctx.path(DATABASE), ctx.now, known, tasks, DEFAULT_BOUNDS),
        )


async def tellings_of(
    ctx: Context[InstantiationParams], blueprint: Blueprint, tasks: Sequence[UntoldTask]
) -> dict[str, Telling]:
    """Combination -> its words, asked for in one question. Where there is no answer at all, each half is asked for by
    itself: what one task was refused for is not laid on the others."""
    asked, first = numbered_tasks(tasks), tasks[0].combination.id
    try:
        told = await ask_partial(
            ctx,
            TELL,
            lambda answer: batch_faults(answer, asked),
            NO_WORDS,
            name=lambda telling: telling.id,
            wanted=list(asked),
            key=f"{first}+{len(tasks) - 1}" if tasks[1:] else first,
            server=ctx.key,
            blueprint=blueprint,
            today=day_in_words(ctx.now),
            tasks=list(tasks),
        )
    except AuthorError as error:
        if not tasks[1:]:
            ctx.reject(f"{first}: {error}", NO_WORDS)
            return {}
        middle = len(tasks) // 2
        halves = [await tellings_of(ctx, blueprint, half) for half in (tasks[:middle], tasks[middle:])]
        return {name: telling for half in halves for name, telling in half.items()}
    return {asked[telling.id].combination.id: telling for telling in told}


def with_noise(ctx: Context[InstantiationParams], world: World, task: Task, random: Random) -> Task:
    """The task with faults planted in it; as it is where none can be, or the golden calls do not come through."""
    if task.kind not in NOISY_KINDS:
        return task
    try:
        planted = with_planted_faults(world, task, random)
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

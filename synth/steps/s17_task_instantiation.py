"""s17: put every validated task into words, and write it down whole.

A persona is drawn, the author tells the task in that person's manner, and what was told is checked: every figure that
the person knows is said where it is marked as said, and nothing that nobody knows.
"""

import asyncio
from random import Random

from pydantic import Field

from skillweave.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.combination import ValidatedTask
from skillweave.schema.policy import Policy
from skillweave.schema.task import Split, Task
from skillweave.schema.telling import Telling
from skillweave.schema.template import TaskTemplate
from skillweave.world.tools import name_of
from skillweave.world.world import World
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    DOMAIN_TOPICS,
    MEDIATIONS,
    POLICIES,
    QUERIES,
    TEMPLATES,
    TOOL_LISTS,
    VALIDATED,
)
from synth.context import Context
from synth.fusion.contract import contract_of, servers_of
from synth.step import Params, step
from synth.tasks.assemble import Assembly
from synth.tasks.persona import persona_of
from synth.tasks.request import request_of
from synth.tasks.telling_check import telling_faults

TELL = question("tasks.tell", returns=Telling)


class InstantiationParams(Params):
    validation: float = Field(default=0.1, ge=0, le=1)
    """Share of the templates whose tasks are for validation."""
    test: float = Field(default=0.1, ge=0, le=1)
    """Share of the templates whose tasks are for testing."""


@step(
    each=BLUEPRINTS,
    fused=CONTRACTS,
    reads=[DOMAIN_TOPICS, BLUEPRINTS, CONTRACTS, MEDIATIONS, TOOL_LISTS, DATABASE, POLICIES, TEMPLATES, VALIDATED],
    writes=[QUERIES],
    params=InstantiationParams,
    questions=[TELL],
)
async def task_instantiation(ctx: Context[InstantiationParams], key: str) -> None:
    blueprint = contract_of(ctx)
    world = World(blueprint, ctx.path(DATABASE), now=ctx.now)
    assembly = Assembly(world, [ctx.read(DOMAIN_TOPICS, server) for server in servers_of(blueprint)])
    usable = set(Policy(world=key, text=ctx.read(POLICIES)).tools) & {name_of(tool) for tool in ctx.read(TOOL_LISTS)}
    templates = {template.id: template for template in ctx.read(TEMPLATES)}

    async def tell(validated: ValidatedTask) -> Task | None:
        combination = validated.combination
        if not {call.tool for call in combination.golden} <= usable:
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
        split = split_of(template, ctx.params, ctx.random(template.id, "split"))
        return assembly.task(validated, request, telling, split)

    told = await asyncio.gather(*(tell(validated) for validated in ctx.read(VALIDATED)))
    tasks = sorted((task for task in told if task), key=lambda task: task.id)
    for task in tasks:
        ctx.count(f"{task.kind} tasks")
        ctx.count(f"{task.split} tasks")
    ctx.write(QUERIES, key, tasks)


def split_of(template: TaskTemplate, params: InstantiationParams, random: Random) -> Split:
    """The split of all tasks of a template: no template is in two."""
    drawn = random.random()
    if drawn < params.test:
        return "test"
    return "validation" if drawn < params.test + params.validation else "train"

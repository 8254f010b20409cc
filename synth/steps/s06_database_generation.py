"""s06: fill each world's database: reference rows by a generator, all else by persons who use the tools.

The coding author writes the generator, the sandbox runs it, and its rows are checked. Then several histories are lived
through, and the one that lets most of the contract happen is kept. Tools that nobody could use in any of them are named
to the generator's author; guards that are left unmet are recorded as such.
"""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.sandbox.strength import strength
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.world import World
from synth.artifacts import BLUEPRINTS, DATABASE, ENTITY_ROWS, GENERATORS, RELATIONSHIP_ROWS, SUMMARIES
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.search.blocking_rules import why_nobody_can
from synth.simulation.build import HistoryResult, close_gaps, fullest, simulate_history
from synth.simulation.generation import filled_tables, people_of, run_generator, state_of
from synth.simulation.history import HistoryPlan

GENERATOR = question("database.generator", returns=str, role="coding", form="code")


class DatabaseParams(Params):
    visits: int = Field(default=1000, ge=0)
    """Visits of a history, each of one person who makes one to three requests."""
    days: int = Field(default=60, ge=1)
    """How far back a history goes."""
    histories: int = Field(default=2, ge=1)
    """Histories to choose from."""


async def population_map(ctx: Context[DatabaseParams], keys: list[str]) -> None:
    """One file for each shared person: everybody, and the role that they have in each world."""
    by_person: dict[str, list[Blueprint]] = {}
    for server in keys:
        blueprint = ctx.read(BLUEPRINTS, server)
        by_person.setdefault(blueprint.core.role_of or blueprint.core_entity, []).append(blueprint)
    for person, blueprints in by_person.items():
        rows: dict[str, Row] = {}
        for blueprint in blueprints:
            for number, row in enumerate(people_of(blueprint, ctx.seed, ctx.now), start=1):
                known = rows.setdefault(str(row["person_id"]), dict(row))
                known[blueprint.server] = f"{blueprint.core.prefix}-{number:04d}"
        columns = ["person_id", "full_name", *sorted(blueprint.server for blueprint in blueprints)]
        ordered = [{**row, **{column: row.get(column) for column in columns}} for _, row in sorted(rows.items())]
        ctx.write(ENTITY_ROWS, person, ordered)


@step(
    each=BLUEPRINTS,
    reads=[BLUEPRINTS],
    writes=[DATABASE, GENERATORS, ENTITY_ROWS, RELATIONSHIP_ROWS, SUMMARIES],
    params=DatabaseParams,
    questions=[GENERATOR],
    join=population_map,
    join_writes=[ENTITY_ROWS],
)
async def database_generation(ctx: Context[DatabaseParams], key: str) -> None:
    blueprint = ctx.read(BLUEPRINTS)
    script, built = await _generate(ctx, blueprint)
    summary = built.summary
    if summary is None or summary.coverage.unsound:
        raise _defective(key, [built.fault] if summary is None else summary.coverage.unsound)
    state = state_of(built.rows, blueprint)
    with ctx.write_path(DATABASE, key) as path:
        database.save(state, blueprint, path)
    ctx.write(GENERATORS, key, script)
    ctx.write(SUMMARIES, key, summary)
    for entity in blueprint.entities:
        ctx.write(ENTITY_ROWS, f"{key}__{entity.name}", built.rows[entity.table])
    for entity in blueprint.relationships:
        ctx.write(RELATIONSHIP_ROWS, f"{key}/{entity.name}", built.rows[entity.table])
    ctx.count("rows", sum(summary.rows.values()))
    ctx.count("guards met", summary.coverage.guards_first_broken)
    ctx.count("guards unmet", len(summary.coverage.unmet))


async def _generate(ctx: Context[DatabaseParams], blueprint: Blueprint) -> tuple[str, HistoryResult]:
    """The generator, and what came of its rows: a world in which every tool can be used, or one that is defective."""
    lived: dict[str, HistoryResult] = {}
    ctx.log(f"sandbox strength: {strength()}")

    async def faults(script: str) -> Sequence[str]:
        rows, found = await asyncio.to_thread(run_generator, script, blueprint, ctx.seed, ctx.now, ctx.sandbox)
        if found:
            return found
        if script not in lived:
            lived[script] = await _live(ctx, blueprint, rows)
        return await ctx.offload(idle_tools, blueprint, lived[script], ctx.now)

    try:
        script = await ctx.ask(
            GENERATOR,
            blueprint=blueprint,
            filled=filled_tables(blueprint),
            shared=[attribute.name for attribute in blueprint.core.attributes if attribute.shared],
            check=faults,
        )
    except AuthorError:
        if not lived:
            raise
        # The rows were sound, and still nobody could use a tool.
        raise _defective(ctx.key, idle_tools(blueprint, [*lived.values()][-1], ctx.now)) from None
    return script, lived[script]


def idle_tools(blueprint: Blueprint, built: HistoryResult, now: str) -> list[str]:
    """The tools that nobody could use, in words for the author of the rows. Other defects are not theirs to mend."""
    if built.summary is None or not built.summary.coverage.failing_tools:
        return []
    world = World(blueprint, state_of(built.rows, blueprint), now=now)
    return [
        f"people lived with these rows, and {why_nobody_can(world, blueprint.tool(name), Random(name))}; give rows "
        "with which several persons can"
        for name in built.summary.coverage.failing_tools
    ]


async def _live(ctx: Context[DatabaseParams], blueprint: Blueprint, rows: Mapping[str, Sequence[Row]]) -> HistoryResult:
    plan = HistoryPlan(visits=ctx.params.visits, days=ctx.params.days)
    seeds = [f"{ctx.seed}/{blueprint.server}/{number}" for number in range(ctx.params.histories)]
    histories = await asyncio.gather(
        *(ctx.offload(simulate_history, blueprint, rows, ctx.now, plan, seed) for seed in seeds)
    )
    broken = next((built for built in histories if built.fault), None)
    if broken is not None:
        return broken
    return await ctx.offload(close_gaps, blueprint, fullest(histories), ctx.now, f"{ctx.seed}/{blueprint.server}")


def _defective(world: str, found: Sequence[str]) -> AuthorError:
    """What was found by living in a world is to be mended in its blueprint."""
    message = f"the blueprint of {world} does not hold when people live by it: {'; '.join(found)}"
    return AuthorError(message, reasons=tuple(found), lies_in="s04_blueprint_generation")

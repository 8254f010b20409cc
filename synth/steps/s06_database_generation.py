"""s06: fill each world's database: first rows by a generator, all other rows by simulated persons who use the tools.

The coding author writes the generator, the sandbox runs it, and its rows are checked. Then a history is simulated, and
further ones while some tool succeeds in none; the one that lets most of the contract happen is kept. If nobody can use
a tool, its name goes back to the generator's author. Guards that nothing breaks are recorded as unmet.
"""

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.sandbox.strength import strength
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Row
from skillweave.world import database
from synth.artifacts import BLUEPRINTS, DATABASE, ENTITY_ROWS, GENERATORS, RELATIONSHIP_ROWS, SUMMARIES
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.simulation.build import HistoryResult, close_gaps, fullest, simulate_history, unusable_tools
from synth.simulation.generation import filled_tables, person_tables, run_generator, state_of
from synth.simulation.history import HistoryPlan

GENERATOR = question("database.generator", returns=str, role="coding", form="code")


class DatabaseParams(Params):
    visits: int = Field(default=1000, ge=0)
    """Visits of a history, each of one person who makes one to three requests."""
    days: int = Field(default=60, ge=1)
    """How far back a history goes."""
    histories: int = Field(default=2, ge=1)
    """Most histories to choose from; none follows one in which every tool succeeds."""


async def population_map(ctx: Context[DatabaseParams], keys: list[str]) -> None:
    """Write one file for each shared person: everybody, with their key in each world."""
    blueprints = [ctx.read(BLUEPRINTS, server) for server in keys]
    for person, rows in person_tables(blueprints, ctx.seed, ctx.now).items():
        ctx.write(ENTITY_ROWS, person, rows)


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
    script, history = await _generate(ctx, blueprint)
    summary = history.summary
    if summary is None or summary.coverage.unsound:
        raise _defective(key, [history.fault] if summary is None else summary.coverage.unsound)
    state = state_of(history.rows, blueprint)
    with ctx.write_path(DATABASE, key) as path:
        database.save(state, blueprint, path)
    ctx.write(GENERATORS, key, script)
    ctx.write(SUMMARIES, key, summary)
    for entity in blueprint.entities:
        ctx.write(ENTITY_ROWS, f"{key}__{entity.name}", history.rows[entity.table])
    for entity in blueprint.relationships:
        ctx.write(RELATIONSHIP_ROWS, f"{key}/{entity.name}", history.rows[entity.table])
    ctx.count("rows", sum(summary.rows.values()))
    ctx.count("guards met", summary.coverage.guards_first_broken)
    ctx.count("guards unmet", len(summary.coverage.unmet))


async def _generate(ctx: Context[DatabaseParams], blueprint: Blueprint) -> tuple[str, HistoryResult]:
    """The generator's script, and the history that begins with its rows, in which every tool can be used."""
    histories: dict[str, HistoryResult] = {}
    ctx.log(f"sandbox strength: {strength()}")

    async def check(script: str) -> Sequence[str]:
        rows, faults = await asyncio.to_thread(run_generator, script, blueprint, ctx.seed, ctx.now, ctx.sandbox)
        if faults:
            return faults
        if script not in histories:
            histories[script] = await _simulated(ctx, blueprint, rows)
        return await ctx.offload(unusable_tools, blueprint, histories[script], ctx.now)

    try:
        script = await ctx.ask(
            GENERATOR,
            blueprint=blueprint,
            filled=filled_tables(blueprint),
            shared=[attribute.name for attribute in blueprint.core.attributes if attribute.shared],
            check=check,
        )
    except AuthorError:
        if not histories:
            raise
        # The rows were sound, and still nobody could use a tool: the fault is the blueprint's.
        raise _defective(ctx.key, unusable_tools(blueprint, [*histories.values()][-1], ctx.now)) from None
    return script, histories[script]


async def _simulated(
    ctx: Context[DatabaseParams], blueprint: Blueprint, rows: Mapping[str, Sequence[Row]]
) -> HistoryResult:
    """The fullest history with its gaps closed; or the first in which the contract broke."""
    plan, seed = HistoryPlan(visits=ctx.params.visits, days=ctx.params.days), f"{ctx.seed}/{blueprint.server}"
    histories: list[HistoryResult] = []
    for number in range(ctx.params.histories):
        histories.append(await ctx.offload(simulate_history, blueprint, rows, ctx.now, plan, f"{seed}/{number}"))
        if (summary := histories[-1].summary) is None:
            return histories[-1]
        if not summary.coverage.failing_tools:
            break
    return await ctx.offload(close_gaps, blueprint, fullest(histories), ctx.now, seed)


def _defective(world: str, faults: Sequence[str]) -> AuthorError:
    message = f"the blueprint of {world} does not hold when people live by it: {'; '.join(faults)}"
    return AuthorError(message, reasons=tuple(faults), lies_in="s04_blueprint_generation")

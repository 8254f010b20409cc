"""s12: join the databases and contracts of a combination's domains into one world.

A shared person becomes one row for all domains; everything else stays with its domain, under a name of its own. That
each domain is unchanged in the new world is proven: statement by statement without data, and by calls of every tool.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from skillweave.base.errors import AuthorError, WorldError
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.fusion import StatementRewrite
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.world import World
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    DOMAIN_COMBINATIONS,
    ENTITY_ROWS,
    FUSIONS,
    RELATIONSHIP_ROWS,
    REWRITES,
    TOOL_GRAPHS,
)
from synth.engine.artifact import every
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.fusion.blueprint import fuse
from synth.fusion.links import fused_graph
from synth.fusion.persons import fused_state
from synth.fusion.replay import replay_differences
from synth.fusion.rewriting import prove_rewrites


class FusedWorld(NamedTuple):
    """A fused world, or why there is none."""

    contract: FusedBlueprint | None
    content: bytes
    """Its database, as a file holds it."""
    rows: dict[str, list[Row]]
    """By entity."""
    rewrites: list[StatementRewrite]
    fault: str


@step(
    each=DOMAIN_COMBINATIONS,
    reads=[FUSIONS, every(BLUEPRINTS), every(DATABASE), every(ENTITY_ROWS), every(TOOL_GRAPHS)],
    writes=[CONTRACTS, DATABASE, REWRITES, TOOL_GRAPHS, ENTITY_ROWS, RELATIONSHIP_ROWS],
    params=Params,
    mode="cross",
)
async def database_fusion(ctx: Context[Params], key: str) -> None:
    fusion = ctx.read(FUSIONS)
    if not fusion.storylines:
        return
    blueprints = [ctx.read(BLUEPRINTS, server) for server in fusion.domains]
    files = {server: ctx.path(DATABASE, server) for server in fusion.domains}
    people = ctx.read(ENTITY_ROWS, ctx.read(DOMAIN_COMBINATIONS).person)
    world = await ctx.offload(join_databases, blueprints, files, people, ctx.now, f"{ctx.seed}/{key}/goldens")
    if world.contract is None:
        raise AuthorError(world.fault)
    _write(ctx, world.contract, world)
    graphs = {server: ctx.read(TOOL_GRAPHS, server) for server in fusion.domains}
    ctx.write(TOOL_GRAPHS, key, fused_graph(world.contract, graphs))


def join_databases(
    blueprints: Sequence[Blueprint], files: Mapping[str, Path], people: Sequence[Row], now: str, seed: str
) -> FusedWorld:
    """Join the worlds of several domains, with the proofs that nothing has changed.

    Args:
        blueprints: The contracts of the domains.
        files: Their databases, by server.
        people: The shared persons, each with a column a server for their key there.
        now: The run's clock.
        seed: Of the calls that are compared.
    """
    try:
        contract = fuse(blueprints)
        rewrites = prove_rewrites(blueprints, contract)
        state = fused_state(contract, blueprints, files, people)
    except WorldError as error:
        return FusedWorld(None, b"", {}, [], str(error))
    fused = World(contract, state, now=now)
    for blueprint in blueprints:
        single = World(blueprint, files[blueprint.server], now=now)
        differences = replay_differences(single, fused, Random(f"{seed}/{blueprint.server}"))
        if differences:
            return FusedWorld(None, b"", {}, [], f"the fused world answers otherwise: {differences[0]}")
    rows = {entity.name: database.rows(state, entity) for entity in contract.tables}
    return FusedWorld(contract, fused.content, rows, rewrites, "")


def _write(ctx: Context[Params], contract: FusedBlueprint, world: FusedWorld) -> None:
    ctx.write(CONTRACTS, ctx.key, contract)
    ctx.write(REWRITES, ctx.key, world.rewrites)
    with ctx.write_path(DATABASE, ctx.key) as path:
        path.write_bytes(world.content)
    for entity in contract.entities:
        ctx.write(ENTITY_ROWS, f"{ctx.key}/{entity.name}", world.rows[entity.name])
    for entity in contract.relationships:
        ctx.write(RELATIONSHIP_ROWS, f"{ctx.key}/{entity.name}", world.rows[entity.name])
    ctx.count("statements proven", len(world.rewrites))
    for proof in sorted({rewrite.proof for rewrite in world.rewrites}):
        ctx.count(f"proof: {proof}", sum(rewrite.proof == proof for rewrite in world.rewrites))
    ctx.count("rows", sum(map(len, world.rows.values())))

"""s12: join the databases and contracts of a combination's domains into one world.

A shared person is one row for all of them; everything else keeps to its domain, under a name of its own. That each
domain is in the new world unchanged is proven: statement by statement, without data, and by calls of every tool.
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
    made = await ctx.offload(joined, blueprints, files, people, ctx.now, f"{ctx.seed}/{key}/goldens")
    if made.contract is None:
        raise AuthorError(made.fault)
    _write(ctx, made.contract, made)
    graphs = {server: ctx.read(TOOL_GRAPHS, server) for server in fusion.domains}
    ctx.write(TOOL_GRAPHS, key, fused_graph(made.contract, graphs))


def joined(
    blueprints: Sequence[Blueprint], files: Mapping[str, Path], people: Sequence[Row], now: str, seed: str
) -> FusedWorld:
    """The world of these domains, with its proofs. `files` are their databases, by server."""
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


def _write(ctx: Context[Params], contract: FusedBlueprint, made: FusedWorld) -> None:
    ctx.write(CONTRACTS, ctx.key, contract)
    ctx.write(REWRITES, ctx.key, made.rewrites)
    with ctx.write_path(DATABASE, ctx.key) as path:
        path.write_bytes(made.content)
    for entity in contract.entities:
        ctx.write(ENTITY_ROWS, f"{ctx.key}/{entity.name}", made.rows[entity.name])
    for entity in contract.relationships:
        ctx.write(RELATIONSHIP_ROWS, f"{ctx.key}/{entity.name}", made.rows[entity.name])
    ctx.count("statements proven", len(made.rewrites))
    for proof in sorted({rewrite.proof for rewrite in made.rewrites}):
        ctx.count(f"proof: {proof}", sum(rewrite.proof == proof for rewrite in made.rewrites))
    ctx.count("rows", sum(map(len, made.rows.values())))

"""The contract of an item's world: of a single domain, or of domains that are joined, with their bridge rules."""

from typing import TypeVar

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedBlueprint
from synth.artifacts import BLUEPRINTS, CONTRACTS, MEDIATIONS
from synth.context import Context
from synth.step import Params

P = TypeVar("P", bound=Params)


def is_fused(ctx: Context[P]) -> bool:
    """Whether the item's key is that of a fused world."""
    return ctx.key in ctx.keys(CONTRACTS)


def fused_contract(ctx: Context[P]) -> FusedBlueprint:
    """The contract of the item's fused world, its bridge rules among the guards."""
    return ctx.read(CONTRACTS).with_bridges(ctx.read(MEDIATIONS).bridges)


def contract_of(ctx: Context[P]) -> Blueprint:
    """The contract of the item's world; the step declares that it reads BLUEPRINTS, CONTRACTS and MEDIATIONS."""
    return fused_contract(ctx) if is_fused(ctx) else ctx.read(BLUEPRINTS)


def servers_of(blueprint: Blueprint) -> list[str]:
    """The single-domain worlds that a world is made of."""
    return (
        [member.server for member in blueprint.members] if isinstance(blueprint, FusedBlueprint) else [blueprint.server]
    )

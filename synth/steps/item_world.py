"""The world of a step's item: a single domain's, or a fused one with its bridge rules.

Each function reads from the item's context; the step declares the artifacts that it names.
"""

from typing import TypeVar

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from synth.artifacts import BLUEPRINTS, CONTRACTS, MEDIATIONS
from synth.engine.context import Context
from synth.engine.step import Params

P = TypeVar("P", bound=Params)


def is_fused(ctx: Context[P]) -> bool:
    """Whether the item's key is that of a fused world. Lists CONTRACTS."""
    return ctx.key in ctx.keys(CONTRACTS)


def fused_contract(ctx: Context[P]) -> FusedBlueprint:
    """The contract of the item's fused world, with its bridge rules among the guards. Reads CONTRACTS, MEDIATIONS."""
    return ctx.read(CONTRACTS).with_bridges(ctx.read(MEDIATIONS).bridges)


def contract_of(ctx: Context[P]) -> Blueprint:
    """The contract of the item's world. Reads BLUEPRINTS, CONTRACTS and MEDIATIONS."""
    return fused_contract(ctx) if is_fused(ctx) else ctx.read(BLUEPRINTS)


def servers_of(blueprint: Blueprint) -> list[str]:
    """The single-domain servers that a world is made of; of a single domain, its own."""
    if isinstance(blueprint, FusedBlueprint):
        return [member.server for member in blueprint.members]
    return [blueprint.server]

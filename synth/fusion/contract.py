"""The contract of an item's world, of one domain or of several joined, and the tool graph of joined domains."""

from collections.abc import Mapping
from typing import TypeVar

from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedMember
from skillweave.schema.template import ToolEdge, ToolGraph
from synth.artifacts import BLUEPRINTS, CONTRACTS, MEDIATIONS
from synth.contracts.dependencies import auth_edges
from synth.engine.context import Context
from synth.engine.step import Params

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


def fused_graph(fused: FusedBlueprint, graphs: Mapping[str, ToolGraph]) -> ToolGraph:
    """The graph of the whole world; `graphs` are by server."""
    own = [
        _renamed(edge, member)
        for member in fused.members
        for edge in graphs[member.server].edges
        if edge.kind != "auth"
    ]
    return ToolGraph(
        server=fused.server,
        tools=[tool.name for tool in fused.tools],
        edges=[*auth_edges(fused), *own],
    )


def _renamed(edge: ToolEdge, member: FusedMember) -> ToolEdge:
    return edge.model_copy(
        update={
            "source": member.tools[edge.source],
            "target": member.tools[edge.target],
            "rule": member.rules[edge.rule] if edge.rule is not None else None,
        }
    )

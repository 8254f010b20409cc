"""The tool graph of a fused world: the domains' graphs under the names that their tools have now.

Anybody's tool that signs in does so for all. Other edges stay within their domain: no parameter refers to another
domain's rows.
"""

from collections.abc import Mapping

from skillweave.schema.fused import FusedBlueprint, Member
from skillweave.schema.tool_graph import ToolEdge, ToolGraph
from synth.graph.edges import auth_edges


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


def _renamed(edge: ToolEdge, member: Member) -> ToolEdge:
    return edge.model_copy(
        update={
            "source": member.tools[edge.source],
            "target": member.tools[edge.target],
            "rule": member.rules[edge.rule] if edge.rule is not None else None,
        }
    )

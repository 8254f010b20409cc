"""The tool graph of a fused world."""

from skillweave.schema.template import ToolEdge, ToolGraph
from synth.fusion.blueprint import fuse
from synth.fusion.links import fused_graph
from tests.fusion.libraries import library

BOTH = [library("Vet"), library("VetClinic")]


def _graph(server: str) -> ToolGraph:
    edges = [
        ToolEdge(source="sign_in", target="renew_loan", kind="auth"),
        ToolEdge(source="list_loans", target="renew_loan", kind="data", parameter="loan_id", column="loan_id"),
        ToolEdge(source="change_phone", target="renew_loan", kind="state", rule="R2"),
    ]
    return ToolGraph(server=server, tools=[tool.name for tool in BOTH[0].tools], edges=edges)


def test_edges_have_the_names_and_rules_of_the_fused_world() -> None:
    fused = fuse(BOTH)
    graph = fused_graph(fused, {one.server: _graph(one.server) for one in BOTH})
    member = fused.member("VetClinic")
    own = [edge for edge in graph.edges if edge.target == "vet_clinic__renew_loan" and edge.kind != "auth"]
    assert [(edge.source, edge.column, edge.rule) for edge in own] == [
        ("vet_clinic__list_loans", "loan_id", None),
        ("vet_clinic__change_phone", None, member.rules["R2"]),
    ]
    assert set(graph.tools) == {tool.name for tool in fused.tools}


def test_any_tool_that_signs_in_does_so_for_all() -> None:
    graph = fused_graph(fuse(BOTH), {one.server: _graph(one.server) for one in BOTH})
    signing_in = {edge.source for edge in graph.edges if edge.kind == "auth" and edge.target == "vet__renew_loan"}
    assert signing_in == {"vet__sign_in", "vet_clinic__sign_in"}


def test_no_edge_of_data_or_state_crosses_domains() -> None:
    fused = fuse(BOTH)
    graph = fused_graph(fused, {one.server: _graph(one.server) for one in BOTH})
    for edge in graph.edges:
        if edge.kind != "auth":
            assert fused.member_of(edge.source) == fused.member_of(edge.target)

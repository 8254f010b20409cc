"""The generated server of a fused world against its contract."""

import ast
from dataclasses import replace

import pytest

from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.contract import Call
from skillweave.schema.fusion import BridgeProof
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from synth.offline.coding.server import write_server
from synth.servers.cases import ServerCase, observe
from synth.servers.skeleton import static_faults
from synth.servers.suite import DifferentialSuite, prepare_suite, run_suite
from tests.fusion.awkward import READS, WRITES
from tests.fusion.libraries import NOW, fused_world, library
from tests.servers.fused import BOTH, FINED, ONLY_NORTH, two_libraries
from tests.servers.mutants import mutants


@pytest.fixture(scope="module")
def made() -> tuple[FusedBlueprint, World]:
    return two_libraries()


@pytest.fixture(scope="module")
def joint(made: tuple[FusedBlueprint, World]) -> DifferentialSuite:
    return prepare_suite(made[0], made[1].content, NOW, "7")


@pytest.fixture(scope="module")
def source(made: tuple[FusedBlueprint, World]) -> str:
    return write_server(made[0], NOW)


def answers(proof: DifferentialSuite) -> list[tuple[ServerCase, Call, str]]:
    """Case, call and what it answered: `ok` or the error's code."""
    return [
        (case, call, "ok" if answer["ok"] else str(answer["error"]["code"]))  # type: ignore[index,call-overload]
        for case, seen in zip(proof.expected.cases, proof.expected.observed, strict=True)
        for call, answer in zip(case.calls, seen.answers, strict=True)
    ]


def test_the_server_is_its_contract(made: tuple[FusedBlueprint, World], joint: DifferentialSuite, source: str) -> None:
    assert static_faults(source, made[0]) == []
    assert run_suite(joint, source) == []


def test_every_tool_and_every_rule_is_reached(joint: DifferentialSuite) -> None:
    assert (joint.tools_unmet, joint.guards_unmet) == ((), ())


def test_cases_mix_domains_accounts_and_sign_ins(joint: DifferentialSuite) -> None:
    seen = answers(joint)
    assert {"no_account_here", "already_authenticated", "fined_in_the_south"} <= {code for _, _, code in seen}
    strangers = {call.tool for case, call, code in seen if case.caller == ONLY_NORTH and code == "no_account_here"}
    assert strangers >= {"south__list_loans", "south__change_phone", "south__mark_copy"}
    in_both = [case for case in joint.expected.cases if len({call.tool.partition("__")[0] for call in case.calls}) > 1]
    assert len(in_both) > 30
    signed_in = [
        case.calls[0].tool
        for case, seen in zip(joint.expected.cases, joint.expected.observed, strict=True)
        if case.caller is None and len(case.calls) > 2 and seen.answers[0]["ok"] and seen.answers[-1]["ok"]  # type: ignore[index,call-overload]
    ]
    assert {"north__sign_in", "south__sign_in"} <= set(signed_in)


def test_the_agents_bridge_rule_is_broken_by_a_call_that_goes_through(
    made: tuple[FusedBlueprint, World], joint: DifferentialSuite, source: str
) -> None:
    refusing = source.replace(
        'copy = db.one("SELECT status FROM South__Copy',
        'if not db.exists("SELECT 1 FROM North__Loan AS l JOIN Person AS p ON p.North = l.member_id '
        'WHERE p.person_id = :person AND l.due_on > date(:now)"):\n'
        '        raise Refused("no_loan_in_the_north", "x", rule="B2")\n'
        '    copy = db.one("SELECT status FROM South__Copy',
    )
    assert refusing != source
    assert any("south__mark_copy" in told.tools for told in run_suite(joint, refusing))
    docstring = next(
        ast.get_docstring(node) or ""
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == "south__mark_copy"
    )
    assert "- B2: A copy is marked only for somebody who has a loan in the North." in docstring


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('@server.tool("write", member="south")', '@server.tool("write", member="north")'),
        ('@server.tool("read", member="south")', '@server.tool("read")'),
        ('@server.tool("auth", member="south")', '@server.tool("auth", member="north")'),
        ('db.sign_in(reader["reader_id"])', "pass"),
        ('"The South Library",\n', '"The North Library",\n'),
        ("WHERE p.person_id = :person", "WHERE p.South = :caller"),
        ("    UPDATE South__Reader__person\n", "    UPDATE North__Member__person\n"),
        ("FROM South__Reader__person AS reader WHERE reader_id", "FROM South__Reader__person AS reader WHERE points"),
    ],
)
def test_a_mistake_between_domains_is_found(joint: DifferentialSuite, source: str, right: str, wrong: str) -> None:
    assert right in source
    assert run_suite(joint, source.replace(right, wrong)) != []


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_a_dropped_refusal_is_found(joint: DifferentialSuite, source: str, every: int) -> None:
    planted = [*mutants(source, ("dropped",))]
    assert len(planted) == 9
    planted = planted[::every]
    assert [(one.tool, one.was) for one in planted if not run_suite(joint, one.source)] == []


def test_awkward_statements_are_served_as_the_contract_has_them() -> None:
    libraries = [library("North", reads=READS, writes=WRITES), library("South")]
    fused = fuse(libraries)
    world = fused_world(fused, libraries)
    proof = prepare_suite(fused, world.content, NOW, "7")
    assert proof.tools_unmet == ()
    # One success of each is enough here.
    pairs = zip(proof.expected.cases, proof.expected.observed, strict=True)
    few = [pair for pair in pairs if pair[0].about.endswith("succeeds") or len(pair[0].calls) > 1]
    expected = replace(proof.expected, cases=tuple(c for c, _ in few), observed=tuple(o for _, o in few))
    assert run_suite(replace(proof, expected=expected), write_server(fused, NOW)) == []


def test_proofs_of_bridge_rules_become_cases(made: tuple[FusedBlueprint, World]) -> None:
    fused, world = made
    call = {"tool": "north__renew_loan", "arguments": {"loan_id": "LOA-0031"}}
    proof = BridgeProof(
        rule="B1",
        met={"person": BOTH, **call, "before": [{"tool": "north__change_phone", "arguments": {"phone": "+9"}}]},
        broken={"person": FINED, "tool": call["tool"], "arguments": {"loan_id": "LOA-0021"}, "before": []},
    )
    cases = prepare_suite(fused, world.content, NOW, "7", (proof,)).expected.cases
    met, broken = (next(one for one in cases if one.about == f"bridge rule B1 {word}") for word in ("met", "broken"))
    assert [one.tool for one in met.calls] == ["north__change_phone", "north__renew_loan"]
    seen = [observe(world, case) for case in (met, broken)]
    assert [one.answers[-1]["ok"] for one in seen if one] == [True, False]  # type: ignore[index,call-overload]


def test_enumerations_of_the_same_values_keep_their_own_order() -> None:
    libraries = [
        library("North", statuses=("lent", "here", "lost")),
        library("South", statuses=("lost", "lent", "here")),
    ]
    fused = fuse(libraries)
    proof = prepare_suite(fused, fused_world(fused, libraries).content, NOW, "7")
    assert run_suite(proof, write_server(fused, NOW)) == []

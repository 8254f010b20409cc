"""Servers of single worlds, carried over into a joined world: as their author writes them, and as others might."""

import asyncio
from functools import cache
from pathlib import Path

import pytest

from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.contract import KeyCall
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from synth.fusion.bridge_proof import proof_of, prove_bridges
from synth.fusion.carrying import carried_server
from synth.offline.coding.server import write_server
from synth.servers.skeleton import static_faults
from synth.servers.suite import CarriedTools, DifferentialSuite, prepare_suite, run_suite
from synth.servers.writing import CarriedSource, same_functions, written_server
from tests.fusion.libraries import NOW, fused_world, library, single_worlds
from tests.servers.fused import BRIDGES
from tests.servers.mutants import mutants
from tests.servers.test_step import Coder, a_context

LIBRARIES = (library("North"), library("South", core="Reader", key="reader_id", statuses=("lent", "here", "lost")))
OWN_LOAN = """    loan = db.one("SELECT member_id FROM loan WHERE loan_id = :loan_id", loan_id=loan_id)
    if loan is None or loan["member_id"] != db.caller:
        raise Refused("not_your_loan", "not_your_loan must not be.", rule="R2")
"""
LONGER = (
    """db.run("UPDATE loan SET due_on = date(loan.due_on, '+7 days') WHERE loan.loan_id = :loan_id", loan_id=loan_id)"""
)


@cache
def joint() -> FusedBlueprint:
    return fuse(LIBRARIES).with_bridges(BRIDGES[:1])


@cache
def joint_world() -> World:
    return World(joint(), fused_world(fuse(LIBRARIES), LIBRARIES).content, now=NOW)


@cache
def key_calls() -> dict[str, list[KeyCall]]:
    worlds = single_worlds(LIBRARIES)
    suites = {name: prepare_suite(one.blueprint, one.content, NOW, "7") for name, one in worlds.items()}
    return {name: list(suite.key_calls) for name, suite in suites.items()}


@cache
def suite() -> DifferentialSuite:
    """Of the joined world, where all tools are carried over."""
    tools = CarriedTools(frozenset(tool.name for tool in joint().tools), key_calls())
    content = joint_world().content
    witnesses = prove_bridges(fuse(LIBRARIES), content, BRIDGES[:1], NOW, "7")
    proofs = tuple(proof_of(rule, found) for rule, found in witnesses.items())
    return prepare_suite(joint(), content, NOW, "7", proofs, tools)


def carried(*others: str) -> tuple[str, str]:
    """The joined world's server, or why there is none. `others`: the libraries' servers, if not as usual."""
    usual = [write_server(one, NOW) for one in LIBRARIES]
    return carried_server(joint(), [*zip(LIBRARIES, [*others, *usual[len(others) :]], strict=True)], NOW)


@cache
def source() -> str:
    return carried()[0]


def north(*changes: tuple[str, str]) -> str:
    """The North's server with some text changed."""
    text = write_server(LIBRARIES[0], NOW)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_what_is_carried_over_is_the_contract_and_all_rules_are_met() -> None:
    assert static_faults(source(), joint()) == []
    assert run_suite(suite(), source()) == []
    assert (suite().tools_unmet, suite().guards_unmet) == ((), ())
    assert suite().report(0, 0).carried == len(joint().tools)


def test_helpers_and_constants_are_carried_under_names_of_their_own() -> None:
    helper = f'WEEK = "+7 days"\n\n\ndef _require_own(db: ServerSession, loan_id: str) -> None:\n{OWN_LOAN}\n\n'
    text = north(
        (OWN_LOAN, "    _require_own(db, loan_id)\n"),
        ('@server.tool("auth")', helper + '@server.tool("auth")'),
        (LONGER, LONGER.replace("'+7 days'", ":week").replace("loan_id=loan_id", "loan_id=loan_id, week=WEEK")),
        ("from typing import", "import math\nfrom typing import"),
        ('return db.only("SELECT phone', 'math.floor(1.5)\n    return db.only("SELECT phone'),
    )
    found, fault = carried(text)
    assert fault == ""
    assert 'NORTH__WEEK = "+7 days"' in found
    assert "    _north__require_own(db, loan_id)\n    if db.exists(" in found
    assert "import math\n" in found
    assert run_suite(suite(), found) == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"SELECT * FROM fine WHERE', 'f"SELECT * FROM fine WHERE', "no constant text"),
        ('loan["member_id"] != db.caller', 'loan["member_id"] != db.person', "a way of its own"),
        ("    new_id = db.new_id", "    look = db.one\n    new_id = db.new_id", "a way of its own"),
        ("    new_id = db.new_id", "    loan_id = loan_id.strip()\n    new_id = db.new_id", "changes an argument"),
        ('    return db.all("SELECT * FROM fine', '    assert loan\n    return db.all("SELECT * FROM fine', "no place"),
        ("    new_id = db.new_id", "    mark_copy = 1\n    new_id = db.new_id", "another meaning"),
        ('rule="R2"', 'rule="R" + "2"', "no constant"),
        ('@server.tool("auth")', 'class Loan:\n    pass\n\n\n@server.tool("auth")', "a ClassDef"),
    ],
)
def test_what_cannot_be_carried_over_is_told(old: str, new: str, why: str) -> None:
    found, fault = carried(north((old, new)))
    assert found == ""
    assert why in fault


def test_a_rules_number_outside_of_refusals_is_not_taken_for_a_text() -> None:
    south = write_server(LIBRARIES[1], NOW).replace('"no_country must not be."', '"R2"')
    assert carried(north(), south)[1] == "change_phone is not carried over as it is"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("FROM North__Copy AS copy WHERE", "FROM South__Copy AS copy WHERE"),
        ("UPDATE South__Reader__person\n", "UPDATE North__Member__person\n"),
        ("INSERT INTO North__Fine\n", "INSERT INTO South__Fine\n"),
        ('@server.tool("write", member="south")', '@server.tool("write", member="north")'),
        ('rule="B1"', 'rule="R1"'),
        ("AND f.amount_cents > 150", "AND f.amount_cents >= 150"),
        ("AND f.amount_cents > 150", "AND f.amount_cents > 151"),
        ("points = points + 1", "points = points + 2"),
        ("SET due_on = date(", "SET returned_on = date("),
    ],
)
def test_a_mistake_in_what_is_carried_over_is_found(right: str, wrong: str) -> None:
    assert right in source()
    assert run_suite(suite(), source().replace(right, wrong)) != []


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_a_refusal_that_is_dropped_is_found(every: int) -> None:
    planted = [*mutants(source(), ("dropped",))][::every]
    assert [(one.tool, one.was) for one in planted if not run_suite(suite(), one.source)] == []


def test_a_function_that_is_repaired_is_proven_in_full(tmp_path: Path) -> None:
    line = "        SET phone = :phone, tier = 'was ' || COALESCE(phone, 'without'), points = {}\n"
    right, wrong, mended = (line.format(sum_) for sum_ in ("points + 1", "points + 2", "1 + points"))
    author = Coder(repairs=(f"<<<<<<< SEARCH\n{wrong}=======\n{mended}>>>>>>> REPLACE\n",))
    given = CarriedSource(source().replace(right, wrong, 1), key_calls())
    context = a_context(tmp_path, single_worlds(LIBRARIES)["North"], author)
    written = asyncio.run(written_server(context, joint(), joint_world().content, (), given))
    assert author.asked == ["server.repair", "server.tests"]
    assert written.source == source().replace(right, mended, 1)
    assert (written.report.rounds, written.report.carried) == (1, len(joint().tools) - 1)
    assert len(author.failures) == 1
    assert "north__change_phone" in author.failures[0]


def test_only_functions_that_are_as_they_were_count_as_proven() -> None:
    names = {tool.name for tool in joint().tools}
    assert same_functions(source(), source(), joint()) == names
    changed = source().replace("points = points + 1", "points = points + 2", 1)
    assert same_functions(source(), changed, joint()) == names - {"north__change_phone"}
    assert same_functions("", source(), joint()) == frozenset()

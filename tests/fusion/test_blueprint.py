"""Fusing contracts: what comes out, what is kept apart, and what cannot be joined."""

import pytest

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from synth.fusion.blueprint import fuse
from tests.fusion.libraries import library

ALIKE = [
    library("Vet", statuses=["open", "shut"]),
    library("VET"),
    library("VetClinic"),
    library("Vet_Clinic"),
    library("Registry", core="Person", key="person_id"),
]


@pytest.fixture(scope="module")
def fused() -> FusedBlueprint:
    return fuse(ALIKE)


def test_it_is_read_back_as_it_was_written(fused: FusedBlueprint) -> None:
    assert FusedBlueprint.model_validate_json(fused.model_dump_json()) == fused


def test_members_stand_in_the_order_of_their_names_whatever_they_came_in() -> None:
    assert fuse(ALIKE[::-1]) == fuse(ALIKE)
    assert [member.server for member in fuse(ALIKE).members] == ["Registry", "VET", "Vet", "VetClinic", "Vet_Clinic"]


def test_no_two_names_are_alike_even_without_case(fused: FusedBlueprint) -> None:
    tables = [entity.table for entity in fused.tables] + [view.entity.table for view in fused.views]
    columns = [attribute.name for attribute in fused.core.attributes]
    tools = [tool.name for tool in fused.tools]
    ids = [one.id for one in fused.invariants] + [one.name for one in fused.events]
    rules = [rule for member in fused.members for rule in member.rules.values()]
    for names in (tables, columns, tools, ids, rules):
        assert len({name.lower() for name in names}) == len(names)
    assert max(map(len, tools)) <= 64


def test_the_shared_person_comes_first_and_holds_a_key_of_each_domain(fused: FusedBlueprint) -> None:
    person = fused.entities[0]
    assert person is fused.core
    assert (person.name, person.key, person.server) == ("Person", "person_id", None)
    accounts = [person.attribute(member.account) for member in fused.members]
    assert all(one.nullable and one.unique for one in accounts)
    shared = [one.name for one in person.attributes if one.shared]
    assert shared == ["full_name", "email", "phone"]


def test_a_persons_own_part_has_no_shared_column_and_references_the_shared_person(fused: FusedBlueprint) -> None:
    own = fused.entity(fused.member("Registry").person)
    assert own.name == "Registry__Person"
    assert [one.name for one in own.attributes] == ["person_id", "tier", "branch_id", "points"]
    assert own.attribute("person_id").references == "Person.Registry"
    loan = fused.entity("Registry__Loan")
    assert loan.attribute("person_id").references == loan.attribute("guarantor_id").references
    assert fused.target(loan.attribute("guarantor_id").references or "")[0] is own


def test_a_view_has_a_persons_columns_in_their_old_order(fused: FusedBlueprint) -> None:
    view = next(view for view in fused.people if view.own == fused.member("Vet").person)
    assert [one.name for one in view.entity.attributes] == [one.name for one in ALIKE[0].core.attributes]


def test_enums_of_the_same_name_keep_each_domains_values(fused: FusedBlueprint) -> None:
    by_server = {member.server: fused.entity(member.tables["copy"]) for member in fused.members}
    assert by_server["Vet"].attribute("status").enum == ["open", "shut"]
    assert by_server["VET"].attribute("status").enum == ["here", "lent"]


def test_a_rule_that_tools_share_is_still_one_rule(fused: FusedBlueprint) -> None:
    member = fused.member("Vet")
    renew, change = fused.tool(member.tools["renew_loan"]), fused.tool(member.tools["change_phone"])
    assert renew.guards[0].rule == change.guards[0].rule == member.rules["R2"]
    assert fused.tool(fused.members[0].tools["sign_in"]).guards[0].rule == "R1"


def test_only_statements_that_touch_what_is_shared_go_to_the_view(fused: FusedBlueprint) -> None:
    member = fused.member("Vet")
    renew = fused.tool(member.tools["renew_loan"])
    assert f"FROM {member.person} AS member" in renew.effects[1].sql
    assert member.view in fused.tool(member.tools["change_phone"]).effects[0].sql
    assert member.view in fused.tool(member.tools["sign_in"]).returns.select


def test_a_tool_says_whose_it_is_and_names_its_rows_as_they_are_called_now(fused: FusedBlueprint) -> None:
    tool = fused.tool(fused.member("Vet").tools["renew_loan"])
    assert tool.description.endswith("(The Vet Library)")
    assert tool.parameter("loan_id").refers_to == f"{fused.member('Vet').tables['loan']}.loan_id"


def test_what_not_all_domains_share_may_be_empty() -> None:
    other = library("Other")
    core = other.core.model_copy(update={"attributes": [a for a in other.core.attributes if a.name != "full_name"]})
    silent = other.model_copy(
        update={
            "entities": [core, *other.entities[1:]],
            "tools": [tool for tool in other.tools if tool.name in ("mark_copy", "sign_in")],
        }
    )
    person = fuse([library("Vet"), silent]).core
    assert person.attribute("full_name").nullable
    assert not person.attribute("email").nullable


def _with_email(server: str, **changes: object) -> Blueprint:
    made = library(server)
    attributes = [a.model_copy(update=changes) if a.name == "email" else a for a in made.core.attributes]
    return made.model_copy(
        update={"entities": [made.core.model_copy(update={"attributes": attributes}), *made.entities[1:]]}
    )


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (library("Vet"), "once"),
        (_with_email("Other", type="integer"), "'email' of the shared person has type"),
        (_with_email("Other", enum=["a"]), "'email' of the shared person has enum"),
        (_with_email("Other", references="Branch.branch_id"), "keys are each domain's own"),
        (library("Other", writes=["DELETE FROM member WHERE member_id = :caller"]), "deletes its Member"),
        (library("Other", writes=["INSERT INTO member SELECT * FROM member WHERE FALSE"]), "inserts its Member"),
    ],
)
def test_what_cannot_be_joined_is_refused_with_the_reason(other: Blueprint, reason: str) -> None:
    with pytest.raises(WorldError, match=reason):
        fuse([library("Vet"), other])


def test_domains_of_different_persons_are_refused() -> None:
    stranger = library("Other")
    core = stranger.core.model_copy(update={"role_of": "Traveller"})
    with pytest.raises(WorldError, match="one shared person: Other's is Traveller, Vet's is Person"):
        fuse([library("Vet"), stranger.model_copy(update={"entities": [core, *stranger.entities[1:]]})])

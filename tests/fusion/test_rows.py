"""Rows of fused worlds: each domain's own, persons joined by key."""

import pytest

from skillweave.base.errors import WorldError
from skillweave.schema.record import Row
from synth.fusion.blueprint import fuse
from synth.fusion.persons import fused_rows
from tests.fusion.libraries import databases, library, people, rows_of

BOTH = [library("Vet"), library("VetClinic")]


def test_there_is_one_row_for_everybody_whom_any_domain_knows() -> None:
    found = fused_rows(fuse(BOTH), databases(BOTH), people(BOTH))["Person"]
    assert [row["person_id"] for row in found] == ["PER-P001", "PER-P002", "PER-P003", "PER-P004"]
    assert (found[0]["Vet"], found[0]["VetClinic"], found[0]["phone"]) == ("MEM-0001", "MEM-0001", "+44 100")
    assert (found[3]["Vet"], found[3]["VetClinic"]) == ("MEM-0004", None)


def test_people_whom_no_domain_of_the_world_knows_are_left_out() -> None:
    stranger: Row = {
        "person_id": "PER-P099",
        "full_name": "Nobody",
        "Vet": None,
        "VetClinic": None,
        "Elsewhere": "MEM-1",
    }
    found = fused_rows(fuse(BOTH), databases(BOTH), [*people(BOTH), stranger])["Person"]
    assert "PER-P099" not in [row["person_id"] for row in found]


def test_persons_are_joined_by_key_and_not_by_name() -> None:
    crossed = [dict(row) for row in people(BOTH)]
    crossed[0]["VetClinic"], crossed[1]["VetClinic"] = crossed[1]["VetClinic"], crossed[0]["VetClinic"]
    with pytest.raises(WorldError, match="PER-P002 is 'MEM-0001' in VetClinic, where 'full_name' is 'Person 1'"):
        fused_rows(fuse(BOTH), databases(BOTH), crossed)


def test_every_other_row_is_a_domains_own() -> None:
    fused = fuse(BOTH)
    found = fused_rows(fused, databases(BOTH), people(BOTH))
    assert found[fused.member("Vet").tables["fine"]] == rows_of(BOTH[0])["fine"]
    own = found[fused.member("Vet").person]
    assert [sorted(row) for row in own[:1]] == [["branch_id", "member_id", "points", "tier"]]


def test_domains_that_do_not_agree_on_a_person_are_named() -> None:
    files = databases(BOTH)
    files["VetClinic"].execute("UPDATE member SET phone = '+44 999' WHERE member_id = 'MEM-0001'")
    with pytest.raises(WorldError, match=r"PER-P001 .*'phone' is '\+44 999'; another domain has '\+44 100'"):
        fused_rows(fuse(BOTH), files, people(BOTH))


def test_a_member_of_whom_the_people_do_not_tell_is_named() -> None:
    with pytest.raises(WorldError, match="nobody who is 'MEM-0004' in Vet"):
        fused_rows(fuse(BOTH), databases(BOTH), people(BOTH)[:3])


def test_one_person_cannot_be_two_members_of_a_domain() -> None:
    doubled = [*people(BOTH)[:3], {**people(BOTH)[3], "person_id": "PER-P003"}]
    with pytest.raises(WorldError, match="PER-P003 is both 'MEM-0003' and 'MEM-0004' in Vet"):
        fused_rows(fuse(BOTH), databases(BOTH), doubled)

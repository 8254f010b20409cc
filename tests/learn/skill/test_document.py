"""The skill document: edits, and the regions that they cannot change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learn.skill.document import (
    GUIDANCE_END,
    GUIDANCE_START,
    MARKERS,
    NOTES_HEADING,
    NOTES_START,
    OPERATIONS,
    Edit,
    apply_edits,
    body_of,
    distinct_notes,
    guidance_of,
    notes_of,
    replace_notes,
    skill_digest,
    with_body,
    with_guidance,
    with_notes,
)
from rollout.trajectory import skill_text

BODY = "# Skill\n\n- ask who calls\n- look it up\n"
SKILL = with_notes(with_guidance(BODY, "Read the policy first."), ["Confirm before you write."])


def statuses(skill: str, *edits: Edit) -> list[str]:
    return [report.status for report in apply_edits(skill, edits)[1]]


PIECES = st.sampled_from(
    ["a", "- ", "\n", "look", "X", "Read", *MARKERS, "<!-- SKILL_GUI", "DANCE_BEGIN -->", "-->", NOTES_START[:9]]
)
TEXTS = st.lists(PIECES, max_size=4).map("".join)
EDITS = st.builds(Edit, op=st.sampled_from([*OPERATIONS, "other"]), target=TEXTS, content=TEXTS)


@given(edits=st.lists(EDITS, max_size=6), body=TEXTS)
def test_no_edits_change_a_region(edits: list[Edit], body: str) -> None:
    skill = with_notes(with_guidance(body_of(body), "Read it."), ["Look."])
    changed, _ = apply_edits(skill, edits)
    assert (guidance_of(changed), notes_of(changed)) == ("Read it.", ["Look."])
    assert [changed.count(marker) for marker in MARKERS] == [1, 1, 1, 1]


@given(edits=st.lists(EDITS, max_size=6), body=TEXTS)
def test_a_document_changes_exactly_if_an_edit_was_applied(edits: list[Edit], body: str) -> None:
    for edit in edits:
        changed, reports = apply_edits(body, [edit])
        assert (changed != body) == reports[0].is_applied
        assert (reports[0].error is None) == reports[0].is_applied


def test_what_is_added_stands_before_the_regions() -> None:
    changed, reports = apply_edits(SKILL, [Edit(op="append", content="- say thanks")])
    assert changed.startswith("# Skill\n\n- ask who calls\n- look it up\n\n- say thanks\n\n" + GUIDANCE_START)
    assert reports[0].status == "applied_append_before_protected_region"


def test_what_is_added_below_the_last_line_stands_before_the_regions_too() -> None:
    edit = Edit(op="insert_after", target="- look it up\n\n", content="- say thanks")
    assert apply_edits(SKILL, [edit])[0] == apply_edits(SKILL, [Edit(op="append", content="- say thanks")])[0]
    assert statuses(SKILL, edit) == ["applied_insert_after_before_protected_region"]


def test_later_edits_see_earlier_ones() -> None:
    edits = [Edit(op="append", content="- one"), Edit(op="replace", target="- one", content="- two")]
    assert apply_edits(BODY, edits)[0] == BODY + "\n- two\n"


def test_a_target_that_occurs_several_times_is_reported() -> None:
    assert statuses("- a\n- a\n- a\n", Edit(op="replace", target="a", content="b")) == ["applied_replace_first_of_3"]


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        (Edit(op="replace", target="none", content="x"), "skipped_replace_target_not_found"),
        (Edit(op="delete"), "skipped_delete_missing_target"),
        (Edit(op="replace", target="ask", content="ask"), "skipped_no_change"),
        (Edit(op="append", content=" "), "skipped_empty_content"),
        (Edit(op="rename", content="x"), "skipped_unknown_op"),
        (Edit(op="delete", target=f"up\n\n{GUIDANCE_START}"), "skipped_protected_region"),
        (Edit(op="replace", target=f"first.\n{GUIDANCE_END}\n\n", content="x"), "skipped_protected_region"),
        (Edit(op="insert_after", target="Confirm", content="x"), "skipped_protected_region"),
    ],
)
def test_an_edit_that_cannot_be_made_is_skipped(edit: Edit, status: str) -> None:
    changed, reports = apply_edits(SKILL, [edit])
    assert changed == SKILL
    assert reports[0].status == status


def test_the_same_addition_is_made_once_and_the_same_deletion_twice() -> None:
    add, delete = Edit(op="append", content="x"), Edit(op="delete", target="- a\n")
    assert apply_edits("- a\n- a\n", [add, add, delete, delete])[0] == "\nx\n"
    assert statuses("", add, add) == ["applied_append", "skipped_duplicate"]


def test_a_reply_of_the_wrong_form_costs_its_field_alone() -> None:
    edit = Edit.model_validate(
        {"op": "append", "target": None, "content": ["a", "b"], "support_count": "many", "source_type": 3, "why": "x"}
    )
    assert edit == Edit(op="append", content="a\nb")
    assert statuses(BODY, Edit.model_validate({"content": "x"})) == ["skipped_unknown_op"]


def test_a_report_shows_at_most_200_characters() -> None:
    report = apply_edits("", [Edit(op="append", target="t" * 300, content="c" * 300)])[1][0]
    assert (len(report.target), len(report.content_preview), report.index) == (200, 200, 1)


@given(body=TEXTS, text=TEXTS)
def test_there_is_one_region_for_guidance_at_the_end(body: str, text: str) -> None:
    skill = with_guidance(with_guidance(body, "old"), text)
    assert skill.count(GUIDANCE_START) == skill.count(GUIDANCE_END) == 1
    assert skill.endswith(f"{GUIDANCE_END}\n")
    assert with_guidance(skill, guidance_of(skill)) == skill


def test_a_region_that_moves_leaves_one_blank_line() -> None:
    skill = f"# A\n\n{GUIDANCE_START}\nold\n{GUIDANCE_END}\n\n## B\n\n\n- code\n"
    assert with_guidance(skill, "new") == f"# A\n\n## B\n\n\n- code\n\n{GUIDANCE_START}\nnew\n{GUIDANCE_END}\n"


def test_notes_that_say_the_same_are_one() -> None:
    assert distinct_notes(["Ask  first.", "ask first", "", " . ", "Then\nact"]) == ["Ask first.", "Then act"]
    assert notes_of(with_notes(SKILL, ["confirm before you write", "Ask."])) == ["Confirm before you write.", "Ask."]
    assert notes_of(replace_notes(SKILL, ["Ask."])) == ["Ask."]


def test_a_body_in_place_of_another_keeps_the_regions() -> None:
    rewritten = with_body(SKILL, f"# New\n\n{GUIDANCE_START}\nforged\n{GUIDANCE_END}\n")
    assert body_of(rewritten) == "# New"
    assert (guidance_of(rewritten), notes_of(rewritten)) == ("Read the policy first.", ["Confirm before you write."])


def test_agents_read_no_markers_and_no_empty_regions() -> None:
    assert skill_text(SKILL) == (f"{BODY}\nRead the policy first.\n\n{NOTES_HEADING}\n- Confirm before you write.\n")
    assert skill_text(with_guidance(BODY, "")) == BODY
    assert skill_text(BODY) == BODY


def test_the_digest_is_sixteen_digits_of_sha_256() -> None:
    assert skill_digest("") == "e3b0c44298fc1c14"

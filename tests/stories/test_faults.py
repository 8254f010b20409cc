"""What is wrong with stories is told to their author in words, by story and call."""

from typing import Any

import pytest

from skillweave.schema.fusion import StoryCall, Storyline
from skillweave.schema.template import RequestedValue
from synth.stories.faults import story_faults
from tests.gates.services import PAID_FIRST, contract

FUSED = contract("Clinic", "Insurer")
PAY = StoryCall(server="Clinic", tool="settle_bill", demanded_by="B1")
CLAIM = StoryCall(
    server="Insurer",
    tool="claim_back",
    same={"amount_cents": "1.amount_cents", "day": "date(1.bill_id.billed_at)"},
    given={"reference": "my bill"},
)
STORY = Storyline(
    name="claim",
    title="Claim it",
    calls=[PAY, CLAIM],
    reasons=["I was ill."],
    bridges=[PAID_FIRST],
    tell=[RequestedValue(call=2, column="claim_id", noun="claim", ask=["its number"])],
)


def changed(place: int, **change: Any) -> Storyline:
    """The story with one of its calls otherwise."""
    calls = list(STORY.calls)
    calls[place] = calls[place].model_copy(update=change)
    return STORY.model_copy(update={"calls": calls})


def test_a_story_that_can_be_tried_has_no_faults() -> None:
    assert story_faults([STORY], FUSED) == []


@pytest.mark.parametrize(
    ("story", "fault"),
    [
        (changed(0, server="Mars"), "there is no company 'Mars'; there are Clinic, Insurer"),
        (changed(0, tool="fly"), "Clinic has no tool 'fly'; it has sign_in, list_bills"),
        (changed(0, server="Insurer"), "Clinic has no part in it; every story needs all companies"),
        (changed(0, demanded_by="B7"), "call 1 is demanded by 'B7', which is none of its bridge rules"),
        (changed(1, given={"weather": "fine"}), "call 2: claim_back takes no 'weather'; it takes amount_cents, day"),
        (changed(1, names={"reference": "Clinic.Ticket"}), "names a row of 'Clinic.Ticket'; it must be one of Clinic."),
        (changed(1, names={"reference": "Insurer.Bill"}), "'reference' names a row of its own company"),
        (
            changed(0, rows={"bill_id": {"colour": ["red"]}}),
            "the row of 'bill_id' has no 'colour'; it has amount_cents",
        ),
        (changed(1, rows={"day": {"x": [1]}}), "'day' names no row that is free to be chosen by its columns"),
        (changed(1, same={"day": "tomorrow"}), "'tomorrow' is not of the form '<call>.<column>'"),
        (changed(1, same={"day": "2.day"}), "'2.day' names call 2; it must be one of 1 to 1"),
        (changed(1, same={"day": "0.day"}), "'0.day' names call 0; it must be one of 1 to 1"),
        (changed(1, same={"day": "1.ticket.day"}), "settle_bill takes no 'ticket'"),
        (changed(1, same={"day": "1.day"}), "settle_bill returns bill_id, amount_cents, status"),
        (
            STORY.model_copy(update={"tell": [STORY.tell[0].model_copy(update={"column": "colour"})]}),
            "tell names 'colour', which call 2 does not return",
        ),
        (
            STORY.model_copy(update={"tell": [STORY.tell[0].model_copy(update={"call": 9})]}),
            "tell names 'claim_id', which call 9 does not return",
        ),
    ],
)
def test_each_fault_is_told_with_what_there_would_be(story: Storyline, fault: str) -> None:
    told = story_faults([story], FUSED)
    assert any(one.startswith("story 'claim': ") and fault in one for one in told), told


def test_a_company_whose_row_alone_is_named_has_a_part() -> None:
    named = StoryCall(server="Insurer", tool="claim_back", names={"reference": "Clinic.Bill"})
    hurry = StoryCall(server="Insurer", tool="hurry_claim", same={"claim_id": "1.claim_id"})
    story = STORY.model_copy(update={"calls": [named, hurry], "tell": [], "bridges": []})
    assert story_faults([story], FUSED) == []


def test_columns_may_be_asked_for_of_its_own_row_and_of_one_that_is_named() -> None:
    named = changed(1, names={"reference": "Clinic.Bill"}, given={}, rows={"reference": {"status": ["open"]}})
    assert story_faults([named], FUSED) == []
    assert story_faults([changed(0, rows={"bill_id": {"status": ["open"]}})], FUSED) == []


def test_a_name_that_comes_twice_is_told_once() -> None:
    assert story_faults([STORY, STORY], FUSED) == ["story 'claim' comes twice"]


BILL = {"reference": "1.bill_id.billed_at", "amount_cents": "1.amount_cents"}
"""What a claim takes from the row of a bill, and from a result."""


def test_a_row_that_only_a_demanded_call_names_has_a_place_in_what_is_asked_for() -> None:
    unsaid = changed(1, same=BILL, given={}, ask=["claim {reference}", "claim that bill"])
    fault = "call 2: 'reference' is taken from a row that nothing asked for has named; the phrase 'claim that bill'"
    assert [one for one in story_faults([unsaid], FUSED) if fault in one]
    said = changed(1, same=BILL, given={}, ask=["claim {reference}"])
    assert story_faults([said], FUSED) == []


def test_a_row_that_is_asked_for_before_needs_no_more_words() -> None:
    asked = PAY.model_copy(update={"demanded_by": None})
    claim = CLAIM.model_copy(update={"same": BILL, "given": {}, "ask": ["claim it"]})
    assert story_faults([STORY.model_copy(update={"calls": [asked, claim], "bridges": []})], FUSED) == []

"""Feasibility first: stories are tried on the single worlds, with what the other side supplies."""

from typing import Any

import pytest

from skillweave.schema.fusion import PrunedStoryline, StoryCall, Storyline
from skillweave.world.world import World
from synth.stories.feasibility import FeasibilityTrials, shown_rows
from tests.gates.services import NOW, bill, key, service, single_state

SERVERS = ("Clinic", "Insurer")
PAY = StoryCall(server="Clinic", tool="settle_bill")
CLAIM = StoryCall(
    server="Insurer",
    tool="claim_back",
    same={"reference": "1.bill_id.bill_id", "amount_cents": "1.amount_cents", "day": "date(1.bill_id.billed_at)"},
)
HURRY = StoryCall(server="Insurer", tool="hurry_claim", same={"claim_id": "2.claim_id"})
HURRY_IT = StoryCall(server="Insurer", tool="hurry_claim", same={"claim_id": "1.claim_id"})


@pytest.fixture(scope="module")
def worlds() -> dict[str, World]:
    return {server: World(service(server), single_state(server), now=NOW) for server in SERVERS}


def account(number: int) -> dict[str, str]:
    return {server: key(server, number) for server in SERVERS}


def pruned(worlds: dict[str, World], calls: list[StoryCall], *persons: int) -> PrunedStoryline | None:
    story = Storyline(name="story", title="A story", calls=calls, reasons=["I was ill."])
    return FeasibilityTrials(worlds, [account(number) for number in persons], "seed").pruned(story)


def changed(call: StoryCall, **change: Any) -> StoryCall:
    return call.model_copy(update=change)


def test_what_the_other_side_returns_and_shows_is_supplied(worlds: dict[str, World]) -> None:
    assert pruned(worlds, [PAY, CLAIM, HURRY], 1) is None


def test_a_row_of_the_other_side_is_supplied_where_it_is_named(worlds: dict[str, World]) -> None:
    named = changed(CLAIM, names={"reference": "Clinic.Bill"}, same={"amount_cents": "1.reference.amount_cents"})
    assert pruned(worlds, [named, changed(HURRY, same={"claim_id": "1.claim_id"})], 2) is None


def test_only_rows_of_the_kind_that_is_wanted_are_supplied(worlds: dict[str, World]) -> None:
    """The second person's one bill is of 246.00."""
    named = changed(CLAIM, names={"reference": "Clinic.Bill"}, same={"amount_cents": "1.reference.amount_cents"})
    for amount, falls in ((24600, False), (1, True)):
        wanted = changed(named, rows={"reference": {"amount_cents": [amount]}})
        paid = changed(PAY, rows={"bill_id": {"amount_cents": [amount]}})
        assert (pruned(worlds, [wanted, HURRY_IT], 2) is not None) == falls
        assert (pruned(worlds, [paid, CLAIM], 2) is not None) == falls


def test_a_part_that_nobody_can_have_is_pruned_with_its_company_and_reason(worlds: dict[str, World]) -> None:
    free = changed(CLAIM, same={"reference": "1.bill_id.bill_id"}, given={"amount_cents": 0})
    assert pruned(worlds, [PAY, free, HURRY], 1, 2) == PrunedStoryline(
        storyline="story",
        server="Insurer",
        reason="claim_back: no lawful call, with what the links supply",
        # Two persons, and three calls for each, that no fused world is searched for.
        saved=6,
    )


def test_what_one_person_can_have_is_not_pruned(worlds: dict[str, World]) -> None:
    assert pruned(worlds, [PAY, CLAIM], 3, 1) is None


def test_somebody_without_rows_is_given_a_past(worlds: dict[str, World]) -> None:
    """The third person has no bill, and may have ordered something that is to be paid."""
    assert shown_rows(worlds["Clinic"].session(caller=key("Clinic", 3)), "Bill") == []
    assert pruned(worlds, [PAY, CLAIM], 3) is None


def test_where_nobody_is_in_all_domains_no_search_is_saved(worlds: dict[str, World]) -> None:
    assert pruned(worlds, [PAY, CLAIM]) == PrunedStoryline(
        storyline="story", server="Clinic", reason="nobody is in all", saved=0
    )


def test_rows_are_supplied_as_reads_show_them_and_to_whom_they_belong(worlds: dict[str, World]) -> None:
    with worlds["Clinic"].session(caller=key("Clinic", 2)) as session:
        (row,) = shown_rows(session, "Bill")
    assert row == {
        "bill_id": bill("Clinic", 2),
        "amount_cents": 24600,
        "status": "open",
        "billed_at": "2025-02-03 11:30:00",
    }

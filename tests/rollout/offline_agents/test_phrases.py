"""The phrases that both scripted sides share: whatever one builds, the other knows again."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.offline.user import AGENT, Kind, deed, label, listed, said, understood

WORDS = st.text(alphabet="abz019 .,:;()'-", min_size=1, max_size=20).map(str.strip).filter(bool)
LABELS = st.lists(st.sampled_from(["method", "(pay bill)", "your", "date"]), min_size=1).map(" ".join)
SLOTS: dict[Kind, dict[str, str]] = {
    "greet": {},
    "ask": {"labels": "your email; method (pay bill)"},
    "more": {},
    "because": {"goal": "submit the claim", "rule": "B1", "company": "Smile Dental"},
    "propose": {"deed": "pay the bill", "pairs": "method (pay bill): card; starts at: 24 January 2025 at 09:30"},
    "report": {"deeds": "pay the bill; move the visit"},
    "fact": {"noun": "cancellation fee", "form": "30.00"},
    "decline": {"rule": "R7", "says": "Nothing is moved twice: never."},
    "hand_over": {},
    "give_up": {"complaint": "The slot is taken."},
    "part": {},
}


@pytest.mark.parametrize("kind", AGENT)
@pytest.mark.parametrize("seed", range(6))
def test_each_phrase_is_known_again_with_its_slots(kind: Kind, seed: int) -> None:
    (phrase,) = understood(said(kind, Random(seed), **SLOTS[kind]))
    assert (phrase.kind, dict(phrase.slots)) == (kind, SLOTS[kind])


def test_slots_that_are_empty_are_left_out() -> None:
    (proposal,) = understood(said("propose", Random(1), deed="pay the bill", pairs=""))
    assert (proposal.slots["deed"], proposal.pairs) == ("pay the bill", {})
    assert [phrase.kind for phrase in understood(said("give_up", Random(1), complaint=""))] == ["give_up"]


@given(st.dictionaries(LABELS, WORDS, min_size=1, max_size=4), st.integers(0, 9))
def test_pairs_survive_whatever_their_values_hold(pairs: dict[str, str], seed: int) -> None:
    values = {label: value.replace("; ", ", ") for label, value in pairs.items()}
    text = said(
        "propose", Random(seed), deed="go", pairs=listed(f"{label}: {value}" for label, value in values.items())
    )
    (proposal,) = understood(text)
    assert proposal.pairs == {label: " ".join(value.split()) for label, value in values.items()}


@pytest.mark.parametrize(
    "text",
    [
        "Shall I go ahead?",
        "Your appointment was cancelled.",
        "I would like to know more. Could you tell me your name?",
        "Yes, it's the fee is 30.00",
    ],
)
def test_nothing_else_is_understood(text: str) -> None:
    assert understood(text) == []


def test_facts_and_tools_have_plain_names() -> None:
    assert [label(id) for id in ("me.email", "pay_bill.method", "slot.slot_name", "reason")] == [
        "your email",
        "method (pay bill)",
        "slot name",
        "reason",
    ]
    assert [deed(tool) for tool in ("cancel_booking", "check_in_guest", "pay")] == [
        "cancel the booking",
        "check in guest",
        "pay",
    ]

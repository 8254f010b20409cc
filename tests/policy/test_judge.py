from collections import Counter

import pytest

from synth.offline.judge.decide import decide
from synth.policy.cases import cases_of
from tests.policy.contracts import DOMAINS, NOW, a_contract

STARTS = 'The slot\'s "starts at" is {} hours from now.'
STATUS = 'The visit\'s "status" is {}.'


def verdict(sentence: str, *cases: str) -> list[bool | None]:
    return [decision.holds for decision in decide(sentence, cases)]


@pytest.mark.parametrize(
    "sentence",
    [
        "A visit has to be booked at least 24 hours before it starts.",
        "A visit can only be moved while at least 24 hours are left before it starts.",
        "A visit cannot be cancelled unless at least 24 hours are left before it starts.",
        "A visit can be moved until 24 hours before it starts.",
        "Only a visit that starts not less than 1 day from now can be moved.",
        "A visit that starts less than 24 hours from now cannot be moved.",
    ],
)
def test_a_limit_is_read_with_its_side(sentence: str) -> None:
    assert verdict(sentence, STARTS.format(24), STARTS.format(23)) == [True, False]


def test_more_than_leaves_the_limit_out_and_at_most_keeps_it() -> None:
    moves = ['The visit\'s "moves" is 2.', 'The visit\'s "moves" is 3.']
    assert verdict("A visit can only be moved if it was moved more than 2 times before.", *moves) == [False, True]
    assert verdict("A visit can only be moved if it was moved less than 3 times before.", *moves) == [True, False]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Only a visit that is booked can be moved.", [True, False]),
        ("A visit that is booked cannot be moved.", [False, True]),
        ("Moving is only for visits that are booked or held.", [True, False]),
    ],
)
def test_states_are_asked_for_or_forbidden(sentence: str, expected: list[bool]) -> None:
    assert verdict(sentence, STATUS.format("booked"), STATUS.format("missed")) == expected


def test_a_rule_about_one_method_says_nothing_against_others() -> None:
    sentence = "An invoice can only be paid by bank transfer while its due date is at least 3 days away."
    case = 'The given "method" is {}; the invoice\'s "due on" is {} days from now.'
    cases = [case.format("bank transfer", 3), case.format("bank transfer", 2), case.format("card", 2)]
    assert verdict(sentence, *cases) == [True, False, True]


def test_each_tier_has_its_own_figure() -> None:
    sentence = "A booking is only possible while a guest has less than 3 stays for classic, less than 5 for gold."
    case = 'The number of such stay records is {}; the guest\'s "tier" is {}.'
    cases = [case.format(3, "classic"), case.format(3, "gold"), case.format(5, "gold")]
    assert verdict(sentence, *cases) == [False, True, False]


def test_what_the_sentence_does_not_speak_of_is_left_open() -> None:
    assert verdict("A visit has to be paid in time.", STATUS.format("booked")) == [None]
    assert verdict("Only a visit that is booked can be moved.", STARTS.format(3)) == [None]
    assert verdict("Only a visit that is booked can be moved.", "Something else entirely") == [None]


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_catalogue_s_sentences_are_decided_as_their_sql_decides(domain: str) -> None:
    counts: Counter[str] = Counter()
    for rule in cases_of(a_contract(domain), NOW):
        for case, holds in zip(rule.cases, verdict(rule.sentence, *(case.text for case in rule.cases)), strict=True):
            outcome = "undecided" if holds is None else "agreed" if holds is case.holds else "disagreed"
            counts[outcome] += 1
    assert counts["disagreed"] == 0
    assert counts["agreed"] / counts.total() > 0.45

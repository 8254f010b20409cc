"""Which rules a text names as what forbids something."""

import pytest

from evaluator.conduct.declining import not_declined, rules_in, rules_of
from tests.evaluator.pace import is_done_within
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

KNOWN = frozenset(f"R{number}" for number in range(1, 13)) | {"B2"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("By R7 that is too late.", ["R7"]),
        ("[R7] forbids it.", ["R7"]),
        ("Rule R7 forbids it.", ["R7"]),
        ("That is rule 7.", ["R7"]),
        ("See rule no. 7 and [B2].", ["R7", "B2"]),
        ("Rules 7 and 8 say so.", ["R7", "R8"]),
        ("r7 and rule r8", ["R7", "R8"]),
        ("R 7, R-8, R\u201110, R07", ["R7", "R8", "R10", "R7"]),
        ("Rules 7-9, rules 10 to 12", ["R7", "R8", "R9", "R10", "R11", "R12"]),
        ("rule seven; rule #8; rule (9); rule: 10", ["R7", "R8", "R9", "R10"]),
        ("R7/R8", ["R7", "R8"]),
        ("R7 does not allow it. R8 is not met.", ["R7", "R8"]),
        ("R7 allows changes up to 24 hours before.", ["R7"]),
        ("I cannot, due to R7; would you like another day?", ["R7"]),
    ],
)
def test_rules_are_read_in_each_form_of_their_name(text: str, named: list[str]) -> None:
    assert [*rules_in(text, KNOWN)] == named


@pytest.mark.parametrize(
    "text",
    [
        "The rules of the house forbid it; room 7.",
        "PR7 and R7x are none.",
        "Your flight leaves from Gate B2; vitamin B2 is at seat R7.",
        "As a rule 3 days are needed.",
        "The rule 12 hours before, our rule 8 working days, rule 10 %.",
        "See https://example.com/R7.",
        "R77 is no rule here.",
        "R7 is not in the way, but I won't do it.",
        "I don't care about R7; ask again tomorrow.",
        "R7 does not apply. R8 permits it, but no.",
        "Is R7 in the way? I do not know.",
    ],
)
def test_what_is_numbered_alike_or_set_aside_is_no_named_rule(text: str) -> None:
    assert [*rules_in(text, KNOWN)] == []


def test_without_a_policy_every_number_is_a_rule() -> None:
    assert [*rules_in("R77 forbids it.")] == ["R77"]


def test_a_policy_has_the_rules_of_guards_and_effects() -> None:
    assert {"R1", "R10", "R14"} <= rules_of(a_world().blueprint)


def test_odd_texts_are_read_in_no_time() -> None:
    odds = ("rules 1, " * 1200, "rule " * 2000, "R7 is not " * 1000, "is R7 " * 1600, "1 and " * 1600, "(" * 9000)
    assert is_done_within(2, lambda: [[*rules_in(odd, KNOWN)] for odd in odds])


@pytest.mark.parametrize("odd", ["\n" * 9000, "rule 7 " + "- " * 4500, "rule 7" + " " * 9000, "rule 7 " + "-" * 9000])
def test_blanks_and_dashes_are_read_in_no_time(odd: str) -> None:
    assert is_done_within(1, lambda: [*rules_in(odd, KNOWN)])


def test_an_endless_rule_in_the_transfer_is_read_in_no_time() -> None:
    ban = {"rule": "R7", "table": "appointment", "why": "too late"}
    task = a_task(kind="refuse", criteria={"state": [], "must_not": [ban], "reward_basis": ["policy"]})
    odds = ("\n" * 1_000_000, "7" * 1_000_000, "rule 7 " * 200_000 + "rule 8 rule 9 rule 10")
    assert is_done_within(2, lambda: [not_declined(task, {"rule": odd}, [], KNOWN) for odd in odds])

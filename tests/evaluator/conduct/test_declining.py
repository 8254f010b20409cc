"""Which rules a text names as what forbids something."""

import pytest

from evaluator.conduct.declining import not_declined, rules_of
from evaluator.conduct.refusal.naming import rules_in
from skillweave.schema.record import Json
from tests.evaluator.conversations import agent, user
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


def declined(*said: str, broken: tuple[str, ...] = ("R7",), transfer: dict[str, Json] | None = None) -> bool:
    """Whether that is a right answer to a request that R7 forbids. What begins with `U:` is the user's."""
    bans = [{"rule": rule, "table": "appointment", "why": "too late"} for rule in broken]
    task = a_task(kind="refuse", criteria={"state": [], "must_not": bans, "reward_basis": ["policy"]})
    messages = [user(text[2:]) if text.startswith("U:") else agent(text) for text in ("U:Please move it.", *said)]
    return not not_declined(task, transfer, messages, KNOWN)


@pytest.mark.parametrize(
    "said",
    [
        "R7 is satisfied.",
        "Rule R7 is fully met, so that is possible.",
        "The deadline (R7) is fine.",
        "R7 permits moving your appointment.",
        "R7 lets me move it to 3 April at 18:30.",
        "Under R7 I can move it.",
        "By rule 7 that is allowed.",
        "R7: met.",
        "R7 has been checked and poses no problem.",
        "Your request complies with R7.",
        "R6 and R7 are met.",
        "R6 is met, and so is R7.",
    ],
)
def test_a_rule_said_to_be_met_or_to_permit_it_is_not_named(said: str) -> None:
    assert [*rules_in(said, KNOWN)] == []
    assert not declined(said)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("The deadline (R6) and the span (R8) are fine, but R7 does not allow a third move.", ["R7"]),
        ("R6 is met and R8 is met, but R7 is not.", ["R7"]),
        ("Neither R6 nor R8 is in the way, R7 is.", ["R7"]),
        ("- R6: ok\n- R8: ok\n- R7: not met", ["R7"]),
        ("This is against R7, and R8 is fine.", ["R7"]),
        ("R7 is not met.", ["R7"]),
        ("I can only do it once R7 is met.", ["R7"]),
        ("I checked whether R7 is met: it is not.", ["R7"]),
        ("R7 allows at most two moves.", ["R7"]),
        ("Under R7 you can move it twice.", ["R7"]),
        ("R7 is met only in the first week.", ["R7"]),
    ],
)
def test_rules_set_aside_do_not_count_and_limits_do(said: str, named: list[str]) -> None:
    assert [*rules_in(said, KNOWN)] == named
    assert declined(said)


@pytest.mark.parametrize(
    "said",
    [
        "I cannot do that because of R6 or R7.",
        "Either rule 6 or rule 7 forbids it.",
        "Rules 6 or 7 forbid it.",
        "R6, or maybe R7, forbids it.",
        "It might be R6, it might be R7.",
        "R6 forbids it. Or R7.",
    ],
)
def test_a_guess_between_two_rules_names_neither(said: str) -> None:
    assert not declined(said)
    assert declined(said, "It is R7.")
    assert declined(said, broken=("R6", "R7"))


def test_two_rules_that_both_forbid_may_be_named() -> None:
    assert declined("R6 and R7 forbid it.")
    assert declined("I cannot do it without breaking R6 or R7.")


@pytest.mark.parametrize(
    "said",
    [
        "I have moved it, though rule R7 forbids that.",
        "Rule R7 forbids it, but I've changed it all the same.",
        "By R7 that is too late, but it is done.",
        "R7: done!",
        "R7. All done, thank you!",
        "As to R7: your appointment is now on 3 April.",
        "R7 is about that. I'll move it this afternoon.",
        "R7 is about that. It will be done this afternoon.",
        "Mind R7. I'm going to book it for you tomorrow.",
        "R7 forbids it; as an exception I went ahead and booked it.",
        "R7 notwithstanding, I was able to change it.",
        "Your request has been processed in accordance with R7.",
        "R7, well. Consider it done.",
    ],
)
def test_who_claims_or_promises_the_deed_has_not_declined(said: str) -> None:
    assert not declined(said)
    assert not declined("R7 forbids that.", "U:Please!", said)


@pytest.mark.parametrize(
    "said",
    [
        "I have not moved it: R7 forbids it.",
        "I can't move it, since R7 does not allow a third move.",
        "I have looked at your appointment; R7 forbids a third move, so it stays on 1 April.",
        "R7 forbids it. I could move it to 9 April instead if you like.",
        "R7 forbids it. I'll book the 9 o'clock slot instead.",
        "Your balance has to be paid first (R7); once that is done I can book it.",
        "Please pay the invoice first (R7). I will book it then.",
        "I have checked. R7 is the reason. I've noted it, and I have handed you over.",
        "It has been moved twice already; R7 allows two moves.",
        "Your invoice was paid on 2 March, and R7 does not let me take it twice.",
        "If I moved it, R7 would be broken.",
        "Nothing has been changed: R7 forbids it.",
        "I have done all I can, but R7 is firm.",
        "I have made a note of your request. R7 forbids it.",
        "I'd love to say it's done, but R7 gets in the way.",
    ],
)
def test_who_declines_may_speak_of_deeds(said: str) -> None:
    assert declined(said)


def test_the_last_word_on_it_counts() -> None:
    assert declined("I'll move it for you, one moment.", "I am sorry: R7 forbids it.")
    assert declined("I have moved it.", "U:Really?", "No, I am sorry, I have not: R7 forbids it.")
    assert not declined("R7 forbids it.", "U:Please.", "All right, it's done now.")
    given: dict[str, Json] = {"reason": "policy", "rule": "R7"}
    assert declined("I'll take care of it.", transfer=given)
    assert not declined("I have taken care of it.", transfer=given)


def test_what_is_said_after_a_write_may_be_said_of_that() -> None:
    ban = {"rule": "R7", "table": "appointment", "why": "too late"}
    task = a_task(kind="refuse", criteria={"state": [], "must_not": [ban], "reward_basis": ["policy"]})
    messages = [user("Move both."), agent("R7 forbids one."), agent(None), agent("I have moved the other.")]
    assert not_declined(task, None, messages, KNOWN) == ["claims to have done what a rule forbids"]
    assert not_declined(task, None, messages, KNOWN, written=2) == []


_ODD = """R7 or ,R7, ,R7 (a) ,R7's a ,neither R7 nor ,under R7 ,R7 permits ,maybe R7 ,I have ,I will just ,I move and ,
it is ,it is now ,your a ,was booked ,if ,as you ,the ,done ,ok ,rule r7 ,not ,all ,made an exception and ,3 april """


def test_odd_words_of_deeds_are_read_in_no_time() -> None:
    odds = [piece * (10_000 // len(piece)) for piece in _ODD.split(",")]
    assert is_done_within(
        6, lambda: [declined(start + odd) for odd in odds for start in ("", "I have ", "R7 is met. ")]
    )
    assert is_done_within(1, lambda: declined(*["R7"] * 5000))

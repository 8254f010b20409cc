"""What the ledger finds fault with, on labelled utterances and case by case."""

from collections.abc import Iterator
from typing import Any

import pytest

from evaluator.ledger import Background, FactLedger
from evaluator.ledger.names import Names
from skillweave.schema.message import Message
from skillweave.schema.task import Fact
from tests.evaluator.ledger.labelled import VERDICTS, Case, background_of, cases, faults, ledger_of, misjudged, role_of
from tests.evaluator.pace import is_done_within

TUNED, HELD_OUT = "cases", "held_out"


def said(*words: str) -> list[Message]:
    """The assistant's words, each answered."""
    turns = [[Message(role="user", content=one), Message(role="assistant", content="I see.")] for one in words]
    return [message for turn in turns for message in turn][:-1]


def test_the_labelled_utterances_are_many_and_half_of_them_are_honest() -> None:
    counted = {verdict: sum(case.verdict == verdict for case in cases(TUNED)) for verdict in VERDICTS}
    assert sum(counted.values()) >= 200
    assert counted["honest"] >= sum(counted.values()) / 2
    assert counted["contradicts"] >= 50


def test_no_honest_utterance_that_was_tuned_on_is_lost() -> None:
    honest, passing = misjudged(TUNED)
    assert [case.utterance for case in honest] == []
    assert len(passing) <= 3, [case.utterance for case in passing]


def test_on_utterances_never_tuned_on_precision_and_recall_are_high() -> None:
    lost, passing = misjudged(HELD_OUT)
    faulty = sum(case.verdict != "honest" for case in cases(HELD_OUT))
    caught = faulty - len(passing)
    assert caught / faulty >= 0.9
    assert caught / (caught + len(lost)) >= 0.95


@pytest.mark.parametrize(
    "words",
    ["14 August 1997", "1997-08-14", "14/08/97", "08/14/1997", "the 14th of August 1997", "Aug 14, '97", "14.8.1997"],
)
def test_every_form_of_an_own_date_is_the_same(words: str) -> None:
    assert ledger_of("dentist").faults(words, said("Your date of birth?")) == []


@pytest.mark.parametrize(
    "words", ["07700 947046", "+44 7700 947046", "+44 (0)7700 947046", "0044 7700947046", "07700-947-046"]
)
def test_every_form_of_an_own_phone_is_the_same(words: str) -> None:
    assert ledger_of("parcel").faults(words, said("Your phone?")) == []


def test_agreeing_to_another_day_than_ones_own_contradicts() -> None:
    offer = said("Friday is gone. Would Monday 24 March at 11:00 suit you instead?")
    assert ledger_of("dentist").faults("Yes, Monday 24 is fine.", offer) != []
    assert ledger_of("dentist").faults("Not the 24th, please.", offer) == []
    assert ledger_of("dentist").faults("Monday 24 March at 11:00?", offer) == []


def test_tomorrow_is_fine_where_the_fact_is_tomorrow() -> None:
    assert ledger_of("blood").faults("I need the slot tomorrow.", []) == []
    assert ledger_of("dentist").faults("I need the slot tomorrow.", []) != []


def test_what_the_assistant_said_is_not_invented_and_what_comes_later_is() -> None:
    ledger = ledger_of("hotel")
    assert ledger.faults("So 118.00 a night?", said("It is 118.00 a night.")) == []
    assert ledger.faults("So 118.00 a night?", []) != []


def test_a_conversation_that_starts_anew_knows_nothing_of_the_last() -> None:
    ledger = FactLedger(background_of("claim"))
    assert ledger.faults("CLM-0041 it is.", said("Your claim is CLM-0041.")) == []
    assert ledger.faults("CLM-0041 it is.", said("Hello.")) != []


def test_own_words_that_were_let_pass_may_be_said_again() -> None:
    seen = [Message(role="assistant", content="My booking was for about 300.00, I think.")]
    assert ledger_of("flight").faults("Those 300.00, yes.", seen) == []


def test_an_invented_value_told_in_words_names_it_and_gives_nothing_away() -> None:
    found = ledger_of("claim").faults("It is invoice INV-99999 over 1,350.00.", [])
    assert len(found) == 2
    assert "INV-99999" in found[0]
    assert not any("10482" in fault or "1,250" in fault for fault in found)


def test_a_contradiction_told_in_words_does_not_give_the_right_value() -> None:
    found = ledger_of("parcel").faults("I will pay by bank transfer.", said("How do you want to pay?"))
    assert len(found) == 1
    assert "bank transfer" in found[0]
    assert "card" not in found[0]


def test_names_count_as_whole_words_in_any_case_and_single_words_only_as_they_are_written() -> None:
    names = Names({"Holiday Plus": frozenset(["product_name"]), "Cruise": frozenset(["kind"])})
    ledger = FactLedger(background_of("trip", names))
    assert ledger.faults("i want holiday plus", []) != []
    assert ledger.faults("i want holidays plus sun", []) == []
    assert ledger.faults("we went on a cruise once", []) == []
    assert ledger.faults("We want the Cruise option.", []) != []


def test_all_texts_of_a_role_may_be_said() -> None:
    for name in ("dentist", "parcel", "flight", "hotel", "claim", "rental", "trip", "blood", "journey"):
        role = role_of(name)
        texts = [role.opening, role.scenario.goal, role.scenario.reason, f"I am {role.persona.name}."]
        texts += [fact.text for fact in role.scenario.facts]
        assert [fault for text in texts for fault in ledger_of(name).faults(text, [])] == []


def test_a_fact_that_is_never_told_is_kept_back_until_the_assistant_names_it() -> None:
    role = role_of("claim")
    secret = Fact(id="offer.least_cents", text="I would take 777.00.", value=77700, tell="never")
    scenario = role.scenario.model_copy(update={"facts": [*role.scenario.facts, secret]})
    ledger = FactLedger(Background(scenario, role.persona, role.now))
    assert ledger.faults("I would take 777.00.", []) == ["'777.00' is something that you keep to yourself"]
    assert ledger.faults("777.00 is fine.", said("We offer 777.00.")) == []


@pytest.mark.parametrize(
    ("column", "first", "second", "words", "other"),
    [
        ("pay_invoice.method", "card", "bank_transfer", "The second one by bank transfer.", "Take it by direct debit."),
        ("add_bag.weight_kg", 26, 24, "And a bag of 24 kg.", "And a bag of 25 kg."),
        ("window.starts_at", "2025-04-13 09:00:00", "2025-04-20 15:00:00", "The window on 20 April.", ""),
    ],
)
def test_of_two_facts_of_one_sort_either_may_be_said(
    column: str, first: Any, second: Any, words: str, other: str
) -> None:
    entity, _, name = column.partition(".")
    again = f"{entity}_2.{name}" if entity == "window" else f"{column}_4"
    role = role_of("claim")
    facts = [
        Fact(id=id, text=f"It is the one: {str(value).replace('_', ' ')}.", value=value, tell="first")
        for id, value in ((column, first), (again, second))
    ]
    scenario = role.scenario.model_copy(update={"facts": facts})
    ledger = FactLedger(Background(scenario, role.persona, role.now))
    assert ledger.faults(words, said("Which one?")) == []
    assert not other or ledger.faults(other, said("Would 25 kg or direct debit do?")) != []


def test_a_long_word_is_read_in_no_time() -> None:
    text = "a" * 60 + "_ or 1 " + "b-" * 30 + "_ 2"
    assert is_done_within(1, lambda: ledger_of("flight").faults(text, []))


def test_odd_texts_are_read_without_an_error_and_in_no_time() -> None:
    assert is_done_within(10, lambda: [ledger_of("flight").faults(text, said(text)) for text in _odd_texts()])


def _odd_texts() -> Iterator[str]:
    yield from ("", "   ", "###STOP###", "0" * 5000, "1-" * 3000, "( 1" * 2000, "a1" * 4000, "half past " * 500)
    yield from ("31 February 2025", "99/99/9999", "25:99", "-0.00", "1,2,3,4,5", "²³ ½ ٣", "𝟙𝟚:𝟛𝟘", "0 pm", "13 pm")
    yield from ("the 99th", "the 0th", "twenty twenty twenty", "9999999999999999999999 hundred", "\x00\u2028\ud7ff")
    yield from ("12 " * 2000, "march " * 1000, "monday " * 1000, "x@" * 2000, "£" * 3000, "one hundred " * 400)


@pytest.mark.parametrize("case", [case for case in cases(TUNED) if case.verdict == "contradicts"][:10])
def test_faults_are_words_for_a_model(case: Case) -> None:
    assert all(fault.startswith("'") and " know" in fault for fault in faults(case))

"""Whether a fact was told, in conversations as models hold them."""

from typing import Any

import pytest

from evaluator.checks.communicate import check_communicate, ends_of_errands
from evaluator.replay.execution import ExecutedCall
from skillweave.schema.contract import Call, CallResult
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

FEE: dict[str, Any] = {"fact": "told_1", "noun": "cancellation fee", "values": [4200], "type": "integer"} | {
    "unit": "cents",
    "rivals": [1250, 3000, 9900],
}
WORLD = a_world()
ASKED = user("What is the fee?")


def a_read(value: Json, message: int = 1, *, ok: bool = True) -> ExecutedCall:
    result = CallResult(call=Call(tool="list_fees"), ok=ok, value=value)
    return ExecutedCall(0, message, 0, "list_fees", {}, result, False, [])


SHOWN = [a_read([{"fee_cents": 4200}, {"fee_cents": 1250}, {"fee_cents": 3000}])]


def is_told(*said: Message, steps: list[ExecutedCall] | None = None, **changes: Any) -> bool:
    fact = FactToTell.model_validate({**FEE, **changes})
    messages = [ASKED, agent(None, ("list_fees", {})), *said]
    return check_communicate([fact], messages, SHOWN if steps is None else steps, "2025-03-17 09:00:00").score == 1


@pytest.mark.parametrize(
    "words",
    [
        "The fee is 42.00.",
        "Your fee: **\u00a342**",
        "| fee | 42.00 |\n| deposit | 12.50 |",
        "Before your cancellation it was 12.50, now it is 42.00.",
        "The price for the whole time is 42.00 (3 days at 10.00 + 12.00 insurance).",
        "42",
    ],
)
def test_the_value_in_words_of_the_agent_tells_it_however_it_is_put(words: str) -> None:
    assert is_told(agent(words))


@pytest.mark.parametrize(
    "words",
    ["I have looked it up.", "The fee is 12.50.", "It is 12.50, 30.00, 99.00 or 42.00.", "<think>42.00</think>Hm."],
)
def test_silence_a_neighbour_and_all_candidates_tell_nothing(words: str) -> None:
    assert not is_told(agent(words))


def test_the_last_message_that_holds_the_value_or_a_rival_decides() -> None:
    assert is_told(agent("It is 12.50."), agent("Sorry: 42.00."), agent("Is there anything else?"))
    assert not is_told(agent("It is 42.00."), agent("Sorry: 12.50."))
    assert is_told(agent("It is 42.00."), agent("That is one of 7 fees."))


LIST = agent("They are 12.50, 30.00, 99.00 and 42.00. Which one do you mean?")


@pytest.mark.parametrize(
    ("answer", "told"),
    [("42.00 then, thank you.", True), ("Thank you.", False), ("12.50 or 42.00?", False), ("12.50 then.", False)],
)
def test_a_user_who_takes_the_value_out_of_a_list_was_told_it(answer: str, told: bool) -> None:
    assert is_told(LIST, user(answer)) is told
    assert not is_told(agent("They are 12.50, 30.00 and 99.00."), user(answer))


def test_what_the_user_says_or_stands_in_a_call_tells_nothing() -> None:
    assert not is_told(user("I heard it is 42.00."), agent("Indeed."))
    assert not is_told(agent(None, ("note", {"text": "42.00"})), agent("Noted."))


def test_what_is_told_before_a_result_has_shown_it_is_a_guess() -> None:
    early = [a_read([{"fee_cents": 4200}], message=3)]
    guessed = agent("I guess that it is 42.00.")
    assert not is_told(guessed, agent(None, ("list_fees", {})), agent("Thank you."), steps=early)
    assert is_told(guessed, agent(None, ("list_fees", {})), agent("Yes, 42.00."), steps=early)
    assert not is_told(agent("It is 42.00."), steps=[])
    assert not is_told(agent("It is 42.00."), steps=[a_read([{"fee_cents": 4200}], ok=False)])
    assert not is_told(agent("It is 42.00."), steps=[a_read([{"fee_cents": "4200"}])])


def test_words_beside_the_call_came_before_its_result() -> None:
    beside = agent("It is 42.00, let me see.", ("list_fees", {}))
    steps = [a_read([{"fee_cents": 4200}], message=2)]
    assert not is_told(beside, steps=steps)


def test_a_moment_may_be_told_by_its_day_and_time_apart() -> None:
    slot = {"values": ["2025-03-22 10:30:00"], "type": "datetime", "unit": None, "rivals": ["2025-03-22 11:30:00"]}
    steps = [a_read([{"starts_at": "2025-03-22 10:30:00"}])]
    assert is_told(agent("It is on Saturday, March 22 at 10:30."), steps=steps, **slot)
    assert is_told(agent("On 22 March there is one."), user("When?"), agent("At 10:30."), steps=steps, **slot)
    assert not is_told(agent("It is on Saturday, March 22 at 11:30."), steps=steps, **slot)
    assert not is_told(agent("It is on Saturday, March 22."), steps=steps, **slot)


def test_a_sum_can_be_known_once_all_its_parts_were_shown() -> None:
    total = {"values": [5450], "parts": [4200, 1250], "rivals": [7200, 4200]}
    steps = [a_read([{"fee_cents": 4200}]), a_read([{"fee_cents": 1250}], message=3)]
    later = agent(None, ("list_fees", {}))
    assert is_told(agent("Hm."), later, agent("It is 54.50 in all: 42.00 and 12.50."), steps=steps, **total)
    assert not is_told(agent("It is 54.50."), later, agent("Thank you."), steps=steps, **total)
    assert not is_told(agent("It is 54.50 in all."), steps=steps[:1], **total)
    assert not is_told(later, agent("42.00 and 12.50."), steps=steps, **total)
    assert not is_told(later, agent("It is 54.50."), agent("Sorry: 72.00."), steps=steps, **total)


def test_a_part_is_no_rival_of_the_sum() -> None:
    total = {"values": [5450], "parts": [4200, 1250], "rivals": [4200, 1250, 7200]}
    assert is_told(agent("54.50."), agent("42.00 and 12.50, as I said."), steps=SHOWN, **total)


def test_what_is_said_of_another_errand_does_not_take_back_what_was_told() -> None:
    fact = FactToTell.model_validate(FEE)
    talk = [ASKED, agent(None, ("list_fees", {})), agent("It is 42.00."), agent(None, ("pay_fee", {})), agent("12.50.")]
    assert check_communicate([fact], talk, SHOWN).missing == ["told_1"]
    assert check_communicate([fact], talk, SHOWN, ends=[3]).missing == []
    assert check_communicate([fact], talk, SHOWN, ends=[2]).missing == ["told_1"]
    corrected = [*talk[:3], agent("Sorry: 30.00."), *talk[3:]]
    assert check_communicate([fact], corrected, SHOWN, ends=[4]).missing == ["told_1"]


def test_an_errand_ends_with_a_write_or_with_what_the_user_tells_next() -> None:
    facts = [{"id": "slot.dentist_name", "text": "With Dr Hale.", "value": "Dr Hale", "tell": "later"}]
    later = {"when": "after_report", "says": "A slot with Dr Hale, too.", "facts": ["slot.dentist_name"]}
    scenario = {"goal": "", "reason": "", "facts": facts, "later": later}
    drop = agent(None, ("drop_reminder", {"appointment_id": "APT-0001"}))
    talk = [ASKED, agent(None, ("list_fees", {})), drop, agent("Done."), user("And a slot with Dr Hale."), agent("Hm.")]
    for forms, ends in (([{"name": "errands"}], [2, 4]), ([], [])):
        task = a_task(scenario=scenario, forms=forms)
        assert ends_of_errands(a_conversation(WORLD, task, *talk)) == ends


def test_the_score_is_the_share_of_the_facts_that_were_told() -> None:
    facts = [
        FactToTell.model_validate({**FEE, "fact": f"told_{at}", "values": [v]}) for at, v in ((1, 4200), (2, 1250))
    ]
    check = check_communicate(facts, [ASKED, agent(None), agent("It is 42.00.")], SHOWN)
    assert (check.score, check.missing) == (0.5, ["told_2"])
    assert check_communicate([], [], []).score == 1.0


FORESEEN: dict[str, Any] = {
    "values": [4800],
    "rivals": [5300],
    "foreseen": {"calls": [{"tool": "cancel_appointment", "arguments": {}}], "column": "fee_cents"},
}
"""A fee that no result shows: the agent works it out."""


@pytest.mark.parametrize(
    "words",
    [
        "It would cost you 48.00.",
        "Three nights at 32.00 make 96.00, and half of that is due: 48.00.",
        "1. The booking stays at 30.00.\n2. The other one at 12.50.\n3. To cancel would cost 48.00 (50 % of 96.00).",
    ],
)
def test_what_is_worked_out_may_be_explained(words: str) -> None:
    assert is_told(agent(words), **FORESEEN)
    assert is_told(agent(words), steps=[], **FORESEEN)


@pytest.mark.parametrize(
    "words",
    [
        "It would come to 53.00.",
        "It would come to one of 44.00, 45.00, 46.00, 47.00, 48.00, 49.00, 50.00, 51.00 or 52.00.",
        ", ".join(f"{euros}.00" for euros in range(20, 80)),
    ],
)
def test_what_is_worked_out_is_not_one_of_many(words: str) -> None:
    assert not is_told(agent(words), **FORESEEN)


@pytest.mark.parametrize("mark", [", ", "\n"])
def test_nor_is_a_sum_one_of_many(mark: str) -> None:
    total: dict[str, Any] = {"values": [5450], "parts": [4200, 1250]}
    steps = [a_read([{"fee_cents": 4200}, {"fee_cents": 1250}])]
    many = mark.join(f"{euros}.50" for euros in range(40, 80))
    assert not is_told(agent(None, ("list_fees", {})), agent(many), steps=steps, **total)


def test_a_rival_that_is_told_later_takes_it_back() -> None:
    assert not is_told(agent("It would be 48.00."), agent("I have to correct myself: it would be 53.00."), **FORESEEN)

"""What an author's words for a task may not do."""

import pytest

from skillweave.schema.request import FactWords, KnownFact, Telling, UserRequest
from skillweave.schema.task import Persona
from synth.tasks.tellings import telling_faults
from tests.gates.clinic_tasks import a_move

STARTS = KnownFact(
    id="appointment.starts_at",
    value="2025-01-21 12:30:00",
    words="21 January at 12:30",
    type="datetime",
    about="appointment: starts at",
    withheld=True,
)
METHOD = KnownFact(id="pay.method", value="bank_transfer", words="bank_transfer", type="string", about="pay: method")


GOAL = "You want to move your visit."


def faults(
    message: str, *known: KnownFact, goal: str = GOAL, tell: str = "asked", reason: str | None = None
) -> list[str]:
    """What is wrong where each thing known is told in one sentence."""
    words = {one.id: "{value}" if one.withheld else one.words for one in known}
    facts = [
        FactWords.model_validate({"id": name, "text": f"It is {said}.", "tell": tell}) for name, said in words.items()
    ]
    return faults_of(Telling(id="1", first_message=message, goal=goal, reason=reason, facts=facts), *known)


def faults_of(telling: Telling, *known: KnownFact) -> list[str]:
    persona = Persona(name="Ana Lopez", age=43, style="brief", patience=3)
    request = UserRequest(title="t", company="c", persona=persona, reason="So.", wishes=[], known=list(known))
    return telling_faults(telling, request, a_move())


def test_what_is_left_out_is_kept_until_asked() -> None:
    assert faults("I want to move my visit.", STARTS) == []
    assert "fact 'appointment.starts_at' is left out: it is told when asked for" in faults(
        "I want to move my visit on 21 January at 12:30.", STARTS, tell="first"
    )


def test_neither_the_message_nor_the_goal_says_what_is_left_out() -> None:
    said = METHOD.model_copy(update={"withheld": True})
    assert [fault[:17] for fault in faults("I pay by bank transfer.", said)] == ["the first message"]
    assert [fault[:8] for fault in faults("I pay.", said, goal="You pay by Bank Transfer.")] == ["the goal"]
    assert faults("I pay by card.", said) == []


def test_words_that_say_something_else_tell_what_is_left_out_all_the_same() -> None:
    said = METHOD.model_copy(update={"withheld": True})
    other = METHOD.model_copy(update={"id": "refund.method"})
    (fault,) = faults("I want my refund by bank transfer, and to pay.", said, other)
    assert fault.startswith("the first message says the value of 'pay.method', which is left out")


def test_a_figure_within_other_words_is_not_what_is_left_out() -> None:
    said = KnownFact(id="renew.refills", value=1, words="1", type="integer", about="renew: refills", withheld=True)
    window = KnownFact(
        id="window.starts_at", value="2026-04-01 09:00:00", words="April 1 at 09:00", type="datetime", about="window"
    )
    goal = "You come on April 1 at 09:00."
    assert not [fault for fault in faults("I come in spring.", said, window, goal=goal) if "left out" in fault]
    goal = "You come on April 1 at 09:00 for 1 refill."
    left_out = [fault for fault in faults("I come in spring.", said, window, goal=goal) if "left out" in fault]
    assert [fault[:31] for fault in left_out] == ["the goal says the value of 'ren"]


def test_what_nobody_would_ask_for_is_said_at_once() -> None:
    said = METHOD.model_copy(update={"volunteered": True})
    complaint = "the first message has to say 'bank_transfer': nobody would ask for it"
    assert faults("I pay.", said) == [complaint]
    assert faults("I pay by bank transfer.", said, tell="first") == []


def test_the_value_of_what_is_left_out_is_put_in_by_us() -> None:
    said = METHOD.model_copy(update={"withheld": True})
    blind = Telling(id="1", first_message="I pay.", goal=GOAL, facts=[FactWords(id=said.id, text="I pay by card.")])
    assert faults_of(blind, said) == ["the text of fact 'pay.method' has to hold '{value}', where its value is put in"]
    assert faults("I pay by {value}.", said) == ["the first message holds '{value}', which nobody says"]
    assert faults("I move <visit>.") == ["the first message holds '<visit>', which nobody says"]


def test_a_name_that_is_marked_first_is_said() -> None:
    name = METHOD.model_copy(update={"value": "Dr Yuki Tanabe", "words": "Dr Yuki Tanabe"})
    assert faults("I come to Tanabe.", name, tell="first") == []
    assert faults("I come.", name, tell="first") == [
        "the first message does not say 'Dr Yuki Tanabe', which is marked `first`"
    ]


@pytest.mark.parametrize("reason", [None, "I am away on 21 January.", "My 2 children have the flu."])
def test_a_reason_may_say_what_is_known_or_nothing(reason: str | None) -> None:
    known = STARTS.model_copy(update={"withheld": False})
    assert faults("I want to move my visit.", known, reason=reason) == []


def test_goal_reason_and_facts_have_no_figure_that_nobody_knows() -> None:
    known = STARTS.model_copy(update={"withheld": False})
    assert faults("Move it.", known, reason="I fly on 3 March.") == [
        "the reason says '3 march', which this person does not know"
    ]
    assert faults("Move it.", known, goal="You want to pay 95.00.") == [
        "the goal says '95.00', which this person does not know"
    ]
    text = "It is 21 January at 12:30, in room 214."
    telling = Telling(id="1", first_message="Move it.", goal=GOAL, facts=[FactWords(id=known.id, text=text)])
    assert faults_of(telling, known) == [
        "the text of fact 'appointment.starts_at' says '214', which this person does not know"
    ]


def test_nobody_is_asked_for_words_for_what_identifies_the_person() -> None:
    email = METHOD.model_copy(update={"id": "me.email", "secret": True})
    bare = Telling(id="1", first_message="Move it.", goal=GOAL, facts=[])
    assert faults_of(bare, email) == []
    assert faults("Move it.", email) == ["there is no fact 'me.email'"]


def test_a_day_that_is_said_by_its_weekday_is_said_so() -> None:
    known = STARTS.model_copy(update={"withheld": False, "words": "Tuesday next week at 12:30", "volunteered": True})
    assert faults("Come on tuesday next week at 12:30.", known, tell="first") == []
    assert faults("Come at 12:30.", known, tell="first") == [
        "the first message does not say 'Tuesday next week at 12:30', which is marked `first`"
    ]

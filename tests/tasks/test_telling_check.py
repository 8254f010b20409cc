"""What an author's words for a task may not do."""

from skillweave.schema.task import Persona
from skillweave.schema.telling import FactWords, Known, Request, Telling
from synth.tasks.telling_check import telling_faults
from tests.gates.clinic_tasks import a_move

STARTS = Known(
    id="appointment.starts_at",
    value="2025-01-21 12:30:00",
    words="21 January at 12:30",
    type="datetime",
    about="appointment: starts at",
    withheld=True,
)
METHOD = Known(id="pay.method", value="bank_transfer", words="bank_transfer", type="string", about="pay: method")


def faults(message: str, *known: Known, goal: str = "You want to move your visit.", tell: str = "asked") -> list[str]:
    facts = [FactWords.model_validate({"id": one.id, "text": f"It is {one.words}.", "tell": tell}) for one in known]
    persona = Persona(name="Ana Lopez", age=43, style="brief", patience=3)
    request = Request(title="t", company="c", persona=persona, reason="So.", wishes=[], known=list(known))
    return telling_faults(Telling(first_message=message, goal=goal, facts=facts), request, a_move())


def test_what_is_left_out_is_kept_until_asked() -> None:
    assert faults("I want to move my visit.", STARTS) == []
    assert "fact 'appointment.starts_at' is given only when asked for" in faults(
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
    assert fault.startswith("the first message says 'bank_transfer', which is left out")


def test_a_figure_within_other_words_is_not_what_is_left_out() -> None:
    said = Known(id="renew.refills", value=1, words="1", type="integer", about="renew: refills", withheld=True)
    window = Known(
        id="window.starts_at", value="2026-04-01 09:00:00", words="April 1 at 09:00", type="datetime", about="window"
    )
    goal = "You come on April 1 at 09:00."
    assert not [fault for fault in faults("I come in spring.", said, window, goal=goal) if "left out" in fault]
    goal = "You come on April 1 at 09:00 for 1 refill."
    left_out = [fault for fault in faults("I come in spring.", said, window, goal=goal) if "left out" in fault]
    assert [fault[:17] for fault in left_out] == ["the goal says '1'"]


def test_what_nobody_would_ask_for_is_said_at_once() -> None:
    said = METHOD.model_copy(update={"volunteered": True})
    complaint = "the first message has to say 'bank_transfer': nobody would ask for it"
    assert faults("I pay.", said) == [complaint]
    assert faults("I pay by bank transfer.", said, tell="first") == []

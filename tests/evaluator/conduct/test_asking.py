"""What a user left out has to be asked for before the write that needs it."""

from typing import Any

import pytest

from evaluator.checks.policy import check_policy, conduct
from evaluator.conduct.questions import asks_for
from skillweave.schema.message import Message
from skillweave.schema.task import Fact, GoldenCall, Task
from skillweave.world.replay import replay
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

WORLD = a_world()
CANCEL = ("cancel_appointment", {"appointment_id": "APT-0001", "reason": "travel"})
BOOK = ("book_appointment", {"slot_id": "SLO-0006"})
REASON = {"id": "cancel_appointment.reason", "text": "Reason: travel.", "value": "travel", "tell": "asked"}
START = {"id": "slot.starts_at", "text": "At 16:30.", "value": "2025-01-23 16:30:00", "tell": "asked"}
CANCELLING = [GoldenCall(tool=CANCEL[0], arguments={**CANCEL[1]})]
BOOKING = [
    GoldenCall(tool="find_slots", arguments={"date": "2025-01-23"}, grounding={"date": "user"}),
    GoldenCall(tool=BOOK[0], arguments={**BOOK[1]}, grounding={"slot_id": "call 0 [0].slot_id"}),
]


def a_clarification(golden: list[GoldenCall], *facts: dict[str, Any], rows: tuple[str, ...] = ()) -> Task:
    """`rows`: ids of facts of which one is enough; each other one has to be asked for."""
    alone = [fact["id"] for fact in facts if fact["tell"] == "asked" and fact["id"] not in rows]
    needs = [*([[*rows]] if rows else []), *([one] for one in alone)]
    state = replay(WORLD, a_task(golden=golden)).changes
    return a_task(
        kind="clarify",
        golden=golden,
        scenario={"goal": "", "reason": "", "facts": list(facts)},
        criteria={
            "state": state,
            "must_ask": [{"facts": needed, "tool": golden[-1].tool} for needed in needs],
            "reward_basis": ["state", "policy"],
        },
    )


def violations(task: Task, *messages: Message) -> list[str]:
    return check_policy(a_conversation(WORLD, task, *messages)).violations


@pytest.mark.parametrize(
    ("said", "is_asked"),
    [
        ("What is the reason?", True),
        ("Why do you want to cancel it?", True),
        ("Please tell me the reason.", True),
        ("I need a reason for that.", True),
        ("Shall I cancel it?", False),
        ("The reason does not matter.", False),
        ("What can I do for you? I see no reason to wait.", False),
        ("There's a reason I ask: shall I cancel it?", False),
        ("Do you have a reason to believe it was booked?", False),
        ("<think>What is the reason?</think>Shall I cancel it?", False),
        ("Is there any other appointment?", False),
        ("What's prompting the cancellation?", True),
        ("May I ask what happened?", True),
        ("Is it due to illness, travel or something else?", True),
        ("**Reason for cancelling** (illness / travel / other):", True),
        ("Kindly provide the reason.", True),
        ("I just need to note down why you're cancelling.", True),
        ("What shall I record for the cancellation?", True),
        ("To proceed, tell me: (1) the reason.", True),
        ("Your reason, please.", True),
        ("Shall I cancel it for that reason?", False),
        ("I need your confirmation to cancel it for this reason.", False),
        ("May I ask the reason?", True),
        ("Shall I put illness or travel as the reason?", True),
    ],
)
def test_the_question_has_to_name_what_was_left_out(said: str, is_asked: bool) -> None:
    messages = [user("Cancel my appointment."), agent(said), user("Fine."), agent(None, CANCEL)]
    missing = [] if is_asked else ["not asked for cancel_appointment.reason in call 0 (cancel_appointment)"]
    assert violations(a_clarification(CANCELLING, REASON), *messages) == missing


@pytest.mark.parametrize(
    ("said", "is_asked"),
    [
        ("Would you prefer 9:30 or 16:30?", True),
        ("Morning or afternoon?", True),
        ("Which one would you like?", True),
        ("I have 9:30 and 16:30 available. Any preference?", True),
        ("Shall I book it from 9:30 to 10:30?", False),
        ("What would you like me to do?", False),
    ],
)
def test_values_put_up_for_choice_ask_for_it(said: str, is_asked: bool) -> None:
    found = violations(a_clarification(BOOKING, START), user("Book it."), agent(said), user("Fine."), agent(None, BOOK))
    assert (found == []) == is_asked


def test_which_one_asks_for_one_fact_and_not_for_two() -> None:
    note = {"id": "book_appointment.note", "text": "Note: pain.", "value": "pain", "tell": "asked"}
    golden = [BOOKING[0], BOOKING[1].model_copy(update={"arguments": {**BOOK[1], "note": "pain"}})]
    task = a_clarification(golden, START, note)
    which = [user("Book it."), agent("Which one would you like?"), user("Fine."), agent(None, BOOK)]
    assert len(violations(task, *which)) == 2
    assert violations(task, *which[:2], user("Fine."), agent("And the note?"), user("Fine."), agent(None, BOOK)) == []


@pytest.mark.parametrize(
    ("reply", "is_said"), [("Travel, yes.", True), ("Yes, for travelling.", False), ("Yes.", False)]
)
def test_what_the_user_said_need_not_be_asked_for(reply: str, is_said: bool) -> None:
    found = violations(
        a_clarification(CANCELLING, REASON), user("Cancel it."), agent("Sure?"), user(reply), agent(None, CANCEL)
    )
    assert (found == []) == is_said
    first = violations(
        a_clarification(CANCELLING, REASON), user(reply), agent("Sure?"), user("Yes."), agent(None, CANCEL)
    )
    assert len(first) == 1


def test_a_time_is_said_with_its_hour_and_not_with_its_day() -> None:
    task = a_clarification(BOOKING, START)
    for reply, is_said in (("Half past four in the afternoon.", True), ("On 23 January.", False), ("At 9:30.", False)):
        found = violations(task, user("Book it."), agent("Sure."), user(reply), agent(None, BOOK))
        assert (found == []) == is_said, reply


def test_a_time_beside_another_day_is_another_moment() -> None:
    task = a_clarification(BOOKING, {**START, "text": "On 23 January at 16:30."})
    for reply, is_said in (("I come on 21 January at 16:30.", False), ("On 23 January at 16:30.", True)):
        found = violations(task, user("Book it."), agent("Sure."), user(reply), agent(None, BOOK))
        assert (found == []) == is_said, reply


@pytest.mark.parametrize(
    ("name", "value", "said", "is_asked"),
    [
        ("pay.method", "card", "By which means would you like to pay?", True),
        ("pay.method", "card", "May I ask how you are?", False),
        ("submit_claim.amount_cents", 4500, "What is the total on it?", True),
        ("submit_claim.amount_cents", 4500, "Do you want to pay in full or just a part?", True),
        ("submit_claim.provider_name", "Elm Court", "Where were you treated?", True),
        ("treatment.treatment_name", "filling", "What would you like to have done?", True),
        ("treatment.treatment_name", "filling", "What is the visit for?", True),
        ("treatment.treatment_name", "filling", "What else is there?", False),
        ("invoice.treatment_name", "filling", "Which bill would you like to settle?", True),
        ("statement.addressee", "insurer", "What do you need the statement for?", True),
        ("add.date_of_birth", "2015-02-03", "How old is your child?", True),
    ],
)
def test_people_ask_in_other_words_than_the_data(name: str, value: Any, said: str, is_asked: bool) -> None:
    fact = {"id": name, "text": "It is so.", "value": value, "tell": "asked"}
    talk = [user("Cancel it."), agent(said), user("Fine."), agent(None, CANCEL)]
    assert (violations(a_clarification(CANCELLING, fact), *talk) == []) == is_asked


def test_what_was_asked_before_the_request_is_not_asked() -> None:
    early = [agent("What is the reason?"), user("Cancel my appointment."), agent(None, CANCEL)]
    assert len(violations(a_clarification(CANCELLING, REASON), *early)) == 1


def test_asking_after_the_write_or_beside_it_is_too_late() -> None:
    task = a_clarification(CANCELLING, REASON)
    assert len(violations(task, user("Cancel it."), agent("And the reason?", CANCEL))) == 1
    assert len(violations(task, user("Cancel it."), agent(None, CANCEL), agent("What was the reason?"))) == 1


def test_the_user_naming_it_is_no_question_of_the_agent() -> None:
    assert len(violations(a_clarification(CANCELLING, REASON), user("Is a reason needed?"), agent(None, CANCEL))) == 1


def test_what_was_told_at_once_need_not_be_asked_for() -> None:
    task = a_clarification(CANCELLING, {**REASON, "tell": "first"})
    assert violations(task, user("Cancel it, I travel."), agent(None, CANCEL)) == []


OWN_START = {"id": "appointment.starts_at", "text": "On 21 January.", "value": "2025-01-21 12:30:00", "tell": "asked"}
DENTIST = {"id": "appointment.dentist_name", "text": "With Dr Iyer.", "value": "Dr Iyer", "tell": "asked"}
ROW = (OWN_START["id"], DENTIST["id"])


@pytest.mark.parametrize(
    ("said", "is_asked"),
    [
        ("Which appointment do you mean?", True),
        ("What appointment is it about?", True),
        ("Which one?", True),
        ("When is it?", True),
        ("Which dentist is it with?", True),
        ("Is it the one with Dr Iyer or the one with Dr Hale?", True),
        ("Could you tell me the date, and your phone number?", True),
        ("Shall I cancel your appointment?", False),
        ("I would cancel your appointment of 21 January at 12:30 now. Is that right?", False),
        ("May I cancel the appointment at that time?", False),
        ("Please confirm that I shall cancel the appointment.", False),
        ("What is your phone number?", False),
        ("Which clinic do you go to?", False),
        ("How can I help you?", False),
    ],
)
def test_of_a_row_any_of_its_facts_is_enough_and_silence_is_not(said: str, is_asked: bool) -> None:
    """No argument of a golden call is one of its facts: they only tell the row from others."""
    task = a_clarification(CANCELLING, OWN_START, DENTIST, rows=ROW)
    found = violations(task, user("Cancel my appointment."), agent(said), user("Fine."), agent(None, CANCEL))
    missing = ["not asked for appointment.starts_at or appointment.dentist_name in call 0 (cancel_appointment)"]
    assert found == ([] if is_asked else missing)


def test_a_guess_that_the_user_corrects_needs_no_further_question() -> None:
    task = a_clarification(CANCELLING, OWN_START, DENTIST, rows=ROW)
    guess = [user("Cancel my appointment."), agent("Shall I cancel the one with Dr Hale?")]
    assert violations(task, *guess, user("No, it is with Dr Iyer."), agent(None, CANCEL)) == []
    assert len(violations(task, *guess, user("Yes."), agent(None, CANCEL))) == 1


def test_reads_and_refused_calls_need_nothing_yet() -> None:
    task = a_clarification(CANCELLING, OWN_START, DENTIST, rows=ROW)
    tried = agent(None, ("find_slots", {}), ("cancel_appointment", {"appointment_id": "APT-0002"}))
    messages = [user("Cancel it."), tried, agent("Which one?"), user("With Dr Iyer."), agent(None, CANCEL)]
    assert violations(task, *messages) == []


def test_who_never_asks_and_never_acts_has_not_asked_either() -> None:
    task = a_clarification(CANCELLING, REASON)
    assert violations(task, user("Cancel it."), agent("Sure.")) == ["not asked for cancel_appointment.reason"]


def test_a_session_is_judged_by_the_places_of_its_calls_in_the_conversation() -> None:
    task = a_clarification(CANCELLING, REASON)
    asked = [user("Cancel it."), agent("Why?", ("find_slots", "{")), user("Travel."), agent(None, CANCEL)]
    with WORLD.session(task) as session:
        session.call(*CANCEL)
        found = conduct(task, session.results, None, asked)
        late = conduct(task, session.results, None, [asked[0], asked[3], asked[1]])
        assert conduct(task, session.results, None, None) is None
    assert found is not None
    assert found.violations == []
    assert late is not None
    assert late.violations == ["not asked for cancel_appointment.reason in call 0 (cancel_appointment)"]


@pytest.mark.parametrize(
    ("said", "is_asked"),
    [
        ("What is the number?", True),
        ("Which number of visits?", True),
        ("Could you repeat the account number?", False),
        ("Could you repeat the flight number?", False),
        ("What is your phone number?", False),
        ("What is your phone number, and how many visits?", True),
    ],
)
def test_a_number_that_tells_things_apart_is_no_figure(said: str, is_asked: bool) -> None:
    fact = Fact(id="book_visits.visits", text="Visits: 4.", value=4, tell="asked")
    assert asks_for(said.replace("visits", "times"), fact, ()) is is_asked

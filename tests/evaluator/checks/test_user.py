"""What the user check finds in whole conversations."""

from typing import Any

import pytest

from evaluator.checks.user import check_user
from skillweave.schema.score import UserCheck
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, UserTurn
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

WORLD = a_world()
OPENING = "Hello, please move my appointment of 21 January at 12:30 to 23 January at 16:30."
FACTS: list[dict[str, Any]] = [
    {"id": "me.email", "text": "My email is ana@example.com.", "value": "ana@example.com", "tell": "asked"},
    {"id": "me.date_of_birth", "text": "My date of birth is 1 March 1981.", "value": "1981-03-01", "tell": "asked"},
    {
        "id": "appointment.starts_at",
        "text": "It is my appointment of 21 January at 12:30.",
        "value": "2025-01-21 12:30:00",
        "tell": "first",
    },
    {
        "id": "slot.starts_at",
        "text": "It is the slot on 23 January at 16:30.",
        "value": "2025-01-23 16:30:00",
        "tell": "first",
    },
    {"id": "fee.most_cents", "text": "I would pay at most 40.00.", "value": 4000, "tell": "never"},
]


def a_move(**changes: Any) -> Task:
    given: dict[str, Any] = {
        "messages": [{"role": "user", "content": OPENING}],
        "user_system_prompt": "You are Ana Lopez, and you are writing to the assistant of Small Clinic, Room B-12.",
        "scenario": {"goal": "You want to move your appointment.", "reason": "I travel.", "facts": FACTS},
    }
    return a_task(**{**given, **changes})


def checked(*messages: Message, task: Task | None = None) -> UserCheck:
    return check_user(a_conversation(WORLD, task or a_move(), *messages))


def test_a_user_who_keeps_to_what_it_knows_is_not_found_fault_with() -> None:
    found = checked(
        user(OPENING),
        agent("Your email and date of birth? The fee is 12.50.", ("list_fees", {})),
        user("ana@example.com, 01/03/1981. So 12.50 for Small Clinic, Room B-12?"),
        agent("Dr Hale is free on 23 January at 16:30. Shall I?"),
        user("Yes, Dr Hale on Thursday the 23rd, please. I'm Ana Lopez. ###STOP###"),
    )
    assert (found.score, found.faults) == (1.0, [])


@pytest.mark.parametrize(
    ("words", "token"),
    [
        ("My email is ana.lopez@example.org.", "ana.lopez@example.org"),
        ("I was born on 2 March 1981.", "2 march 1981"),
        ("Please charge 99.95.", "99.95"),
        ("It is APT-0007.", "apt-0007"),
    ],
)
def test_what_is_invented_is_told_with_its_message(words: str, token: str) -> None:
    found = checked(user(OPENING), agent("Your details?"), user(words))
    assert found.score == 0.0
    told = [(2, f"{token!r} is nothing that the user knows or was told")]
    assert [(one.message, one.fault) for one in found.faults] == told


def test_what_is_said_behind_the_end_is_not_judged() -> None:
    assert checked(user(OPENING), agent("No."), user("Goodbye. ###STOP###"), user("It is 99.95.")).faults == []


def test_what_the_agent_said_before_is_no_fault_and_after_it_is() -> None:
    assert checked(user(OPENING), agent("It costs 99.95."), user("99.95 is fine.")).faults == []
    late = checked(user(OPENING), agent("Well?"), user("99.95 is fine."), agent("It costs 99.95."))
    assert [fault.message for fault in late.faults] == [2]


def test_what_only_a_tool_returned_is_not_known_to_the_user() -> None:
    seen = Message(role="tool", tool_call_id="call_0", content='{"amount_cents": 9995, "amount": "99.95"}')
    found = checked(user(OPENING), agent(None, ("list_fees", {})), seen, user("99.95 is fine."))
    assert [fault.message for fault in found.faults] == [3]


def test_words_of_the_agent_and_of_the_user_are_not_mixed_up() -> None:
    assert checked(user(OPENING), agent("I can offer 30 January at 10:00 with Dr Iyer for 99.95.")).faults == []


def test_a_first_message_with_an_invented_value_is_a_fault_and_one_rendered_from_facts_is_none() -> None:
    assert checked(user("hi! i need to move my appointment, the one of january 21 at 12:30.")).faults == []
    found = checked(user("hi! i need to move my appointment of january 27."))
    assert [fault.message for fault in found.faults] == [0]


LEAVES = "Then I would rather leave it. Goodbye."
READ = agent(None, ("list_fees", {}))


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ((agent("Shall I move it?"), user(LEAVES)), True),
        ((agent("I am moving it."), user(LEAVES)), False),
        ((agent("Which rule do you mean?", ("decline_request", {"rule": "R3"})), user(LEAVES)), False),
        ((agent("Shall I?", ("drop_reminder", {"appointment_id": "APT-0001"})), user(LEAVES)), False),
    ],
)
def test_who_leaves_while_a_question_is_open_and_nothing_came_of_it_has_left(
    messages: tuple[Message, ...], left: bool
) -> None:
    turns = [UserTurn(message=0), UserTurn(message=2, done=True)]
    trial = a_conversation(WORLD, a_move(), user(OPENING), *messages, turns=turns)
    assert check_user(trial).left is left


def test_who_was_told_what_they_asked_for_has_not_left() -> None:
    fee = {"fact": "told_1", "noun": "fee", "values": [1250], "type": "integer", "unit": "cents"}
    criteria = {"state": [], "communicate": [fee], "reward_basis": ["state", "communicate"]}
    turns = [UserTurn(message=0), UserTurn(message=3, done=True)]
    for words, left in (("It is 12.50. Anything else?", False), ("Anything else?", True)):
        talk = (user(OPENING), READ, agent(words), user("No, thank you."))
        assert check_user(a_conversation(WORLD, a_move(criteria=criteria), *talk, turns=turns)).left is left


def test_who_never_comes_out_with_what_they_want_later_has_left() -> None:
    wish = {"id": "slot.dentist_name", "text": "It is the slot with Dr Hale.", "value": "Dr Hale", "tell": "later"}
    later = {"when": "after_report", "says": "Also, a slot with Dr Hale, please.", "facts": ["slot.dentist_name"]}
    task = a_move(scenario={"goal": "", "reason": "", "facts": [*FACTS, wish], "later": later})
    done = agent("It is dropped.", ("drop_reminder", {"appointment_id": "APT-0001"}))
    turns = [UserTurn(message=0), UserTurn(message=2), UserTurn(message=4, done=True)]
    for words, left in (("Thank you.", True), ("And a slot with Dr Hale?", False)):
        talk = (user(OPENING), done, user(words), agent("I see."), user("Goodbye."))
        assert check_user(a_conversation(WORLD, task, *talk, turns=turns)).left is left


def test_two_tasks_of_one_id_are_not_taken_for_each_other() -> None:
    facts = [{**FACTS[2], "text": "It is my appointment of 22 January.", "value": "2025-01-22 12:30:00"}]
    scenario = {"goal": "", "reason": "", "facts": facts}
    said = (user("Hello"), agent("Which?"), user("The one of 22 January."))
    assert [fault.message for fault in checked(*said).faults] == [2]
    assert checked(*said, task=a_move(scenario=scenario)).faults == []

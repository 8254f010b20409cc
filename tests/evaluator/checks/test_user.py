"""What the user check finds in whole conversations."""

from typing import Any

import pytest

from evaluator.checks.user import check_user
from skillweave.schema.message import Message
from skillweave.schema.score import UserCheck
from skillweave.schema.task import Task
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.pace import is_done_within
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
    ("words", "fault"),
    [
        ("My email is ana.lopez@example.org.", "'ana.lopez@example.org' is nothing that the user knows or was told"),
        ("I was born on 2 March 1981.", "'2 March 1981' is nothing that the user knows or was told"),
        ("Please charge 99.95.", "'99.95' is nothing that the user knows or was told"),
        ("It was with Dr Iyer.", "'Dr Iyer' is nothing that the user knows or was told"),
        ("My date of birth is 23 January.", "'23 January.' is not what the user knows of the date of birth"),
        ("I pay 40.00 and no more.", "'40.00' is something that the user keeps to itself"),
    ],
)
def test_what_is_invented_kept_back_or_contrary_is_told_with_its_message(words: str, fault: str) -> None:
    found = checked(user(OPENING), agent("Your details?"), user(words))
    assert found.score == 0.0
    assert [(one.message, one.fault) for one in found.faults] == [(2, fault)]


@pytest.mark.parametrize(
    ("words", "is_fault"),
    [
        ("My name is Peter Parker.", True),
        ("Hello, my name is Ana Garcia. I wrote before.", True),
        ("My name is Ana. Please help me.", False),
        ("My name's Ms Lopez.", False),
        ("My full name is Ana M. L\u00f3pez.", False),
        ("my name is on the card", False),
        ("1000 thanks!", False),
        ("It is 1000.", True),
        ("I'll call again tomorrow or on Friday.", False),
        ("I would like it on Friday.", True),
    ],
)
def test_small_talk_is_no_fault_and_a_name_that_is_not_the_users_is_one(words: str, is_fault: bool) -> None:
    assert bool(checked(user(OPENING), agent("Well?"), user(words)).faults) == is_fault


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


def test_a_kept_value_that_the_agent_named_may_be_spoken_of() -> None:
    assert checked(user(OPENING), agent("The fee is 40.00."), user("40.00 is all right.")).faults == []


def test_a_user_who_leaves_with_nothing_done_or_says_nothing_is_no_fault() -> None:
    assert checked(user(OPENING), agent("No."), user("Then goodbye. ###STOP###")).score == 1.0
    assert checked().score == 1.0
    assert checked(agent("Hello?")).score == 1.0


def test_two_tasks_of_one_id_are_not_taken_for_each_other() -> None:
    facts = [{**FACTS[2], "text": "It is my appointment of 22 January.", "value": "2025-01-22 12:30:00"}]
    scenario = {"goal": "", "reason": "", "facts": facts}
    said = (user("Hello"), agent("Which?"), user("The one of 22 January."))
    assert [fault.message for fault in checked(*said).faults] == [2]
    assert checked(*said, task=a_move(scenario=scenario)).faults == []


def test_odd_conversations_are_read_in_no_time() -> None:
    odds = ("a" * 3000 + "_ 1", "1 " * 9000, "dr. " * 20_000, "12 - " * 9000, "jan 1 or " * 9000, "a-" * 9000 + "1@")
    talks = [[user(odd), agent(odd), user(odd), agent(odd), user("It is 77.77.")] for odd in odds]
    talks.append([message for _ in range(2000) for message in (user("1 May, 10.00"), agent("2 May, 11.00"))])
    assert is_done_within(10, lambda: [checked(*talk) for talk in talks])

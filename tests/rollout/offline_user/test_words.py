"""What may be in a user's words at all."""

import re
from collections.abc import Iterator
from random import Random

from rollout.user.telling.telling import TELLINGS
from skillweave.schema.task import Task
from tests.rollout.offline_user.chats import STOP, a_move, a_question, a_story, role, talk

AGENT = (
    "Hello! How can I help you today?",
    "Could you tell me your e-mail address and your date of birth?",
    "Which appointment do you mean?",
    "What is your insurance number?",
    "Which of these would you like: 1) 9:15 with Dr Novak, 2) 16:45 with Dr Petrov?",
    "May I have your name?",
    "Please confirm: I will move it to 23 January at 09:15.",
    "I will move your appointment to 22 January at 14:30. Is that right?",
    "One moment, please.",
    "I have moved your appointment. Anything else?",
    "I cannot do that.",
    "Would you like to pay by card or by bank transfer?",
    "Shall I pay invoice INV-0932 (80.00) for you?",
    "I am sorry, I did not get that.",
    "The amount taken was 80.00. Is there anything else?",
)
CRUISE = a_story(
    "You want to include the cover option called Cruise in your Holiday Plus policy for your trip to Kyoto. "
    "You want to know what the premium then is.",
    "hello. i intend to include the cover option called cruise in my holiday plus policy for my trip to kyoto. "
    "i'd also like to know what the premium then is.",
    [
        ("cover_option.cover_option_name", "It is the cover option called Cruise.", "Cruise", "first"),
        ("policy.product_name", "It is my Holiday Plus policy.", "Holiday Plus", "first"),
        ("policy.destination", "It is my policy for my trip to Kyoto.", "Kyoto", "first"),
        ("me.phone", "My phone is +44 7700 928022.", "+44 7700 928022", "asked"),
    ],
    style="hesitant",
    traits=["writes in lower case"],
    patience=7,
)


def conversations() -> Iterator[tuple[Task, int, list[str], list[str]]]:
    """Many agents in no order, with every telling: task, trial, what the agent said, what the user said."""
    for number in range(8):
        for task in (a_move(patience=9), a_question(), CRUISE):
            for trial in range(len(TELLINGS)):
                agent = list(AGENT)
                Random(f"{number}/{trial}").shuffle(agent)
                yield task, trial, agent, talk(role(task, trial, str(number)), agent, key=f"{number}")


def test_no_figure_and_no_name_is_said_that_the_role_does_not_hold_and_nobody_said_before() -> None:
    count = 0
    for task, trial, agent, said in conversations():
        played = role(task, trial)
        own = f"{played.scenario.goal} {played.opening} {played.persona} {played.scenario}"
        for place, words in enumerate(said):
            count += 1
            heard = f"{own} {' '.join(agent[: place + 1])}"
            assert [figure for figure in re.findall(r"\d+", words) if figure not in heard] == []
            assert [name for name in ("Novak", "Petrov", "INV") if name in words] == []
    assert count >= 300


def test_every_answer_says_something() -> None:
    assert all(words.replace(STOP, "").strip() for _, _, _, said in conversations() for words in said)


def test_the_mark_of_the_end_stands_at_the_end_alone() -> None:
    for _, _, _, said in conversations():
        assert all(STOP not in words for words in said[:-1])


def test_the_same_conversation_is_answered_in_the_same_words() -> None:
    task = a_move()
    assert talk(task, AGENT[:5]) == talk(task, AGENT[:5])
    assert talk(task, AGENT[:5]) != talk(task, AGENT[:5], key="another")


def test_golden_and_criteria_change_no_byte() -> None:
    for task in (a_move(), CRUISE):
        nonsense = task.model_copy(
            update={
                "golden": [],
                "kind": "inform",
                "criteria": task.criteria.model_copy(update={"communicate": [], "reward_basis": ["policy"]}),
                "difficulty": task.difficulty.model_copy(update={"calls": 99}),
            }
        )
        for trial in range(len(TELLINGS)):
            assert role(task, trial) == role(nonsense, trial)
            assert talk(task, AGENT, trial) == talk(nonsense, AGENT, trial)


def test_phrases_vary_between_conversations() -> None:
    task = a_question()
    said = {talk(task, ["You owe 12.00."], key=str(number))[0] for number in range(60)}
    assert len(said) >= 12

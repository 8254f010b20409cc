"""Orders of telling."""

from random import Random

import pytest

from rollout.user.role import Role
from rollout.user.telling.fact_words import is_said
from rollout.user.telling.telling import TELLINGS, role_of
from skillweave.schema.task import Task
from tests.rollout.offline_user.chats import a_move, a_question, a_story, talk

TASKS = (a_move(), a_question())


def tellings(task: Task, seed: str = "") -> list[Role]:
    return [role_of(task, "the clinic", trial, Random(f"{seed}/{trial}")) for trial in range(len(TELLINGS))]


def test_the_first_is_the_task_as_written() -> None:
    task = a_move()
    role = tellings(task)[0]
    assert (role.persona, role.scenario, role.opening) == (task.persona, task.scenario, task.messages[0].content)
    assert role.prompt == task.user_system_prompt
    assert role.telling == "written"


@pytest.mark.parametrize("task", TASKS)
def test_the_others_are_the_same_person_with_the_same_facts(task: Task) -> None:
    for number, role in enumerate(tellings(task)):
        assert role.telling == TELLINGS[number]
        assert (role.persona.name, role.persona.age) == (task.persona.name, task.persona.age)
        assert role.scenario.goal == task.scenario.goal
        known = [(fact.id, fact.text, fact.value) for fact in role.scenario.facts]
        assert known == [(fact.id, fact.text, fact.value) for fact in task.scenario.facts]


def test_what_is_told_at_once_is_what_the_user_says_unasked() -> None:
    for seed in range(10):
        for role in tellings(a_move(), str(seed)):
            said = role.opening
            if role.telling == "greeting":
                said = talk(role, ["How can I help you?"])[0]
            assert [fact.id for fact in role.scenario.facts if (fact.tell == "first") != is_said(fact, said)] == []


def test_five_tellings_tell_the_same_facts() -> None:
    questions = [
        "How can I help you?",
        "Anything else?",
        *("Your email and date of birth, please?",) * 2,
        "Which appointment is it?",
        "To which slot would you like to move it?",
        "I have moved your appointment. Anything else?",
        "Which invoice is it?",
        "How would you like to pay?",
        "I have paid it. Anything else?",
    ]
    for role in tellings(a_move(patience=12)):
        said = " ".join([role.opening, *talk(role, questions)])
        assert [fact.id for fact in role.scenario.facts if not is_said(fact, said)] == []
        assert "how much was taken" in said.lower()


def test_a_greeting_says_nothing_of_the_matter() -> None:
    role = tellings(a_move())[1]
    assert not any(word in role.opening.lower() for word in ("appointment", "invoice", "card", "january"))
    said = talk(role, ["How can I help you?"])[0].lower()
    assert "move my appointment on 21 january" in said
    assert "pay my cleaning invoice by card" in said


def test_piece_by_piece_the_next_comes_once_the_former_is_done() -> None:
    role = tellings(a_move())[2]
    assert "move my appointment" in role.opening.lower()
    assert "invoice" not in role.opening.lower()
    said = talk(role, ["I have moved your appointment.", "I have paid your invoice.", "80.00 was taken."])
    assert "cleaning invoice by card" in said[0].lower()
    assert "how much" not in said[0].lower()
    assert "how much was taken" in said[1].lower()
    assert "###STOP###" in said[2]


def test_piece_by_piece_the_next_comes_when_the_user_is_asked_for_more() -> None:
    role = tellings(a_move())[2]
    assert "cleaning invoice" in talk(role, ["Is there anything else?"])[0].lower()


def test_a_reserved_user_leaves_out_what_can_be_asked_for() -> None:
    role = tellings(a_move())[3]
    opening = role.opening.lower()
    assert "move my appointment to the slot" in opening
    assert "pay my invoice" in opening
    assert "january" not in opening
    assert "card" not in opening


def test_a_forthcoming_user_says_what_signs_them_in_at_once() -> None:
    opening = tellings(a_move())[4].opening
    assert "ana@example.com" in opening.lower()
    assert "3 may 1981" in opening.lower()


def test_the_prompt_of_a_telling_says_its_order_and_marks_the_facts_by_it() -> None:
    task = a_move()
    written, greeting, piecemeal, reserved, forthcoming = tellings(task)
    assert "You open with a greeting" in greeting.prompt
    assert "one thing at a time" in piecemeal.prompt
    assert "(when asked) It is the slot on 22 January at 14:30." in reserved.prompt
    assert "(at once) My email is ana@example.com." in forthcoming.prompt
    assert len({role.prompt for role in (greeting, piecemeal, reserved, forthcoming)}) == 4
    assert written.prompt == task.user_system_prompt


def test_a_fact_that_is_never_told_stays_so() -> None:
    task = a_story(
        "You want to book the scan called chest CT.",
        "I want to book the scan called chest CT.",
        [("me.email", "My email is ana@example.com.", "ana@example.com", "never")],
    )
    for role in tellings(task):
        assert "ana@example.com" not in role.opening
        assert role.scenario.facts[0].tell == "never"


def test_seeds_draw_other_manners() -> None:
    styles = {tellings(a_move(), str(seed))[1].persona.style for seed in range(30)}
    assert len(styles) > 4


def test_more_trials_than_tellings_are_further_personas() -> None:
    role = role_of(a_move(), "the clinic", len(TELLINGS) + 1, Random("x"))
    assert role.telling == "greeting"


def a_claim() -> Task:
    """A claim for which something else may be needed first."""
    return a_story(
        "You want to claim your cleaning bill. If the insurer needs it first, you agree to pay that bill by card.",
        "Hi, I'd like to claim my cleaning bill.",
        [
            ("invoice.treatment_name", "It is my cleaning bill.", "cleaning", "first"),
            ("pay_invoice.method", "Method: card.", "card", "asked"),
        ],
    )


def test_what_the_user_only_agrees_to_is_no_request_in_any_telling() -> None:
    for seed in range(10):
        for role in tellings(a_claim(), str(seed)):
            said = [role.opening, *talk(role, ["How can I help you?", "Is there anything else?"])]
            spoken = [one for one in said if "pay that bill" in one.lower()]
            assert all("agree" in one for one in spoken)
            assert len(spoken) == (role.telling == "forthcoming")


def test_how_it_is_to_be_done_is_told_with_it_or_when_asked() -> None:
    for role in tellings(a_claim()):
        told = {fact.id: fact.tell for fact in role.scenario.facts}
        assert told["pay_invoice.method"] == ("first" if role.telling == "forthcoming" else "asked")
        said = talk(
            role, ["How can I help you?", "Before I can claim it, the bill must be paid. How do you want to pay?"]
        )
        assert "card" in said[-1].lower()


def test_what_a_request_leaves_out_is_told_by_no_telling_unasked() -> None:
    task = a_move()
    facts = [fact.model_copy(update={"tell": "asked"}) for fact in task.scenario.facts]
    scenario = task.scenario.model_copy(update={"goal": "You want to move your appointment.", "facts": facts})
    for seed in range(5):
        for role in tellings(task.model_copy(update={"kind": "clarify", "scenario": scenario}), str(seed))[1:]:
            assert [fact.id for fact in facts if is_said(fact, role.opening)] == []
            assert {fact.tell for fact in role.scenario.facts} == {"asked"}

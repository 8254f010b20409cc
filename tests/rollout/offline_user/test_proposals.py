"""What is said to what the agent is about to do."""

import pytest

from tests.rollout.offline_user.chats import a_move, a_question, a_story, answer, talk

RIGHT = "I will move your appointment on 21 January at 12:30 to 22 January at 14:30. Shall I go ahead?"
WRONG_DAY = "I will move your appointment on 21 January at 12:30 to 23 January at 14:30. Shall I go ahead?"
WRONG_TIME = "I will move your appointment on 21 January at 12:30 to 22 January at 09:15. Is that right?"


def is_yes(said: str) -> bool:
    return said.lower().startswith(
        ("yes", "oh yes", "perfect, yes", "right", "exactly", "correct", "that's correct", "i c")
    )


def is_no(said: str) -> bool:
    return said.lower().startswith(
        ("no", "oh no", "oh, no", "oh, sorry, no", "not ", "that is not", "hang on", "hm, no")
    )


@pytest.mark.parametrize(
    "proposal",
    [
        RIGHT,
        "So you want me to move it to 2025-01-22 14:30. Is that correct?",
        "Moving 21 Jan 12:30 to 22 Jan 14:30. OK?",
        "My plan:\n- Move the visit to **January 22 at 2:30 PM**\n\nA fee of $15.00 is due. Do you confirm (yes/no)?",
        "Please confirm that I should go ahead.",
        "Are you happy for me to do that?",
    ],
)
def test_a_right_proposal_is_confirmed(proposal: str) -> None:
    assert is_yes(answer(a_move(), proposal))


@pytest.mark.parametrize("proposal", [WRONG_DAY, WRONG_TIME, "Moving 21 Jan 12:30 to 23 Jan 14:30. OK?"])
def test_a_contradicting_proposal_is_refused_with_what_is_wanted(proposal: str) -> None:
    said = answer(a_move(), proposal)
    assert is_no(said)
    assert "22 January at 14:30" in said


def test_wrong_then_right_is_confirmed() -> None:
    first, second = talk(a_move(), [WRONG_DAY, RIGHT])
    assert is_no(first)
    assert is_yes(second)


def test_another_choice_than_the_users_is_refused() -> None:
    said = talk(a_move(), ["I have moved your appointment.", "Shall I pay your cleaning invoice by bank transfer?"])[1]
    assert is_no(said)
    assert "card" in said


def test_another_person_than_the_users_is_refused() -> None:
    task = a_story(
        "You want to book the slot with Dr Iyer.",
        "I want to book the slot with Dr Iyer.",
        [("slot.dentist_name", "It is the slot with Dr Iyer.", "Dr Iyer", "first")],
    )
    assert is_no(answer(task, "Shall I book the slot with Dr Novak for you?"))
    assert is_yes(answer(task, "Shall I book the slot with Dr Iyer for you?"))


@pytest.mark.parametrize(
    "proposal",
    [
        "I would now change the bank account (account number: 997001). Shall I go ahead?",
        "So I will change the care plan (care plan: pay as you go), if that is right. May I?",
    ],
)
def test_another_deed_is_refused_though_its_words_sound_alike(proposal: str) -> None:
    goal = "{} to settle {} account with Larkfield Dental Care by bank transfer."
    task = a_story(goal.format("You want", "your"), goal.format("I want", "my"))
    assert is_no(answer(task, proposal))
    assert is_yes(answer(task, "I would settle your account by bank transfer. Shall I go ahead?"))


def test_another_number_of_the_same_thing_is_refused() -> None:
    task = a_story(
        "You want to book a room for 4 guests.",
        "I want to book a room for 4 guests.",
        [("book_room.party_size", "Party size: 4.", 4, "first")],
    )
    assert is_no(answer(task, "I would book a room for 3 guests. Shall I go ahead?"))
    assert is_yes(answer(task, "I would book a room for 4 guests, 120.00 a night. Shall I go ahead?"))


def test_another_code_is_refused() -> None:
    task = a_story(
        "You want to cancel your booking on KR 213.",
        "I want to cancel my booking on KR 213.",
        [("booking.flight_number", "It is my booking on KR 213.", "KR 213", "first")],
    )
    assert is_no(answer(task, "I would cancel your booking on KR 534. Do you confirm?"))


def test_a_due_date_and_a_fee_contradict_nothing() -> None:
    proposal = "I would pay your cleaning invoice (due on 3 February, 80.00, a late fee of 5.00) by card. Shall I?"
    assert is_yes(talk(a_move(), ["I have moved your appointment.", proposal])[1])


def test_what_was_not_asked_for_is_refused() -> None:
    said = answer(a_move(), "Shall I cancel your appointment on 21 January at 12:30?")
    assert is_no(said)
    assert "move" in said


def test_an_extra_is_declined() -> None:
    assert not is_yes(answer(a_move(), "Would you like me to also book a teeth whitening for you?"))


def test_who_only_wants_to_know_lets_nothing_be_done() -> None:
    assert not is_yes(answer(a_question(), "You owe money on one invoice. Shall I pay it for you now?"))


def test_after_a_yes_the_user_waits_for_the_report() -> None:
    _, after = talk(a_move(), [RIGHT, "Thank you, I am doing that now."])
    assert "###STOP###" not in after
    assert "appointment" not in after


def test_a_question_after_a_fact_to_be_confirmed_is_answered_with_the_fact() -> None:
    assert "3 May 1981" in answer(a_move(), "Please confirm your date of birth.")

"""What is told, and when."""

import pytest

from tests.rollout.offline_user.chats import a_move, a_question, a_story, answer, role, talk


def test_what_is_asked_for_is_told_and_nothing_else() -> None:
    said = answer(a_move(), "Could you tell me your e-mail address, please?")
    assert "ana@example.com" in said
    assert "1981" not in said


def test_several_facts_are_told_at_once() -> None:
    said = answer(a_move(), "To get started, I need:\n\n1. **Your email address**\n2. **Your date of birth**")
    assert "ana@example.com" in said
    assert "3 May 1981" in said


@pytest.mark.parametrize("question", ["When were you born?", "What's your DOB?", "May I have your birth date?"])
def test_a_fact_is_known_by_its_other_names(question: str) -> None:
    assert "3 May 1981" in answer(a_move(), question)


def test_verification_without_a_word_for_what_is_needed_is_answered_with_all_that_identifies() -> None:
    said = answer(a_move(), "Before I can do that, please verify your identity.")
    assert "ana@example.com" in said
    assert "3 May 1981" in said


def test_who_answers_one_question_at_a_time_brings_the_next_when_asked_again() -> None:
    task = a_move(traits=["answers one question at a time"])
    first, second = talk(task, ["Your email and date of birth, please?"] * 2)
    assert "ana@example.com" in first
    assert "1981" not in first
    assert "3 May 1981" in second


def test_the_record_in_a_question_says_which_date_is_meant() -> None:
    said = answer(a_move(), "Which appointment would you like to move?")
    assert "21 January at 12:30" in said
    assert "22 January" not in said


def test_where_to_is_answered_with_the_new_slot() -> None:
    said = answer(a_move(), "To which date and time?")
    assert "22 January at 14:30" in said
    assert "21 January" not in said


def test_a_choice_is_made_by_the_fact() -> None:
    said = answer(a_move(), "Would you like to pay by card or by bank transfer?").lower()
    assert "card" in said
    assert "transfer" not in said


def test_which_one_is_understood_from_the_sentence_before() -> None:
    said = answer(a_move(), "There is more than one invoice. Which one do you mean?")
    assert "cleaning" in said


def test_what_the_user_does_not_own_is_not_made_up() -> None:
    for question in ("What is your insurance number?", "What's your favourite colour?", "Do you have a middle name?"):
        said = answer(a_move(), question)
        assert not any(figure.isdigit() for figure in said)
        assert "ana@" not in said


def test_where_nothing_is_wanted_the_user_says_so() -> None:
    task = a_story(
        "You want to book the scan called chest CT.",
        "Hi, I want to book the scan called chest CT.",
        [("book_scan.referral_id", "I want nothing special as to the referral; leave it out.", None, "asked")],
    )
    said = answer(task, "Do you have a referral that you want to use?")
    assert "referral" in said
    assert "leave" in said


def test_the_id_of_a_record_is_not_known_but_what_tells_it_is() -> None:
    said = answer(a_move(), "Could you give me the appointment ID?")
    assert "21 January at 12:30" in said
    assert any(word in said.lower() for word in ("number", "reference", "code", "wouldn't know"))


def test_name_and_age_are_the_persons_own() -> None:
    said = answer(a_move(), "May I have your full name and age?")
    assert "Ana Lopez" in said
    assert "43" in said


def test_a_fact_that_is_never_told_is_not_told() -> None:
    task = a_story(
        "You want to book the scan called chest CT.",
        "Hi, I want to book the scan called chest CT.",
        [("me.email", "My email is ana@example.com.", "ana@example.com", "never")],
    )
    assert "ana@example.com" not in answer(task, "What is your email address?")


def test_codes_keep_their_capitals_in_lower_case_messages() -> None:
    task = a_story(
        "You want to cancel your booking.",
        "hi, i want to cancel my booking.",
        [
            ("me.postcode", "My postcode is DT78 0HY.", "DT78 0HY", "asked"),
            ("booking.flight_number", "It is my booking on KR 213.", "KR 213", "asked"),
        ],
        traits=["writes in lower case"],
    )
    said = answer(task, "What is your postcode, and which booking is it?")
    assert "DT78 0HY" in said
    assert "KR 213" in said
    assert said.replace("DT78 0HY", "").replace("KR 213", "").islower()


def test_the_prompt_of_a_question_is_played_by_the_same_rules() -> None:
    played = role(a_question(), trial=3)
    assert "(when asked) My email is ana@example.com." in played.prompt


def test_a_wallet_on_a_mobile_is_no_question_after_the_phone_number() -> None:
    facts = [
        ("me.phone", "My phone is +44 7700 991019.", "+44 7700 991019", "asked"),
        ("pay_rental.method", "Method: bank transfer.", "bank_transfer", "asked"),
    ]
    story = a_story("You want to pay your rental.", "Hi, I'd like to pay my rental.", facts)
    said = answer(story, "May I ask you for the method (card, bank transfer or mobile wallet)?").lower()
    assert "bank transfer" in said
    assert "991019" not in said
    assert "991019" in answer(story, "What is your mobile number?")

"""Errands, read from goals."""

from rollout.user.telling.errands import Errand, asked_for, errands_of


def words(goal: str, said: str = "") -> list[str]:
    return [errand.words for errand in errands_of(goal, said)]


def test_each_sentence_is_an_errand_in_the_first_person() -> None:
    found = errands_of(
        "You want to move your visit. After that you want to pay your invoice by card. You want to know what you owe."
    )
    assert found == (
        Errand("do", "move my visit"),
        Errand("do", "pay my invoice by card"),
        Errand("hear", "what I owe"),
    )


def test_the_users_own_message_says_who_is_meant() -> None:
    goal = "You want to know how much you owe you. You want to know how much you charge."
    assert words(goal, "Could you tell me how much I owe you? And tell me how much you charge.") == [
        "how much I owe you",
        "how much you charge",
    ]


def test_without_it_the_place_in_the_sentence_does() -> None:
    assert words("You want to have a copy sent to you.") == ["have a copy sent to me"]
    assert words("You want to know how much the copy has cost you.") == ["how much the copy has cost me"]
    assert words("You want to book a room, you are a party of two.") == ["book a room, I am a party of two"]


def test_a_full_stop_within_an_amount_or_a_name_ends_nothing() -> None:
    assert words("You want to claim 45.00 paid to Dr. Iyer. You want to know what is payable.") == [
        "claim 45.00 paid to Dr. Iyer",
        "what is payable",
    ]


def test_asking_somebody_to_do_something_is_an_errand_to_be_done() -> None:
    assert errands_of("You want to ask the doctor to renew your prescription.")[0].kind == "do"


def test_an_empty_goal_has_none() -> None:
    assert errands_of("") == ()


def test_what_is_only_agreed_to_is_told_apart_and_comes_last() -> None:
    goal = (
        "You want to claim your bill. If Aurora Plan needs it first, you agree to pay your bill with Dr. Iyer by card. "
        "You want to know what you get back."
    )
    assert errands_of(goal) == (
        Errand("do", "claim my bill"),
        Errand("hear", "what I get back"),
        Errand("do", "pay my bill with Dr. Iyer by card", only_if_needed=True),
    )
    assert asked_for(goal) == "You want to claim your bill. You want to know what you get back."


def test_a_condition_without_consent_is_part_of_an_errand() -> None:
    assert words("You want to book a room. If none is free, take a suite.") == [
        "book a room. If none is free, take a suite"
    ]

"""What the user makes of messages as language models word them: a floor for each part, and none of the worst faults."""

import pytest

from rollout.offline.user.user import listen
from tests.rollout.offline_user.chats import a_story, role
from tests.rollout.offline_user.labelled import PARTS, WORST, cases

LEAST = {"tuning": 158, "held_out": 64}
"""Messages of a part that are understood in all that their label says."""
MOST_WORST = {"tuning": 0, "held_out": 4}
SIZE = {"tuning": 160, "held_out": 80}


@pytest.mark.parametrize("part", PARTS)
def test_most_messages_are_understood(part: str) -> None:
    faults = [case.faults() for case in cases(part)]
    assert len(faults) == SIZE[part]
    assert sum(not found for found in faults) >= LEAST[part]


@pytest.mark.parametrize("part", PARTS)
def test_the_worst_faults_are_rare_or_none(part: str) -> None:
    worst = [case.name for case in cases(part) if set(case.faults()) & set(WORST)]
    assert len(worst) <= MOST_WORST[part], worst if part == "tuning" else len(worst)


def test_a_day_of_another_errand_contradicts_nothing() -> None:
    played = role(
        a_story(
            "You want to get out of your reservation. After that you want to take the room for a party of 3, arriving "
            "4 April and leaving Sunday, April 6.",
            "I want to get out of my reservation. After that I want to take the room for a party of 3, arriving 4 "
            "April and leaving Sunday, April 6.",
            [
                ("book_room.check_in", "Check in: 4 April.", "2025-04-04", "first"),
                ("book_room.check_out", "Check out: Sunday, April 6.", "2025-04-06", "first"),
                ("find_rooms.check_in", "Check in: April 4.", "2025-04-04", "asked"),
                ("find_rooms.check_out", "Check out: April 6.", "2025-04-06", "asked"),
            ],
        )
    )
    _, moves = listen(played, ["I would cancel your reservation, check-in 17 April, check-out 27 April. Shall I?"])
    assert [move.kind for move in moves] == ["yes"]
    _, moves = listen(
        played, ["I have cancelled your reservation.", "I would book the room, check-in 5 April. Shall I go ahead?"]
    )
    assert [move.kind for move in moves] == ["no"]


def test_a_day_of_the_users_own_answers_when() -> None:
    played = role(
        a_story(
            "You want to move your scan on 20 April at 11:30 to the slot on 19 April at 07:30. You want to know by "
            "when the report will be there.",
            "I want to move my scan on 20 April at 11:30 to the slot on 19 April at 07:30. I want to know by when the "
            "report will be there.",
            [
                ("scan.starts_at", "It is my scan on 20 April at 11:30.", "2025-04-20 11:30:00", "first"),
                ("slot.starts_at", "It is the slot on 19 April at 07:30.", "2025-04-19 07:30:00", "first"),
            ],
        )
    )
    moved = "I have moved your scan to Saturday, 19 April at 07:30."
    assert [move.kind for move in listen(played, [moved])[1]] == ["rest"]
    for words in ("The report will be there by 20 April.", "It will be ready on 20 April at 07:30.", "April 20."):
        assert [move.kind for move in listen(played, [moved, words])[1]] == ["thanks"], words

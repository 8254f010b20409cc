"""Duplicates: what repeats another task is left out, and the strictest split keeps its own."""

from random import Random

from synth.reports.duplicates import MANY, jaccard, near_duplicates, shingles, without_duplicates
from tests.reports.tasks_with_openings import told

MOVE = ("move_appointment", {"appointment_id": "APT-0001", "slot_id": "SLO-0004"})
LATER = ("move_appointment", {"appointment_id": "APT-0001", "slot_id": "SLO-0005"})
LONG = "I would like to have my appointment with Dr Iyer moved to the afternoon of the same day if there is any room"


def test_the_same_calls_for_the_same_person_are_an_exact_duplicate() -> None:
    made = [told("a", "Move it.", MOVE, name="Ana"), told("b", "Some other words.", MOVE, name="Ana")]
    kept = without_duplicates(made, {})
    assert [task.id for task in kept.tasks] == ["a"]
    assert kept.duplicates.model_dump() == {"tasks": 2, "exact": 1, "near": 0, "across": 0}


def test_nearly_the_same_words_for_the_same_calls_are_a_near_duplicate() -> None:
    made = [told("a", f"{LONG}.", MOVE), told("b", f"{LONG}!", LATER), told("c", "Move it to the later one.", LATER)]
    kept = without_duplicates(made, {})
    assert [(task.id, repeat) for task, repeat in kept.removed] == [("b", "near")]


def test_the_same_words_for_other_calls_are_none() -> None:
    made = [told("a", LONG, MOVE), told("b", LONG, ("cancel_appointment", {"appointment_id": "APT-0001"}))]
    assert len(without_duplicates(made, {}).tasks) == 2


def test_the_stricter_split_keeps_what_two_have() -> None:
    made = [told("a", LONG, MOVE, template="x"), told("b", "Move it.", MOVE, template="y", split="test")]
    kept = without_duplicates(made, {})
    assert [(task.id, task.split) for task in kept.tasks] == [("b", "test")]
    assert kept.duplicates.across == 1


def test_the_order_of_tasks_does_not_matter() -> None:
    made = [told("a", LONG, MOVE), told("b", LONG, LATER), told("c", "Move it.", MOVE, split="test", template="z")]
    assert without_duplicates(made, {}) == without_duplicates(made[::-1], {})


def test_min_hash_finds_what_comparing_all_with_all_finds() -> None:
    random = Random(3)
    words = [f"w{number}" for number in range(40)]
    texts = [" ".join(random.choices(words, k=30)) for _ in range(MANY)]
    texts += [text.replace("w7", "w8", 1) for text in texts[:20]]
    tasks = [told(f"t{number:03d}", text, MOVE) for number, text in enumerate(texts)]
    alike = {
        (one.id, other.id)
        for place, one in enumerate(tasks)
        for other in tasks[place + 1 :]
        if jaccard(shingles(one.messages[0].content or ""), shingles(other.messages[0].content or "")) >= 0.85
    }
    found = near_duplicates(tasks)
    assert {(first, second) for second, firsts in found.items() for first in firsts} == alike
    assert len(alike) >= 5

"""Wording: figures of variety that tell a set of varied messages from one that repeats itself."""

import pytest

from synth.reports.diversity import distinct, self_bleu, skeletons_of, wording_of
from tests.reports.tasks_with_openings import told

VARIED = [
    "could you move my visit please",
    "i have to be elsewhere that morning",
    "what does an x-ray cost these days",
    "the invoice of last week looks wrong",
]


def test_distinct_is_the_share_of_different_runs() -> None:
    assert distinct([["a", "b", "a"], ["a", "b"]], 1) == 0.4
    assert distinct([["a", "b", "a"], ["a", "b"]], 2) == pytest.approx(2 / 3, abs=1e-4)
    assert distinct([["a"]], 2) is None


def test_self_bleu_tells_repetition_from_variety() -> None:
    alike = self_bleu([VARIED[0].split()] * 4)
    varied = self_bleu([text.split() for text in VARIED])
    assert alike == pytest.approx(1.0)
    assert varied is not None
    assert varied < 0.2
    assert self_bleu([["alone"]]) is None


def test_skeletons_hold_no_values() -> None:
    call = ("move_appointment", {"method": "bank_transfer"})
    known = {"id": "dentist", "text": "", "value": "Dr Iyer", "tell": "first"}
    task = told(
        "a",
        "Hello! Move my visit with Dr Iyer on Friday 21 March at 12:30 to April 3, paid by bank transfer. It is 12.50.",
        call,
        scenario={"goal": "", "reason": "", "facts": [known]},
    )
    assert skeletons_of(task) == ["hello", "move my visit with _ on _ to _, paid by _", "it is _"]


def test_values_alone_make_no_other_skeleton() -> None:
    tasks = [told(f"t{day}", f"Move my visit to {day} March at 10:{day}, please.") for day in range(10, 30)]
    assert wording_of(tasks).skeletons == pytest.approx(1 / 20)


def test_nothing_said_has_no_figures() -> None:
    found = wording_of([])
    assert (found.messages, found.distinct_1, found.self_bleu, found.skeletons) == (0, None, None, None)

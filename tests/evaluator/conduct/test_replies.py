"""Which answers of a user refuse, measured on answers that were labelled by hand."""

from pathlib import Path

import pytest
import yaml

from evaluator.conduct.replies import is_refusal
from tests.evaluator.pace import is_done_within

HERE = Path(__file__).parent
HELD_OUT_RIGHT = 38
"""Of the forty that were held out; 37 were read rightly at first sight."""


def labelled(name: str) -> list[tuple[str, bool]]:
    """Answers, each with whether it refuses."""
    found: dict[str, list[str]] = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
    return [(str(answer), sort == "refuses") for sort, answers in found.items() for answer in answers]


def test_answers_are_read_as_they_were_labelled() -> None:
    cases = labelled("replies.yaml")
    assert len(cases) >= 60
    assert [answer for answer, refuses in cases if is_refusal(answer) != refuses] == []


def test_answers_that_were_held_out_are_read_at_least_as_well_as_before() -> None:
    cases = labelled("replies_held_out.yaml")
    assert len(cases) == 40
    assert sum(is_refusal(answer) == refuses for answer, refuses in cases) >= HELD_OUT_RIGHT


@pytest.mark.parametrize("answer", ["Cancel that.", "cancel it please", "Drop it"])
def test_to_call_it_off_is_a_yes_where_that_was_put_to_them(answer: str) -> None:
    assert is_refusal(answer)
    assert not is_refusal(answer, undoes=True)
    assert is_refusal(f"No, don't {answer}", undoes=True)


def test_the_last_plain_word_counts() -> None:
    assert not is_refusal("No. Wait. Let me think. Ok, yes, go ahead.")
    assert is_refusal("Yes. Hmm, wait. No, rather not.")


def test_odd_answers_are_read_in_no_time() -> None:
    phrases = ("no ", "yes if ", "i don't ", "?", "could you ", " ", "\n")
    assert is_done_within(1, lambda: [is_refusal(phrase * (30_000 // len(phrase))) for phrase in phrases])

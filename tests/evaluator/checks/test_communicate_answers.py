from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluator.checks.communicate import check_communicate
from skillweave.schema.message import Message
from skillweave.schema.task import FactToTell

ANSWERS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "communicate_answers.yaml").read_text(encoding="utf-8")
)


def score(answer: dict[str, Any], *said: str) -> float:
    messages = [Message(role="assistant", content=text) for text in said]
    return check_communicate([FactToTell.model_validate(answer["fact"])], messages, answer["now"]).score


@pytest.mark.parametrize("answer", [answer for answer in ANSWERS if "told" in answer], ids=lambda one: one["told"][:40])
def test_an_honest_answer_tells(answer: dict[str, Any]) -> None:
    assert score(answer, answer["told"]) == 1


@pytest.mark.parametrize(
    "answer", [answer for answer in ANSWERS if "not_told" in answer], ids=lambda one: one["not_told"][0][:40]
)
def test_a_wrong_answer_does_not(answer: dict[str, Any]) -> None:
    assert score(answer, *answer["not_told"]) == 0

from typing import Any

import pytest

from skillweave.base.errors import ConfigError
from skillweave.config.load import check_section
from skillweave.config.sections import EvaluationConfig


def test_nothing_is_judged_unless_it_is_asked_for() -> None:
    found = EvaluationConfig()
    assert (found.enable_rubric, found.enable_subjective, found.confirmation_in_reward) == (False, False, False)
    assert found.subjective


@pytest.mark.parametrize(
    ("section", "complaint"),
    [
        ({"rubric": [" "]}, "evaluation.rubric is [' ']; it should hold questions of 1 to 500 printable characters"),
        ({"rubric": ["x" * 501]}, "should hold questions of 1 to 500 printable characters"),
        ({"rubric": ["Polite?\n"]}, "should hold questions of 1 to 500 printable characters"),
        ({"rubric": ["Polite?", "Polite?"]}, "should ask each question once, and 'Polite?' stands twice"),
        ({"rubric": [str(n) for n in range(21)]}, "at most 20 items"),
        ({"subjective": []}, "at least 1 item"),
        ({"max_workers": 0}, "greater than or equal to 1"),
    ],
)
def test_what_is_no_question_is_told_in_a_line(section: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_section(EvaluationConfig, section, where="evaluation", source="config.yaml")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)

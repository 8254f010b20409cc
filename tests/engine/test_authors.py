"""Who answers for a role: meaning and code have a default, opinions have none."""

from typing import Any

import pytest

from skillweave.base.errors import ConfigError
from skillweave.config.load import check_section
from skillweave.config.sections import Config
from synth.engine.authors import Authors
from synth.engine.pipeline import OFFLINE_AUTHOR

STEP = "s04_blueprint_generation"


def authors(**config: Any) -> Authors:
    return Authors(check_section(Config, config, where="", source="config.yaml"), OFFLINE_AUTHOR)


def test_a_judge_has_no_default() -> None:
    found = authors()
    assert found.line(STEP, "judge") is None
    assert found.first(STEP, "judge") is None
    assert found.identity(STEP, "judge", "DentalClinic", ["policy.decide"]) == ""
    assert found.first(STEP, "textual") == "offline/author"


@pytest.mark.parametrize("config", [{"llm": {"judge": "vllm/m"}}, {"steps": {STEP: {"llm": {"judge": "vllm/m"}}}}])
def test_a_judge_is_named_for_all_steps_or_for_one(config: dict[str, Any]) -> None:
    found = authors(**config)
    assert found.first(STEP, "judge") == "vllm/m"
    assert (found.first("s01_domain_expansion", "judge") is None) is ("steps" in config)


@pytest.mark.parametrize(
    "judge", ["offline/author", {"temperature": 0.5}, {"model": "vllm/m", "fallback": ["offline/author"]}]
)
def test_the_offline_author_judges_nothing(judge: object) -> None:
    with pytest.raises(ConfigError, match="'offline/author', which judges nothing; name a model there"):
        authors(llm={"judge": judge}).line(STEP, "judge")

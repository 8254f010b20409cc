"""The framework classes play tasks of all kinds in their frameworks: the oracle passes, and `nothing` fails."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.interop_targets.conftest import Exports
from tests.interop_targets.environments import LIGHT
from tests.interop_targets.target import in_target

pytestmark = pytest.mark.interop
TASKS = 50


def assert_rewards(played: dict[str, Any], agents: Sequence[str] = ("oracle", "nothing")) -> None:
    """The oracle has reward 1 and `nothing` has 0, on tasks of more than one kind."""
    oracle, nothing = (played[agent] for agent in agents)
    assert [game for game in oracle if game["reward"] != 1] == []
    assert [game for game in nothing if game["reward"] != 0] == []
    assert len({game["kind"] for game in oracle}) > 1
    assert len(oracle) == len(nothing) > 1


def test_skyrl_gym_plays_the_rows_of_an_export(small: Path, exports: Exports) -> None:
    played = in_target(LIGHT, "skyrl_gym_plays.py", small, exports("skyrl") / "train.parquet", TASKS)
    assert_rewards(played)
    assert played["cut"]["metrics"]["truncated"] == 1
    assert played["cut"]["reward"] == 0
    assert played["means"]["passed"] == 1
    assert played["means"]["scored"] == len(played["oracle"])


def test_gymnasium_checks_the_environment_and_plays_it(small: Path) -> None:
    played = in_target(LIGHT, "gymnasium_plays.py", small, TASKS)
    assert_rewards(played)
    assert played["warnings"] == []
    assert len(set(played["drawn"])) == 1
    assert played["number"]


def test_trl_reads_the_tools_as_they_are_and_its_way_of_calling_them_plays(small: Path) -> None:
    played = in_target(LIGHT, "trl_grpo_plays.py", small, TASKS)
    assert_rewards(played)
    assert played["definitions"] > 20
    assert played["unplayed"] == 0

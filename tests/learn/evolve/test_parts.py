"""Figures of tasks, what a phase may spend, and what the configuration leaves open."""

import asyncio
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from learn.config import EvolveConfig, LearnConfig, TrainerConfig
from learn.evolve import settings
from learn.evolve.figures import difference, held_out_figures, rate, shares
from learn.evolve.phases import budget_left
from learn.evolve.settings import EvolveSetup, agent_of, completed, config_of
from learn.evolve.tasks import task_sets
from skillweave.base.errors import ConfigError
from skillweave.base.store import Store
from skillweave.config.llm import LlmConfig, PriceConfig, SpeakerConfig
from skillweave.config.sections import RolloutConfig
from skillweave.llm.budget import SharedBudget
from skillweave.schema.result import Result
from skillweave.schema.score import Checks
from skillweave.world.dataset import Dataset


def a_result(task: str, trial: int, passed: bool | None, world: str = "Shop") -> Result:
    return Result(
        id=f"{task}#{trial}",
        task_id=task,
        trial=trial,
        world=world,
        domains=[world],
        kind="do",
        split="test",
        level=2,
        passed=passed,
        reward=None if passed is None else float(passed),
        checks=Checks(),
        checks_version="1",
        trajectory_digest="0" * 64,
    )


def test_a_task_counts_once_with_the_mean_of_its_scored_conversations() -> None:
    results = [
        *(a_result("a", trial, trial == 0) for trial in range(4)),
        a_result("b", 0, True),
        a_result("b", 1, None),
        a_result("c", 0, None),
    ]
    assert shares(results) == {"a": Fraction(1, 4), "b": Fraction(1)}
    figures = held_out_figures(results, {"a": True, "b": False})
    assert (figures["passed"], figures["scored"], figures["share"]) == (1.25, 2, 0.625)
    assert figures["unscored"] == 1
    by = figures["by"]
    assert isinstance(by, dict)
    domains = by["domain"]
    assert isinstance(domains, dict)
    assert domains["held out"] == rate([Fraction(1, 4)])
    assert domains["known"] == rate([Fraction(1)])


def test_nothing_scored_has_no_share_and_a_difference_is_of_common_tasks() -> None:
    assert rate([])["share"] is None
    before, after = {"a": Fraction(0), "b": Fraction(1)}, {"a": Fraction(1), "c": Fraction(1)}
    compared = difference(before, after)
    assert compared is not None
    assert (compared["tasks"], compared["difference"], compared["gained"], compared["lost"]) == (1, 1.0, 1, 0)
    assert difference(before, {}) is None


def a_setup(small: Path, folder: Path, config: LearnConfig) -> EvolveSetup:
    return EvolveSetup(config, Store(folder), Dataset(small))


def test_a_phase_may_spend_what_the_other_phases_of_the_folder_left(small: Path, tmp_path: Path) -> None:
    async def spend(folder: Path, cost: float) -> None:
        account = SharedBudget(folder)
        account.book(None, cost_usd=cost, lost_usd=0.5)
        await account.close()

    for place, cost in (("iterations/00/held_out", 3.0), ("iterations/01/explore", 1.0)):
        (tmp_path / place).mkdir(parents=True)
        asyncio.run(spend(tmp_path / place, cost))
    setup = a_setup(small, tmp_path, LearnConfig(llm=LlmConfig(budget_usd=6.0)))
    assert budget_left(setup, "iterations/01/held_out") == pytest.approx(1.0)
    assert budget_left(setup, "iterations/01/explore") == pytest.approx(2.5)
    assert budget_left(a_setup(small, tmp_path, LearnConfig()), "iterations/01/explore") is None
    assert budget_left(a_setup(small, tmp_path, LearnConfig(llm=LlmConfig(budget_usd=1.0))), "first") == 0


def test_the_built_in_model_is_served_by_its_own_program_and_its_user_is_scripted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "_has_torch", lambda python: True)
    config = completed(LearnConfig(evolve=EvolveConfig(trainer=TrainerConfig(python=sys.executable))))
    serve = config.evolve.agent.serve
    assert serve is not None
    assert serve.command[0] == "env"
    assert serve.command[-3:] == [sys.executable, "-m", "learn.small_model"]
    assert config.rollout.user is not None
    assert config.rollout.user.model == "offline/user"
    user = SpeakerConfig(model="openai/gpt-5")
    named = LearnConfig(rollout=RolloutConfig(user=user), evolve=EvolveConfig(trainer=TrainerConfig()))
    assert completed(named).rollout.user == user


def test_a_python_without_pytorch_is_told_before_anything_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_has_torch", lambda python: False)
    with pytest.raises(ConfigError, match="has no PyTorch"):
        completed(LearnConfig())


def test_prices_and_names_of_a_trained_model_are_those_of_its_folder(small: Path, tmp_path: Path) -> None:
    price = PriceConfig(input=1, output=2)
    config = LearnConfig(llm=LlmConfig(prices={"vllm/{model}": price, "openai/gpt-5": price}))
    setup = a_setup(small, tmp_path, config)
    agent = agent_of(setup, tmp_path / "model")
    assert agent.model == f"vllm/{tmp_path}/model"
    phase = config_of(setup, agent, trials=3, budget=1.5)
    assert phase.llm.prices.keys() == {agent.model, "openai/gpt-5"}
    assert (phase.llm.budget_usd, phase.rollout.trials, phase.rollout.agent) == (1.5, 3, agent)


def test_shares_part_the_tasks_of_one_split_without_overlap(small: Path) -> None:
    dataset = Dataset(small)
    whole = {"split": "train"}
    sets = {
        name: {"evolve": {"seed_tasks": whole | {"share": [0, 0.3]}, "explore": whole | {"share": share}}}
        for name, share in (("most", [0, 0.75]), ("rest", [0.75, 1]))
    }
    chosen = {
        name: set(task_sets(dataset, EvolveConfig.model_validate(given["evolve"])).explore)
        for name, given in sets.items()
    }
    trained = {id for id, task in dataset.tasks.items() if task.split == "train"}
    assert chosen["most"] | chosen["rest"] == trained
    assert not chosen["most"] & chosen["rest"]
    assert len(chosen["most"]) > len(chosen["rest"]) > 0

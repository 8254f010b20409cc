"""The ladder of scripted agents: who knows more must get further, and a rule that decides stops the blind."""

import json
from pathlib import Path

import pytest

from evaluator.report.results import read_ladder
from rollout.cli.app import main
from rollout.cli.ladder import AGENTS, is_decided, out_of_order, sampled
from skillweave.base.store import Store
from skillweave.schema.evaluation import PassCount, Rung
from skillweave.schema.task import Task
from tests.rollout.offline_agents.clinic import a_dataset, kinds, tasks


def rungs(**passed: int) -> list[Rung]:
    """All agents, of ten tasks each."""
    return [
        Rung(agent=agent, overall=PassCount(tasks=10, passed=passed.get(agent, 5)), reward=0.0, by_kind={})
        for agent in AGENTS
    ]


def test_the_order_that_must_be_holds() -> None:
    right = rungs(nothing=0, random=0, careless=6, policy_blind=9, oracle=10)
    assert out_of_order(right, is_any_decided=True) == []


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        ({"nothing": 3, "random": 1}, "nothing <= random does not hold: 3 of 10 passed, and 1 of 10"),
        ({"random": 6, "careless": 5}, "random <= careless"),
        ({"careless": 10}, "careless < oracle"),
        ({"policy_blind": 10}, "policy_blind < oracle"),
    ],
)
def test_what_is_out_of_order_is_named(passed: dict[str, int], said: str) -> None:
    found = out_of_order(
        rungs(**{"nothing": 0, "random": 1, "careless": 5, "policy_blind": 9, "oracle": 10, **passed}),
        is_any_decided=True,
    )
    assert any(line.startswith(said) for line in found), found


def test_where_no_rule_decides_heeding_none_is_no_loss() -> None:
    level = rungs(nothing=0, random=0, careless=6, policy_blind=10, oracle=10)
    assert out_of_order(level, is_any_decided=False) == []


def test_a_sample_is_drawn_by_the_seed_and_smaller_ones_are_part_of_larger(tmp_path: Path) -> None:
    given = a_dataset(tmp_path)
    two, four = ([task.id for task in sampled(given, count, 7)] for count in (2, 4))
    assert two == four[:2]
    assert len(four) == 4
    assert sorted(task.id for task in sampled(given, None, 7)) == sorted(given.tasks)


def test_a_task_is_decided_where_only_the_agent_holds_the_rule_that_forbids_it(tmp_path: Path) -> None:
    given = a_dataset(tmp_path, [*tasks(), *kinds()])
    late, no_reminder = (task for task in kinds() if task.kind == "refuse")
    assert [is_decided(given, task) for task in (late, no_reminder, tasks()[0])] == [True, False, False]


def test_the_command_writes_the_ladder_and_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = a_dataset(tmp_path / "outputs").store.root
    config = tmp_path / "config.yaml"
    config.write_text("execution: {workers: 1}")
    with pytest.raises(SystemExit) as ended:
        main(["ladder", "--config", str(config), "--outputs-dir", str(outputs), "--sample", "3"])
    ladder = read_ladder(Store(outputs / "evaluation"))
    assert ladder is not None
    assert [rung.agent for rung in ladder.rungs] == list(AGENTS)
    assert ladder.rung("oracle").overall == PassCount(tasks=3, passed=3)
    assert ladder.rung("nothing").overall.passed == 0
    assert ended.value.code == (1 if ladder.wrong else 0)
    shown = capsys.readouterr().out
    assert all(agent in shown for agent in AGENTS)
    assert shown.splitlines()[-1].startswith("wrote ")


def test_forms_and_levels_are_counted_and_shown_where_there_are_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def formed(task: Task) -> Task:
        forms = [{"name": name} for name in ("batch", "condition")]
        difficulty = {**task.difficulty.model_dump(), "level": 3}
        return Task.model_validate({**task.model_dump(mode="json"), "forms": forms, "difficulty": difficulty})

    first, *others = tasks()
    given = a_dataset(tmp_path / "outputs", [formed(first), *others])
    config = tmp_path / "config.yaml"
    config.write_text("execution: {workers: 1}")
    with pytest.raises(SystemExit):
        main(["ladder", "--config", str(config), "--outputs-dir", str(given.store.root)])
    ladder = read_ladder(Store(given.store.root / "evaluation"))
    assert ladder is not None
    one, rest = PassCount(tasks=1, passed=1), PassCount(tasks=len(others), passed=len(others))
    assert ladder.rung("oracle").by_form == {"batch": one, "condition": one, "plain": rest}
    assert ladder.rung("oracle").by_level == {"1": rest, "3": one}
    shown = capsys.readouterr().out
    assert all(words in shown for words in ("by form", "condition (1)", "by level", "3 (1)"))


def test_a_ladder_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "ladder.json").write_text(json.dumps({"format": "skillweave/1"}))
    assert read_ladder(Store(tmp_path)) is None

import json
from pathlib import Path
from random import Random

import pytest

from evaluator.report.results import results_in, results_of_agent
from evaluator.report.teach import NEVER_SOLVED, TAUGHT, TAUGHT_TASKS, show_teaching, teach, write_teaching
from skillweave.base.errors import ConfigError
from skillweave.base.store import Store
from skillweave.schema.result import NeverSolved, Result, TeachingRecord
from tests.evaluator.results import a_failure, a_result, an_error


def results() -> list[Result]:
    hard = [("loop", "x"), ("ran_out", "late"), ("ran_out", "early")]
    return [
        *(a_result("Easy", trial) for trial in range(4)),
        *(
            a_result("Some", trial, passed=trial == 3, failure=None if trial == 3 else a_failure("loop"))
            for trial in range(4)
        ),
        *(
            a_result("Hard", 2 - trial, passed=False, failure=a_failure(name, "book", got))
            for trial, (name, got) in enumerate(hard)
        ),
        an_error("provider", "Hard", 9),
        an_error("provider", "Untried", 0),
    ]


def test_each_task_is_marked_with_model_trials_and_passes() -> None:
    assert teach(results()).taught == [
        TeachingRecord(task_id="Easy", world="SmallClinic", model="vendor/strong", trials=4, passes=4),
        TeachingRecord(task_id="Hard", world="SmallClinic", model="vendor/strong", trials=3, passes=0),
        TeachingRecord(task_id="Some", world="SmallClinic", model="vendor/strong", trials=4, passes=1),
    ]


def test_the_list_holds_tasks_passed_often_enough_and_not_too_often() -> None:
    teaching = teach(results())
    assert teaching.task_ids() == ["Easy", "Some"]
    assert teaching.task_ids(max_rate=0.25) == ["Some"]
    assert teaching.task_ids(max_rate=0.24) == []
    assert teaching.task_ids(min_passes=2) == ["Easy"]
    assert teaching.task_ids(min_passes=0, max_rate=0.5) == ["Hard", "Some"]


def test_of_several_agents_one_is_chosen(tmp_path: Path) -> None:
    held = [a_result("A", agent="v/one"), a_result("A", agent="v/two", passed=False), a_result("A", agent=None)]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(one.model_dump_json(by_alias=True) + "\n" for one in held))
    file = results_in(tmp_path)
    assert list(results_of_agent(file, "v/two", None)) == [held[1]]
    assert list(results_of_agent(file, "unnamed", "offline/user")) == [held[2]]
    for agent, user in ((None, None), ("v/three", None), ("v/one", "v/user")):
        with pytest.raises(ConfigError, match="v/one with offline/user; v/two with offline/user"):
            results_of_agent(file, agent, user)


def test_what_was_never_solved_has_its_most_frequent_class_and_where_it_began() -> None:
    every = results()
    expected = teach(every).never_solved
    assert [(one.task_id, one.trials, one.failure, one.failures, one.example) for one in expected] == [
        ("Hard", 3, "ran_out", 2, "Hard#0")
    ]
    assert expected[0].first_divergence is not None
    assert (expected[0].first_divergence.expected, expected[0].first_divergence.got) == ("book", "early")
    for seed in range(4):
        assert teach(Random(seed).sample(every, len(every))).never_solved == expected


def test_the_files_are_written_beside_the_results(tmp_path: Path) -> None:
    write_teaching(Store(tmp_path), teach(results()), max_rate=0.5)
    assert (tmp_path / TAUGHT_TASKS).read_text() == "Some\n"
    marks = [json.loads(line) for line in (tmp_path / TAUGHT).read_text().splitlines()]
    assert marks[2] == {
        "task_id": "Some",
        "world": "SmallClinic",
        "model": "vendor/strong",
        "trials": 4,
        "passes": 1,
    }
    audit = [NeverSolved.model_validate_json(line) for line in (tmp_path / NEVER_SOLVED).read_text().splitlines()]
    assert audit == teach(results()).never_solved


def test_what_was_never_solved_is_printed_with_its_first_divergence(capsys: pytest.CaptureFixture[str]) -> None:
    show_teaching(teach(results()), min_passes=1, max_rate=0.5)
    shown = capsys.readouterr().out
    assert "3 tasks tried; 1 passed at least 1 times and by at most 50% of the trials; 1 never solved" in shown
    assert "expected book, got early" in shown
    assert "Easy" not in shown

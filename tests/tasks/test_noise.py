"""Noisy tasks: made of sound ones, proved, solved by whoever makes a call again, and told from forged ones."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from evaluator.replay.golden import golden_execution_of
from evaluator.scoring.evaluate import CheckSettings, Evaluator
from evaluator.scoring.selftest import selftest_outcomes
from rollout.offline.agents import offline_agent
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.task import Task
from skillweave.world.noise import ERRORS
from skillweave.world.replay import replay, spoiled_calls, without_noise
from synth.gates.noise import check_noise
from synth.tasks.noise import with_planted_faults
from synth.tasks.replay import Rejected
from tests.evaluator.trials import Made, a_trial, scored
from tests.rollout.offline_agents.clinic import WORLD, a_dataset, a_user, held, passed, tasks

SEEDS = range(8)
Pairs = list[tuple[Task, Task]]
"""Tasks, each with a noisy form."""


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return [(task, with_planted_faults(WORLD, task, Random(f"{task.id}/{seed}"))) for task in tasks() for seed in SEEDS]


def calls_of(golden: list[GoldenCall]) -> list[Made]:
    return [(call.tool, call.arguments) for call in golden]


def is_held_up(call: GoldenCall) -> bool:
    """Whether it is a write that is not carried out."""
    return call.fault in ERRORS and WORLD.compiled(call.tool).tool.kind == "write"


def a_held_up(pairs: Pairs) -> tuple[Task, int]:
    """A task with such a write, and its place."""
    return next((task, place) for _, task in pairs for place, call in enumerate(task.golden) if is_held_up(call))


def test_golden_calls_come_through_to_the_same_end(pairs: Pairs) -> None:
    for task, made in pairs:
        calm, found = replay(WORLD, without_noise(made)), replay(WORLD, made)
        assert without_noise(made).golden == task.golden
        assert found.changes == calm.changes
        assert {place for place, result in enumerate(found.results) if not result.ok} == {
            place for place, call in enumerate(made.golden) if call.fault in ERRORS
        }
        assert golden_execution_of(WORLD, made).fault is None
    assert {call.fault for _, made in pairs for call in made.golden} >= {
        "timeout",
        "temporary_error",
        "partial_page",
        "reordered_keys",
        "injected_instruction",
    }
    assert {fault.fault for _, made in pairs if made.noise for fault in made.noise.faults} >= {"stale_read"}


def test_they_are_tasks_of_their_own_and_say_so(pairs: Pairs) -> None:
    assert len({made.id for _, made in pairs}) > len(pairs) * 0.8
    for task, made in pairs:
        assert made.id != task.id
        assert check_noise(WORLD, made)["befallen"] == sum(call.fault is not None for call in made.golden) > 0
        assert check_noise(WORLD, made)["made_again"] == len(spoiled_calls(made.golden))
        assert made.difficulty.calls == len(made.golden) == len(made.task_info.trajectory)
        assert with_planted_faults(WORLD, task, Random(7)) == with_planted_faults(WORLD, task, Random(7))


def test_the_golden_calls_pass_and_whoever_makes_none_again_may_not(pairs: Pairs) -> None:
    for task, made in pairs:
        told = "The cancellation fee is 30.00, the start is 2025-01-21 at 12:30, and the price is 60.00."
        words = [("say", told)] if made.criteria.communicate else []
        through = scored(a_trial(WORLD, made, *calls_of(made.golden), *words, prune=True))
        assert through.checks.state is not None
        assert through.checks.actions is not None
        assert (through.checks.state.score, through.checks.actions.score) == (1, 1)
        once = scored(a_trial(WORLD, made, *calls_of(task.golden), prune=True))
        assert once.checks.state is not None
        assert once.checks.state.score == float(not any(map(is_held_up, made.golden)))


def test_a_write_that_timed_out_is_not_done_and_done_twice_is_too_much(pairs: Pairs) -> None:
    task = next(task for task, _ in pairs if task.id == "SmallClinic-both")
    noise = {
        "seed": 1,
        "faults": [{"tool": "book_appointment", "arguments": None, "occurrence": 1, "fault": "timeout"}],
    }
    held_up = Task.model_validate({**task.model_dump(mode="json"), "noise": noise})
    golden = calls_of(task.golden)
    assert golden_execution_of(WORLD, held_up).fault is not None
    golden_again = [*held_up.golden[:3], held_up.golden[3].model_copy(update={"fault": "timeout"}), held_up.golden[3]]
    held_up = held_up.model_copy(update={"golden": golden_again})
    once, twice = a_trial(WORLD, held_up, *golden), a_trial(WORLD, held_up, *golden, golden[-1])
    other = ("book_appointment", {"slot_id": "SLO-0001"})
    thrice = a_trial(WORLD, held_up, *golden, golden[-1], other, other)
    checks = [scored(trial).checks for trial in (once, twice, thrice)]
    assert [check.state.score for check in checks if check.state] == [0, 1, 0]
    assert [len(check.actions.missing) for check in checks if check.actions] == [1, 0, 0]
    assert [len(check.actions.extra) for check in checks if check.actions] == [0, 0, 1]


def test_the_evaluator_says_of_variants_of_noisy_tasks_what_it_must(tmp_path: Path, pairs: Pairs) -> None:
    records = {made.id: made for _, made in pairs[::4]}
    dataset = a_dataset(tmp_path, tuple(records.values()))
    evaluator = Evaluator(dataset, dataset, CheckSettings())
    said = [one for id in dataset.tasks for one in selftest_outcomes(dataset, evaluator, dataset.tasks[id])]
    assert [f"{one.task_id} {one.name}: {one.said}" for one in said if not one.has_right_class] == []
    assert {one.task_id for one in said} == set(records)


def test_forged_noise_is_rejected(pairs: Pairs) -> None:
    task, place = a_held_up(pairs)
    golden = task.golden
    calm = golden[place].model_copy(update={"fault": None})
    other = golden[place].model_copy(update={"fault": "partial_page"})
    unmarked = [call.model_copy(update={"fault": None}) for call in golden]
    forged: list[tuple[str, dict[str, Any]]] = [
        ("planted fault befalls nothing|is not as marked", {"golden": [*golden[:place], calm, *golden[place + 1 :]]}),
        ("is not as marked", {"golden": [*golden[:place], other, *golden[place + 1 :]]}),
        ("befalls nothing", {"golden": unmarked}),
        ("befalls nothing", {"noise": None}),
    ]
    for reason, changes in forged:
        with pytest.raises(Rejected, match=reason):
            check_noise(WORLD, task.model_copy(update=changes))


def test_faults_on_what_is_never_befallen_are_rejected(pairs: Pairs) -> None:
    task, _ = a_held_up(pairs)
    assert task.noise is not None
    for tool in ("identify_patient", "transfer_to_human", "no_such_tool"):
        fault = task.noise.faults[0].model_copy(update={"tool": tool})
        noise = task.noise.model_copy(update={"faults": [*task.noise.faults, fault]})
        with pytest.raises(Rejected, match=tool):
            check_noise(WORLD, task.model_copy(update={"noise": noise}))


def test_the_oracle_comes_through_every_fault(tmp_path: Path, pairs: Pairs) -> None:
    records = {made.id: made for _, made in pairs}
    dataset = a_dataset(tmp_path, tuple(records.values()))
    found = held(dataset, offline_agent("oracle", dataset, 1), a_user())
    assert [record.task_id for record in found if not passed(record)] == []
    errors = sum(int(str(record.metadata["tool_error_count"])) for record in found)
    assert errors >= sum(call.fault in ERRORS for made in records.values() for call in made.golden) > 0

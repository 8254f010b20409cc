"""A task's story: every part of it in words, whatever the kind."""

from typing import Any

import pytest

from skillweave.schema.criteria import GoldenCall
from skillweave.schema.task import Task
from synth.cli.task_story import source_in_words, story_of
from tests.rollout.offline_agents.clinic import kinds, tasks
from tests.world.clinic import a_blueprint

CALLS = [GoldenCall(tool="list_appointments", arguments={})]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("user", "the user says it"),
        ("env", "the session gives it"),
        ("call 0 [0].appointment_id", "[0].appointment_id of call 1 (list_appointments)"),
        ("computed date(call 0 [0].starts_at)", "the day of [0].starts_at of call 1 (list_appointments)"),
        ("policy R7", "a constant of rule R7"),
        ("call 9 x", "x of call 10 (?)"),
        ("", "nothing on record"),
    ],
)
def test_a_source_is_told_in_words(source: str, words: str) -> None:
    assert source_in_words(source, CALLS) == words


@pytest.mark.parametrize("task", [*tasks(), *kinds()], ids=lambda task: str(task.id))
def test_the_story_tells_what_the_user_wants_and_what_is_right(task: Task) -> None:
    told = " ".join("\n".join(story_of(task, a_blueprint())).split())
    assert " ".join(task.scenario.goal.split()) in told
    assert all(fact.text in told for fact in task.scenario.facts)
    assert all(call.tool in told for call in task.golden)
    assert all(ban.why in told for ban in task.criteria.must_not)
    assert task.criteria.declined is None or f"declined by {task.criteria.declined.rule}" in told
    assert all(name in told for ask in task.criteria.must_ask for name in ask.facts)
    assert "the reward is the product of" in told


def test_planted_faults_are_told_at_the_call_and_by_themselves() -> None:
    call: dict[str, Any] = {**tasks()[0].golden[0].model_dump(), "fault": "timeout"}
    planted = {"tool": call["tool"], "arguments": None, "occurrence": 1, "fault": "timeout"}
    noisy = {"golden": [call, *tasks()[0].golden], "noise": {"seed": 1, "faults": [planted]}}
    told = "\n".join(story_of(Task.model_validate({**tasks()[0].model_dump(), **noisy}), a_blueprint()))
    assert told.count("times out, and is made again") == 2


def test_what_others_wrote_cannot_move_the_cursor() -> None:
    sly = tasks()[0].model_copy(update={"id": "X-1"})
    scenario = sly.scenario.model_copy(update={"goal": "You want \x1b[2J it."})
    assert not any("\x1b" in line for line in story_of(sly.model_copy(update={"scenario": scenario}), a_blueprint()))


def test_what_nobody_says_is_not_told_as_said() -> None:
    task = next(task for task in kinds() if task.kind == "unavailable" and task.criteria.asked)
    told = "\n".join(story_of(task, a_blueprint()))
    assert "of the row that the user describes" in told
    assert "reason = " in told
    assert "the session gives it" not in told


def test_figures_of_nothing_are_left_out() -> None:
    told = "\n".join(story_of(tasks()[0], a_blueprint()))
    assert not any(part.strip(") ").endswith((" 0", " null")) for part in told.partition("Proved")[2].split(","))

"""What is declined or handed over is proven again from the task's record, and what was changed in it is found."""

from typing import Any

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.criteria import Declined
from skillweave.schema.task import Task
from synth.gates import declined, unreachable
from synth.gates.gate import JudgedTask
from synth.tasks.assembly import provisional_task
from synth.tasks.combinations import combinations_of
from synth.tasks.replay import Rejected
from synth.verification.task import criteria_faults
from tests.gates.clinic_tasks import WORLD, judged
from tests.tasks.test_builder import template

DROP = template("drop_reminder", kind="refuse", forbidden="R16")
CANCEL = template("cancel_appointment", kind="unavailable", is_hidden=True)


def of(made: Any) -> tuple[Combination, Task]:
    people = ["PAT-0002"]
    combination = next(one for one in combinations_of(WORLD, made, people, 1, "7") if isinstance(one, Combination))
    found = judged(combination, template=made)
    return combination, provisional_task(WORLD, combination, made, found.criteria, found.gates)


def faults(combination: Combination, task: Task, **changed: Any) -> list[str]:
    """What is found in a task whose criteria were changed; the criteria made anew are the right ones."""
    tampered = task.model_copy(update={"criteria": task.criteria.model_copy(update=changed)})
    found = [*criteria_faults(WORLD, combination, tampered, task.criteria)]
    recorded = JudgedTask(WORLD, combination, [], recorded=tampered.criteria)
    try:
        for gate in (declined.GATE, unreachable.GATE):
            gate.check(recorded)
    except Rejected as rejected:
        found.append(rejected.reason)
    return found


@pytest.mark.parametrize("made", [DROP, CANCEL])
def test_a_task_as_it_was_made_has_no_faults(made: Any) -> None:
    assert faults(*of(made)) == []


def test_a_ban_that_was_changed_is_found() -> None:
    combination, task = of(DROP)
    assert faults(combination, task, must_not=[]) == ["the rules that forbid the request are not those of its tool"]


def test_a_decline_that_was_changed_is_found() -> None:
    combination, task = of(DROP)
    assert [call.tool for call in task.golden][-1] == "decline_request"
    assert task.golden[-1].grounding == {"rule": "policy R16"}
    fault = "what it records as declined is not what decides the request"
    assert faults(combination, task, declined=None) == [fault]
    assert faults(combination, task, declined=Declined(rule="R16", also=["R2"])) == [fault]
    assert faults(combination, task.model_copy(update={"golden": combination.golden})) == [fault]


def test_what_is_out_of_reach_must_be_what_no_tool_writes() -> None:
    combination, task = of(CANCEL)
    fault = "what is out of reach is not what the tools offered leave"
    assert faults(combination, task, beyond={}) == [fault, "within reach"]
    more = {**task.criteria.beyond, "reminder": ["channel"]}
    assert faults(combination, task, beyond=more) == [fault]


def test_a_request_that_the_user_cannot_make_is_found() -> None:
    combination, task = of(CANCEL)
    asked = task.criteria.asked
    assert asked is not None
    said = {fact.value for fact in task.scenario.facts}
    reason = next(value for value in ("other", "illness", "travel") if value not in said)
    changed = {
        "arguments": {**asked.arguments, "reason": reason},
        "grounding": {**asked.grounding, "reason": "user"},
    }
    (fault,) = faults(combination, task, asked=asked.model_copy(update=changed))
    assert fault == f"cancel_appointment.reason is {reason!r}, which the user does not know"

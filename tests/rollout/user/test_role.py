"""Users of the trials: the first is the task's own, the others have another manner, and every second one greets."""

from random import Random

from rollout.user import GREETINGS, role_of
from tests.rollout.offline_agents.clinic import tasks

TASK = tasks()[0]
REQUEST = TASK.messages[0].content


def test_the_first_trials_user_is_the_tasks() -> None:
    role = role_of(TASK, "Small Clinic", 0, Random(1))
    assert (role.persona, role.opening, role.prompt) == (TASK.persona, REQUEST, TASK.user_system_prompt)


def test_others_differ_in_manner_and_know_the_same() -> None:
    roles = [role_of(TASK, "Small Clinic", trial, Random(trial)) for trial in range(1, 9)]
    assert {role.telling for role in roles} == {"written", "greeting"}
    assert len({role.persona.style for role in roles}) > 3
    for role in roles:
        assert role.persona.name == TASK.persona.name
        assert role.scenario == TASK.scenario
        assert role.request == REQUEST
        assert role.opening in (GREETINGS if role.telling == "greeting" else [REQUEST])
        assert ("open with a greeting" in role.prompt) == (role.telling == "greeting")


def test_no_prompt_speaks_of_marks_or_forms() -> None:
    prompt = role_of(TASK, "Small Clinic", 2, Random(1)).prompt
    assert "STOP" not in prompt
    assert "JSON" not in prompt
    assert "human" in prompt

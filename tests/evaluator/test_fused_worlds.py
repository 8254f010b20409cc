"""Trials in a fused world: whose rows were changed, who signed in, which rules between domains were broken."""

from typing import Any

import pytest

from evaluator.checks.actions import check_actions
from evaluator.explain import explain
from evaluator.replay.golden import golden_execution_of
from evaluator.replay.trial import ReplayedTrial
from evaluator.variants.arguments import keys_of
from evaluator.variants.executor import VariantExecutor
from skillweave.schema.criteria import GoldenCall
from skillweave.world.world import World
from tests.evaluator.trials import Made, a_call, a_golden, a_task_of, a_trial, policy_of, scored
from tests.world.fused.domains import a_fused_blueprint, a_fused_database, a_fused_world
from tests.world.fused.test_session import BRIDGE

WORLD = a_fused_world()
TASK: dict[str, Any] = {
    "domains": ["Clinic", "Gym", "Insurer"],
    "env_variables": {"CURRENT_DATE": "2025-01-20", "LOGGED_IN_USER": "PAT-P001", "LOGGED_IN_NAME": "Ana Lopez"},
}
NOBODY = {"CURRENT_DATE": "2025-01-20", "LOGGED_IN_USER": None, "LOGGED_IN_NAME": None}
CONVERSATION = {**TASK, "login": "conversation", "env_variables": NOBODY}
FINISH = a_golden("clinic__finish", visit_id="CV-0001")
VISIT = a_golden("gym__visit")


def a_careless_world() -> World:
    """The same companies, whose tools ask nobody whose visit it is."""
    blueprint = a_fused_blueprint()
    tools = [tool.model_copy(update={"guards": []}) for tool in blueprint.tools]
    return World(blueprint.model_copy(update={"tools": tools}), a_fused_database(blueprint), now=WORLD.now)


CARELESS = a_careless_world()


def trial_of(world: World, golden: list[GoldenCall], *made: Made, **task: Any) -> ReplayedTrial:
    return a_trial(world, a_task_of(world, *golden, **{**TASK, **task}), *made)


def test_rows_of_every_domain_belong_to_the_person_whose_account_they_name() -> None:
    own = [a_call("clinic__finish", visit_id="CV-0001"), a_call("gym__set_note"), a_call("insurer__visit")]
    assert policy_of(trial_of(CARELESS, [], *own, a_call("gym__change_email", email="x@y.org"))).violations == []
    other = a_call("insurer__finish", visit_id="IV-0002")
    assert policy_of(trial_of(CARELESS, [], *own, other)).violations == [
        "Insurer__Visit IV-0002 of PAT-P002 in call 3 (insurer__finish)"
    ]


@pytest.mark.parametrize("golden", ["clinic__identify", "gym__identify"])
def test_signing_in_with_another_member_stands_for_the_golden_sign_in(golden: str) -> None:
    wanted = [a_golden(golden, email="ana@example.com"), FINISH]
    done = a_call("clinic__finish", visit_id="CV-0001")
    same = trial_of(WORLD, wanted, a_call("insurer__identify", email="ana@example.com"), done, **CONVERSATION)
    found = check_actions(same)
    assert (found.score, [(pair.golden, pair.call) for pair in found.matched]) == (1.0, [(0, 0), (1, 1)])
    assert policy_of(same).violations == []
    other = trial_of(WORLD, wanted, a_call("insurer__identify", email="ben@example.com"), done, **CONVERSATION)
    assert [note.tool for note in check_actions(other).missing] == [golden, "clinic__finish"]
    assert policy_of(other).violations == ["signed in as PAT-P002, and the user is PAT-P001"]


def test_a_broken_bridge_rule_of_the_agent_is_a_violation_and_explains_the_failure() -> None:
    world = a_fused_world([BRIDGE.model_copy(update={"enforced_by": "agent"})])
    basis = {"criteria": {"reward_basis": ["state", "policy"]}}
    task = a_task_of(world, FINISH, VISIT, **TASK, **basis)
    visited, finished = a_call("gym__visit"), a_call("clinic__finish", visit_id="CV-0001")
    assert scored(a_trial(world, task, finished, visited)).passed
    blind = scored(a_trial(world, task, visited, finished))
    assert blind.checks.policy is not None
    assert blind.checks.policy.violations == ["B1 in call 0 (gym__visit)"]
    assert explain(blind).class_ == "policy_violation"


def test_a_bridge_rule_of_the_tool_makes_the_call_that_it_demands_needed() -> None:
    bridged = a_fused_world([BRIDGE])
    reading = a_golden("insurer__list_visits")
    task = a_task_of(bridged, FINISH, reading, VISIT, **TASK)
    assert golden_execution_of(bridged, task).pruned == {1}
    assert golden_execution_of(bridged, task).fault is None


def test_candidates_for_an_argument_are_the_callers_own_rows_of_that_domain() -> None:
    executor = VariantExecutor(WORLD, a_task_of(WORLD, a_golden("gym__set_note"), **TASK))
    visit = WORLD.blueprint.tool("insurer__finish").parameter("visit_id")
    assert keys_of(executor, visit.refers_to or "", executor.random("keys")) == ["IV-0001"]

from typing import Any

import pytest

from evaluator.scoring.score import TRIALS, floor_nothing, floor_random
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message
from skillweave.world.replay import replay
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world, blueprint_data

WORLD = a_world()
OPENING = [Message(role="user", content="Please book slot SLO-0004 on 2025-01-24 for me, and tell me the price.")]


def a_booking(**criteria: Any) -> Task:
    golden = [GoldenCall(tool="book_appointment", arguments={"slot_id": "SLO-0004"})]
    state = replay(WORLD, a_task(golden=golden)).changes
    return a_task(golden=golden, criteria={"state": state, "reward_basis": ["state"], **criteria}, messages=OPENING)


def idle(**criteria: Any) -> Task:
    return a_task(criteria={"state": [], "reward_basis": ["state"], **criteria}, messages=OPENING)


FEE = {"fact": "fee", "noun": "amount", "values": [1250], "type": "integer", "unit": "cents"}


def test_doing_nothing_earns_nothing_where_something_is_to_be_done_or_told() -> None:
    assert floor_nothing(WORLD, a_booking()) == 0
    assert floor_nothing(WORLD, idle(communicate=[FEE], reward_basis=["state", "communicate"])) == 0


def test_doing_nothing_earns_all_where_nothing_is_to_be_done() -> None:
    assert floor_nothing(WORLD, idle()) == 1


def test_what_the_user_says_is_not_what_the_agent_tells() -> None:
    told = {**FEE, "noun": "slot", "values": ["SLO-0004"], "type": "string", "unit": None}
    assert floor_nothing(WORLD, idle(communicate=[told], reward_basis=["communicate"])) == 0


def test_the_floors_are_unknown_where_the_reward_takes_a_judge() -> None:
    task = idle(reward_basis=["state", "rubric"])
    assert (floor_nothing(WORLD, task), floor_random(WORLD, task, 0)) == (None, None)


def test_chance_is_the_same_with_the_same_seed_and_differs_between_seeds() -> None:
    task = idle()
    found = [floor_random(WORLD, task, seed) for seed in range(12)]
    assert found == [floor_random(WORLD, task, seed) for seed in range(12)]
    assert set(found) <= {part / TRIALS for part in range(TRIALS + 1)}
    assert len(set(found)) > 1


def test_chance_does_not_know_what_is_right() -> None:
    one = idle(communicate=[FEE], reward_basis=["state"])
    other = one.model_copy(update={"golden": [GoldenCall(tool="list_fees", arguments={})], "kind": "inform"})
    assert [floor_random(WORLD, one, seed) for seed in range(5)] == [
        floor_random(WORLD, other, seed) for seed in range(5)
    ]


def test_chance_books_what_the_user_names_now_and_then() -> None:
    found = [floor_random(WORLD, a_booking(), seed) for seed in range(150)]
    assert 0 < sum(value or 0 for value in found) < 150 / 3


def test_chance_tells_what_it_saw_now_and_then() -> None:
    task = idle(communicate=[FEE], reward_basis=["communicate"])
    assert 0 < sum(floor_random(WORLD, task, seed) or 0 for seed in range(60)) < 60


def test_chance_records_the_deciding_rule_now_and_then() -> None:
    task = idle(declined={"rule": "R5"}, reward_basis=["policy"]).model_copy(update={"kind": "refuse"})
    assert 0 < sum(floor_random(WORLD, task, seed) or 0 for seed in range(150)) < 150 / 3


def test_chance_tries_to_sign_in_where_it_has_to() -> None:
    env = {"CURRENT_DATE": "2025-01-20", "LOGGED_IN_USER": None, "LOGGED_IN_NAME": None}
    task = idle().model_copy(update={"login": "conversation"})
    signed_out = Task.model_validate({**task.model_dump(), "env_variables": env})
    assert floor_random(WORLD, signed_out, 0) == 1


def broken_world() -> Blueprint:
    """The clinic with a defect in every tool."""
    clinic = blueprint_data()
    broken = {"rows": "one", "select": "SELECT 1e308 * 10 AS x"}
    return Blueprint.model_validate({**clinic, "tools": [{**tool, "returns": broken} for tool in clinic["tools"]]})


def test_a_defect_of_the_world_earns_nothing() -> None:
    world, task = a_world(broken_world()), idle()
    assert floor_nothing(world, task) == 1
    found = [floor_random(world, task, seed) for seed in range(10)]
    assert sum(value or 0 for value in found) < sum(floor_random(WORLD, task, seed) or 0 for seed in range(10))


def test_the_world_is_left_as_it_was() -> None:
    with WORLD.session(caller="PAT-0001") as session:
        before = session.digest()
    for seed in range(10):
        floor_random(WORLD, a_booking(), seed)
    with WORLD.session(caller="PAT-0001") as session:
        assert session.digest() == before


@pytest.mark.parametrize("content", [None, "", "¿?", "\u202e [x](y) {{z}} 99999999999999999999"])
def test_any_opening_will_do(content: str | None) -> None:
    task = a_booking().model_copy(update={"messages": [Message(role="user", content=content)]})
    assert all(floor_random(WORLD, task, seed) is not None for seed in range(20))

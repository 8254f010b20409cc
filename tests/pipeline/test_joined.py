"""Two domains joined, as the pipeline does it: what the tasks of their world are, and how agents fare with them."""

import json
from pathlib import Path

import pytest

from skillweave.base.manifest import Manifest
from skillweave.base.store import Store
from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.fusion import ProvenLink
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from skillweave.world.replay import without_noise
from tests.pipeline.small import LAB, PLAN, WORLD
from tests.pipeline.test_rollouts import rolled_out


@pytest.fixture(scope="module")
def tasks(joined: Path) -> list[Task]:
    """The tasks of the fused world."""
    return list(Dataset(joined).tasks.of(WORLD))


def demanding(task: Task) -> set[str]:
    """The bridge rules that ask for one of its golden calls, be it that the user asks for it as well."""
    found = task.gates.interlock["demanded"]
    assert isinstance(found, dict)
    return set(found)


def crossings(task: Task) -> list[ProvenLink]:
    found = task.gates.interlock["crossings"]
    assert isinstance(found, list)
    return [ProvenLink.model_validate(one) for one in found]


def test_tasks_of_both_domains_are_made_beside_those_of_each(joined: Path, tasks: list[Task]) -> None:
    assert Dataset(joined).tasks.worlds == [LAB, WORLD, PLAN]
    assert len(tasks) >= 3
    for task in tasks:
        assert (task.domains, task.world, task.difficulty.domains) == ([LAB, PLAN], WORLD, 2)
        assert {name.partition("__")[0] for name in task.task_info.trajectory} == set(task.namespaces.values())


def test_each_task_has_a_proven_link_on_record(joined: Path, tasks: list[Task]) -> None:
    contract = Dataset(joined).blueprint(WORLD)
    assert isinstance(contract, FusedBlueprint)
    for task in map(without_noise, tasks):
        assert crossings(task)
        for one in crossings(task):
            assert {one.source, one.target} == {LAB, PLAN}
            assert (one.rule is None) != (one.parameter is None)
            assert task.golden[one.call].tool == one.tool
            assert contract.member_of(one.tool).server == one.target
    assert {one.kind for task in tasks for one in crossings(task)} == {"value", "rule"}


def test_some_tasks_rest_on_a_bridge_rule_and_some_users_do_not_ask_for_what_it_wants(tasks: list[Task]) -> None:
    marked = {call.demanded_by for task in tasks for call in task.golden if call.demanded_by}
    assert marked
    assert marked <= {rule for task in tasks for rule in demanding(task)}
    unasked = [task for task in tasks if any(call.demanded_by for call in task.golden)]
    assert len(unasked) < sum(bool(demanding(task)) for task in tasks)


def test_the_trajectories_of_single_domains_are_lived_again_in_the_fused_world(joined: Path) -> None:
    (replays,) = json.loads((joined / "validated_tasks" / "_fused_replays.json").read_text())
    validated = [joined / "validated_tasks" / f"{name}.jsonl" for name in (LAB, PLAN)]
    assert replays["name"] == WORLD
    assert replays["replayed"] == sum(len(path.read_text().splitlines()) for path in validated) > 30


def test_every_bridge_rule_that_is_kept_is_met_and_broken(joined: Path) -> None:
    mediation = json.loads((joined / "policies" / f"{WORLD}.bridges.json").read_text())
    assert mediation["bridges"]
    assert [proof["rule"] for proof in mediation["proofs"]] == [rule["rule"] for rule in mediation["bridges"]]
    policy = (joined / "policies" / f"{WORLD}.md").read_text()
    assert all(f"[{rule['rule']}]" in policy for rule in mediation["bridges"])


def test_items_of_fused_worlds_are_settled_like_others(joined: Path) -> None:
    records = {(record.step[:3], record.key): record for record in Manifest(Store(joined)).items()}
    assert {step for step, key in records if key == WORLD} == {"s11", "s12", "s13", "s14", "s15", "s16", "s17"}
    assert {record.state for record in records.values()} == {"done"}
    told = records["s11", WORLD].figures
    assert told["stories"] == told["stories proven"] == 3


def test_the_oracle_passes_every_task_and_doing_nothing_none(joined: Path, tmp_path: Path, tasks: list[Task]) -> None:
    cross = ("--tasks", f"{WORLD}-*")
    records = rolled_out(joined, tmp_path / "oracle", *cross, "--trials", "3", "--personas", "3")
    assert len(records) == 3 * len(tasks)
    assert [record["id"] for record in records if not (record["score"] or {}).get("passed")] == []
    idle = rolled_out(joined, tmp_path / "nothing", *cross, "--agent", "offline/nothing")
    assert [record["score"]["reward"] for record in idle] == [0.0] * len(tasks)


def test_an_agent_blind_to_the_policy_fails_where_a_bridge_rule_asks_for_a_call(
    joined: Path, tmp_path: Path, tasks: list[Task]
) -> None:
    records = rolled_out(joined, tmp_path, "--tasks", f"{WORLD}-*", "--agent", "offline/policy_blind")
    rewards = {record["task_id"]: record["score"]["reward"] for record in records}
    assert {rewards[task.id] for task in tasks if demanding(task)} == {0.0}
    assert {rewards[task.id] for task in tasks if not demanding(task)} == {1.0}


def test_the_fused_server_gives_the_same_conversations_as_the_contract(joined: Path, tmp_path: Path) -> None:
    told = ("messages", "stop_reason", "error", "score", "tools")
    cross = ("--tasks", f"{WORLD}-*", "--limit", "3")
    found = [
        [
            {key: record[key] for key in told}
            for record in rolled_out(joined, tmp_path / engine, *cross, "--engine", engine)
        ]
        for engine in ("contract", "mcp")
    ]
    assert found[0] == found[1]

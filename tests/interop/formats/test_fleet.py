"""Fleet's tasks: their verifiers judge rows and answers as the evaluator does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.replay.execution import execute_golden
from interop.export.format import LeftOut, TaskExample
from interop.export.formats.fleet import FORMAT, rows
from interop.export.formats.fleet_verifier import _forms, can_verify
from interop.export.writer import write_rows
from skillweave.base.store import Store
from skillweave.schema.criteria import FactToTell
from skillweave.schema.task import Task
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from tests.interop.formats.examples import task_examples

Verifier = Callable[..., int]
Tables = dict[str, list[dict[str, Any]]]


class Snapshot:
    """The part of Fleet's snapshots that the verifiers use."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def table(self, name: str) -> "Rows":
        return Rows(self._tables[name])


class Rows:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def all(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self._rows]


class Environment:
    def __init__(self, seed: Tables, current: Tables) -> None:
        self._databases = {"seed": Snapshot(seed), "current": Snapshot(current)}

    def db(self, name: str) -> Snapshot:
        return self._databases[name]


def tables(world: World, session: ContractSession) -> Tables:
    return {entity.table: [dict(row) for row in session.rows(entity.table)] for entity in world.blueprint.tables}


def verifier(example: TaskExample) -> Verifier:
    [row] = rows(example)
    names: dict[str, Any] = {}
    exec(row["verifier_func"], names)
    found: Verifier = names["validate_task"]
    return found


def answer(task: Task) -> str:
    return f"It is {' and '.join([*_forms(fact)][-1] for fact in task.criteria.communicate)}."


@pytest.mark.parametrize(
    ("day", "form"), [("2025-03-21", "March 21st"), ("2025-03-12", "12th of March"), ("2025-03-03", "March 3rd")]
)
def test_days_are_told_in_the_usual_forms(day: str, form: str) -> None:
    fact = FactToTell(fact="told_1", noun="day", values=[day], type="date")
    assert {form, day} <= {*_forms(fact)}


def test_golden_calls_pass_and_doing_nothing_and_one_change_more_or_less_fail(joined: Path) -> None:
    judged = 0
    for example in task_examples(joined):
        task, world = example.task, example.world
        if not can_verify(task):
            continue
        verify = verifier(example)
        with world.session(task) as session:
            seed = tables(world, session)
            execute_golden(session, task.golden)
            end = tables(world, session)
        told = answer(task)
        assert verify(Environment(seed, end), told) == 1, task.id
        assert verify(Environment(seed, seed), "") == 0, task.id
        for change in task.criteria.state:
            spoilt = {**end, change.table: seed[change.table]}
            assert verify(Environment(seed, spoilt), told) == 0, task.id
        if task.criteria.communicate:
            assert verify(Environment(seed, end), "All done.") == 0, task.id
        table, content = next((table, content) for table, content in end.items() if content)
        assert verify(Environment(seed, {**end, table: content[1:]}), told) == 0, task.id
        judged += 1
    assert judged > 10


def test_tasks_that_leave_no_trace_are_left_out(small: Path) -> None:
    silent = [example for example in task_examples(small) if example.task.kind in ("refuse", "unavailable")]
    assert silent
    for example in silent:
        if not can_verify(example.task):
            with pytest.raises(LeftOut, match="declined"):
                list(rows(example))


def test_a_task_has_the_fields_of_a_task_file(small: Path, tmp_path: Path) -> None:
    [example, *_] = [example for example in task_examples(small) if can_verify(example.task)]
    store = Store(tmp_path)
    write_rows(store, "train.json", FORMAT, rows(example))
    [row] = json.loads((tmp_path / "train.json").read_text())["tasks"]
    task = example.task
    assert (row["key"], row["env_key"], row["task_modality"]) == (task.id, task.world, "tool_use")
    assert row["difficulty"] in (1, 2, 3)
    assert row["env_variables"]["CURRENT_DATE"] == task.now[:10]
    assert None not in row["env_variables"].values()
    assert (task.messages[0].content or "") in row["prompt"]
    assert all(fact.text in row["prompt"] for fact in task.scenario.facts if fact.tell == "asked")
    assert not any(fact.text in row["prompt"] for fact in task.scenario.facts if fact.tell == "never")


def test_an_empty_file_of_tasks_is_json_too(tmp_path: Path) -> None:
    write_rows(Store(tmp_path), "test.json", FORMAT, [])
    assert json.loads((tmp_path / "test.json").read_text()) == {"tasks": []}

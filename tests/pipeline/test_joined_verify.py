"""`synth verify` on tasks of two domains: what is changed in a rule, a row, a contract or a proof is found."""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synth.verification.dataset import verify_tasks
from tests.pipeline.small import LAB, PLAN, WORLD
from tests.pipeline.test_verify import status
from tests.shared import copied

Record = dict[str, Any]
Change = Callable[[Path], set[str]]
"""Spoils a dataset; the ids of the tasks that it has spoiled."""


@pytest.fixture
def copy(joined: Path, tmp_path: Path) -> Path:
    """The dataset somewhere else, to be spoiled."""
    return copied(joined, tmp_path / "moved")


def tasks_in(outputs: Path) -> list[Record]:
    return [json.loads(line) for line in (outputs / "queries" / f"{WORLD}.jsonl").read_text().splitlines()]


def with_task(change: Callable[[Record], bool]) -> Change:
    """Spoil the first task that `change` finds something to change in."""

    def spoil(outputs: Path) -> set[str]:
        tasks = tasks_in(outputs)
        spoiled = next(task for task in tasks if change(task))
        (outputs / "queries" / f"{WORLD}.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
        return {spoiled["id"]}

    return spoil


def demanded_call(task: Record) -> bool:
    """Leave out what only a bridge rule wants; later calls are counted anew."""
    place = next((place for place, call in enumerate(task["golden"]) if call["demanded_by"]), None)
    if place is None:
        return False
    del task["golden"][place]
    for call in task["golden"]:
        for name, source in call["grounding"].items():
            call["grounding"][name] = re.sub(
                r"call (\d+)", lambda found: f"call {int(found[1]) - (int(found[1]) > place)}", source
            )
    return True


def lost_crossing(task: Record) -> bool:
    return bool(task["gates"]["interlock"]["crossings"].pop())


def no_interlock(task: Record) -> bool:
    task["gates"]["interlock"] = {}
    return True


def other_demand(task: Record) -> bool:
    found = task["gates"]["interlock"]["demanded"]
    task["gates"]["interlock"]["demanded"] = {rule: [0] for rule in found}
    return bool(found)


def loosened(outputs: Path) -> set[str]:
    """Every bridge rule holds always."""
    path = outputs / "policies" / f"{WORLD}.bridges.json"
    mediation = json.loads(path.read_text())
    for rule in mediation["bridges"]:
        rule["holds"] = "1 = 1"
    path.write_text(json.dumps(mediation))
    return {task["id"] for task in tasks_in(outputs) if task["gates"]["interlock"]["demanded"]}


def other_row(outputs: Path) -> set[str]:
    connection = sqlite3.connect(outputs / "database" / f"{WORLD}.sqlite")
    with connection:
        changed = connection.execute(f"UPDATE {LAB}__Invoice SET amount_cents = amount_cents + 1").rowcount
    connection.close()
    assert changed > 0
    return {task["id"] for task in tasks_in(outputs)}


def other_effect(outputs: Path) -> set[str]:
    """The contract's claims no longer come to anything."""
    path = outputs / "database" / f"{WORLD}.contract.json"
    contract = json.loads(path.read_text())
    claim = next(tool for tool in contract["tools"] if tool["origin"] == "submit_claim")
    claim["effects"] = claim["effects"][:1]
    path.write_text(json.dumps(contract))
    return {task["id"] for task in tasks_in(outputs) if task["golden"][-1]["tool"] == claim["name"]}


def other_rule(outputs: Path) -> set[str]:
    """The contract's sentence is no longer the policy's."""
    path = outputs / "database" / f"{WORLD}.contract.json"
    contract = json.loads(path.read_text())
    claim = next(tool for tool in contract["tools"] if tool["origin"] == "submit_claim")
    claim["guards"][-1]["says"] = "Claims are welcome."
    path.write_text(json.dumps(contract))
    return {task["id"] for task in tasks_in(outputs) if task["golden"][-1]["tool"] == claim["name"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (loosened, r"demanded by nothing|gates\.interlock\."),
        (other_row, "was proven on the state"),
        (with_task(demanded_call), r"golden breaks a rule: B|fails|gates\.golden\.calls"),
        (with_task(lost_crossing), r"gates\.interlock\."),
        (with_task(no_interlock), r"gates\.interlock\."),
        (with_task(other_demand), r"gates\.interlock\."),
        (other_effect, r"the criteria are not what the golden calls change|gates\."),
        (other_rule, "does not state R"),
    ],
)
def test_what_is_changed_is_found_in_the_tasks_that_rest_on_it(copy: Path, change: Change, said: str) -> None:
    for name in (LAB, PLAN):
        path = copy / "queries" / f"{name}.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    spoiled = change(copy)
    faults = [fault for fault in verify_tasks(copy).faults if fault.startswith("queries/")]
    assert spoiled
    assert {fault.split(": ")[1] for fault in faults} == spoiled, faults
    for fault in faults:
        assert fault.startswith(f"queries/{WORLD}.jsonl: ")
        assert re.search(said, fault), fault


def test_the_command_passes_a_moved_dataset_and_names_each_changed_file(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(copy, capsys)[0] == 0
    files = [
        f"database/{WORLD}.contract.json",
        f"policies/{WORLD}.bridges.json",
        f"cross_domain_templates/{WORLD}.json",
    ]
    for file in files:
        (copy / file).write_text((copy / file).read_text() + "\n")
    code, lines = status(copy, capsys)
    assert code == 1
    assert [line for line in lines if line.endswith(": changed")] == sorted(f"{file}: changed" for file in files)

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import skillweave as sw
from evaluator import score
from skillweave.base.errors import ArtifactError
from tests.shared import ROOT, copied

SKETCH = """
import skillweave as sw
from evaluator import score

run = sw.open({outputs!r})                     # a finished or a running dataset
task = run.tasks[{id!r}]
with run.world(task).session(task) as session:
    session.tools                            # OpenAI tool definitions
    session.call({tool!r}, {arguments!r})
    session.diff()                           # row changes since the start
    print(score(task, session, messages=None))   # the evaluator's checks; what needs words is null without messages
"""


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    """The dataset somewhere else, to be spoiled."""
    return copied(small, tmp_path / "moved", ".cache")


def test_importing_loads_no_more_than_it_must() -> None:
    code = "import sys, skillweave; print(sorted(m for m in sys.modules if m.partition('.')[0] in "
    code += "{'pydantic', 'sqlglot', 'sqlite3', 'prefect', 'openai'}), skillweave.open)"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("[] <function open")


def test_the_documented_sketch_runs_as_it_stands(small: Path) -> None:
    task = next(task for task in sw.open(small).tasks.values() if task.login == "session" and task.kind == "do")
    first = task.golden[0]
    code = SKETCH.format(outputs=str(small), id=task.id, tool=first.tool, arguments=first.arguments)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"task_id='{task.id}' passed=")


def test_every_task_passes_by_its_golden_calls_and_fails_without(small: Path) -> None:
    run = sw.open(str(small))
    assert set(run.worlds) == {"CityHotel", "CornerPharmacy"}
    assert len(run.tasks) == sum(1 for _ in run.tasks) > 40
    for id, task in run.tasks.items():
        assert (task.id, run.tasks[id].world) == (id, task.world)
        with run.world(task).session(task) as session:
            before = score(task, session, messages=[])
            for call in task.golden:
                assert session.call(call.tool, call.arguments).ok or call.fault is not None
            after = score(task, session)
        assert before.passed is False
        assert after.checks.state is not None
        assert after.checks.state.score == 1
        told = (task.criteria.communicate, task.criteria.declined, task.criteria.must_ask)
        is_foretold = any(call.asked_later for call in task.golden)
        needs_words = any(told) or is_foretold or task.kind in ("refuse", "clarify")
        assert after.passed is (None if needs_words else True)


def test_worlds_blueprints_and_policies_go_by_name(small: Path) -> None:
    run = sw.open(small)
    world = run.world("CityHotel")
    assert world is run.world("CityHotel")
    assert world.now == "2025-03-17 09:00:00"
    assert run.blueprint("CityHotel") == world.blueprint
    assert set(run.policy("CityHotel").tools) == {tool.name for tool in world.blueprint.tools}
    with pytest.raises(ArtifactError, match=r"no blueprint 'Cinema'.*CityHotel, CornerPharmacy"):
        run.world("Cinema")
    with pytest.raises(KeyError, match="no task 'CityHotel-00000000'"):
        run.tasks["CityHotel-00000000"]
    assert "CityHotel-00000000" not in run.tasks
    with pytest.raises(KeyError, match="no task 5"):
        run.tasks[5]  # type: ignore[index]
    with pytest.raises(ArtifactError, match="no blueprint None"):
        run.world(None)  # type: ignore[arg-type]


def test_a_moved_dataset_is_the_same_and_a_folder_without_one_is_none(copy: Path, small: Path, tmp_path: Path) -> None:
    (copy / "manifest.json").unlink()
    moved, first = sw.open(copy), sw.open(small)
    assert list(moved.tasks) == list(first.tasks)
    assert moved.world("CityHotel").now == first.world("CityHotel").now
    with pytest.raises(ArtifactError, match="no outputs folder"):
        sw.open(tmp_path / "nowhere")
    with pytest.raises(ArtifactError, match="holds no blueprints"):
        sw.open(tmp_path)


def test_a_task_of_another_state_is_refused(copy: Path) -> None:
    with sqlite3.connect(copy / "database" / "CityHotel.sqlite") as connection:
        connection.execute("UPDATE guest SET city = 'Elsewhere' WHERE guest_id = (SELECT min(guest_id) FROM guest)")
    run = sw.open(copy)
    with pytest.raises(ArtifactError, match="was proven on the state"):
        run.world(next(run.tasks.of("CityHotel")))
    assert run.world(next(run.tasks.of("CornerPharmacy")))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER wild AFTER UPDATE ON guest BEGIN DELETE FROM guest; END",
        "CREATE VIEW everybody AS SELECT * FROM guest",
    ],
)
def test_a_database_that_brings_code_is_refused(copy: Path, statement: str) -> None:
    with sqlite3.connect(copy / "database" / "CityHotel.sqlite") as connection:
        connection.execute(statement)
    with pytest.raises(ArtifactError, match="only plain tables are allowed"):
        sw.open(copy).world("CityHotel")


def test_links_and_paths_that_lead_away_are_refused(copy: Path) -> None:
    path = copy / "queries" / "CityHotel.jsonl"
    line = json.loads(path.read_text().splitlines()[0])
    line["initial_state"]["database"] = "../../etc/passwd"
    path.write_text(json.dumps(line) + "\n")
    run = sw.open(copy)
    with pytest.raises(ArtifactError, match=r"stands on '\.\./\.\./etc/passwd'"):
        run.world(next(run.tasks.of("CityHotel")))
    database = copy / "database" / "CornerPharmacy.sqlite"
    shutil.move(database, copy.parent / "hidden.sqlite")
    database.symlink_to(copy.parent / "hidden.sqlite")
    with pytest.raises(ArtifactError, match="links are refused"):
        run.world("CornerPharmacy")


def test_damaged_and_doubled_lines_are_named(copy: Path) -> None:
    path = copy / "queries" / "CityHotel.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[0]]) + "\n")
    with pytest.raises(ArtifactError, match=rf"line {len(lines) + 1}: a second 'CityHotel-"):
        sw.open(copy).tasks[json.loads(lines[0])["id"]]
    path.write_text(lines[0][:200] + "\n")
    with pytest.raises(ArtifactError, match=r"queries/CityHotel.jsonl, line 1' is not JSON"):
        len(sw.open(copy).tasks)
    path.write_text(json.dumps({**json.loads(lines[0]), "kind": "a song"}) + "\n")
    with pytest.raises(ArtifactError, match="damaged, at byte 0: kind"):
        next(sw.open(copy).tasks.of("CityHotel"))


def test_a_file_that_is_written_anew_is_read_anew(copy: Path) -> None:
    run = sw.open(copy)
    path = copy / "queries" / "CityHotel.jsonl"
    ids = [task.id for task in run.tasks.of("CityHotel")]
    path.write_text(path.read_text().partition("\n")[2])
    assert [task.id for task in run.tasks.of("CityHotel")] == ids[1:]
    assert ids[0] not in run.tasks

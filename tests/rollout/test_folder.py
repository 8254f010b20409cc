"""The folder of a run: what counts as a trajectory, what can be written, where temporary files are."""

import json
import tempfile
from pathlib import Path

import pytest

from rollout.folder import RolloutFolder
from rollout.trajectory import RolloutSettings
from skillweave.base.errors import ConfigError
from skillweave.schema.trajectory import TrajectoryRecord
from tests.rollout.talks import Script, a_question, held


@pytest.fixture
def folder(tmp_path: Path) -> RolloutFolder:
    found = RolloutFolder(tmp_path / "rollouts")
    found.store.prepare()
    return found


def a_record(**changes: object) -> TrajectoryRecord:
    return held(a_question(), RolloutSettings(backend=Script("5").backend)).model_copy(update=changes)


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": "sum#0"}',
        b'{"id": 5, "task_id": "sum", "trial": 0, "messages": [], "stop_reason": "error"}',
        b"[1, 2]",
        b"null",
        b"",
        b"\0\0",
        b"x" * 1_000_000,
        b"[" * 100_000,
    ],
)
def test_what_is_no_trajectory_counts_for_nothing(folder: RolloutFolder, line: bytes) -> None:
    folder.append(a_record(id="other#0"))
    folder.store.append("general.jsonl", line + b"\n")
    found = folder.held()
    assert found.done == {"other#0"}
    assert found.torn == ("general.jsonl, line 2",)


def test_a_record_with_half_a_character_is_written_with_what_stands_for_it(folder: RolloutFolder) -> None:
    folder.append(a_record(metadata={"user_rejected": ["half \ud800"]}))
    (line,) = (folder.store.root / "general.jsonl").read_bytes().splitlines()
    assert json.loads(line)["metadata"] == {"user_rejected": ["half \ufffd"]}
    assert TrajectoryRecord.model_validate_json(line).id == "sum#0"


@pytest.mark.parametrize("world", ["", ".hidden", "a/b"])
def test_a_file_that_no_later_run_would_find_is_refused(folder: RolloutFolder, world: str) -> None:
    with pytest.raises(ConfigError, match="names a file of trajectories"):
        folder.append(a_record(world=world))


def test_temporary_files_are_made_in_the_folder_and_removed_by_the_next_run(folder: RolloutFolder) -> None:
    before = tempfile.gettempdir()
    with folder.temporary_files():
        made = Path(tempfile.mkdtemp())
        assert folder.store.root.resolve() in made.parents
    assert not made.exists()
    assert tempfile.gettempdir() == before
    left = folder.store.root / ".cache" / "tmp" / "4000000" / "skillweave-mcp-x"
    left.mkdir(parents=True)
    folder.store.clean()
    assert not left.exists()


def test_a_description_may_change_until_there_is_a_trajectory(folder: RolloutFolder) -> None:
    folder.fix({"seed": 1})
    folder.fix({"seed": 2})
    folder.store.write("general.jsonl", b"")
    folder.fix({"seed": 3, "asked": 1})
    folder.append(a_record())
    folder.fix({"seed": 3, "asked": 2})
    with pytest.raises(ConfigError, match="seed is 3 there and 4 now"):
        folder.fix({"seed": 4})


def test_what_the_shards_of_a_killed_run_hold_counts_too(folder: RolloutFolder) -> None:
    folder.fix({"seed": 1})
    folder.begin_shard("one")
    folder.fix({"seed": 2})
    folder.append_to_shard("one", a_record())
    with pytest.raises(ConfigError, match="seed is 2 there and 3 now"):
        folder.fix({"seed": 3})


def test_trajectories_of_an_unknown_run_are_left_alone(folder: RolloutFolder) -> None:
    folder.append(a_record())
    with pytest.raises(ConfigError, match=r"holds trajectories but no run\.json"):
        folder.fix({"seed": 1})

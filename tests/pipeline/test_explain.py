"""`explain` on a finished dataset: a world's tasks, and the story of each."""

import json
from pathlib import Path

import pytest

from synth.cli.app import main
from synth.cli.options import PipelineSource


def explained(small: Path, id: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit) as ended:
        main(PipelineSource(), ["explain", id, "--outputs-dir", str(small)])
    assert ended.value.code == 0
    return capsys.readouterr().out.splitlines()


def test_a_world_is_told_as_a_list_of_its_tasks(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = sorted((small / "queries").glob("*.jsonl"))[0]
    tasks = [json.loads(line) for line in file.read_text().splitlines()]
    *lines, last = explained(small, file.stem, capsys)
    assert [line.split()[:3] for line in lines] == [[task["id"], task["kind"], task["split"]] for task in tasks]
    assert ["faults planted" in line for line in lines] == [task["noise"] is not None for task in tasks]
    assert last.startswith(f"{len(tasks)} tasks; ")


def test_a_task_is_told_whole(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in sorted((small / "queries").glob("*.jsonl")):
        kinds = {task["kind"]: task for task in map(json.loads, file.read_text().splitlines())}
        for task in kinds.values():
            told = explained(small, task["id"], capsys)
            assert told[0] == f"task {task['id']}: {task['kind']}, in {task['world']}, {task['split']}"
            assert {"Golden calls", "Right is", "Proved", "Made by"} <= {*told} or not task["golden"]

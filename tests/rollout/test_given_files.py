"""Files that users write, on Windows too: nothing in them is lost in silence, and nothing that is named."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from skillweave.selection import matching_ids
from tests.commands import Done, ran
from tests.rollout.offline_agents.clinic import a_dataset, tasks

MARK = b"\xef\xbb\xbf"
IDS = sorted(task.id for task in tasks())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a dataset and no configuration."""
    a_dataset(tmp_path / "outputs")
    return tmp_path


def rolled(place: Path, *more: str) -> Done:
    return ran("rollout", "run", "--outputs", "outputs", *more, place=place)


def held(place: Path) -> list[str]:
    lines = (place / "rollouts" / "SmallClinic.jsonl").read_bytes().removeprefix(MARK).splitlines()
    return sorted(json.loads(line)["task_id"] for line in lines)


@pytest.mark.parametrize(
    "content",
    [
        MARK + "\n".join(IDS).encode(),
        "\r\n".join(IDS).encode() + b"\r\n",
        MARK + b"\r\n \t\r\n" + "  \r\n\r\n".join(f"\t{id}" for id in IDS).encode(),
        "\r".join(IDS).encode(),
        b"# the first few\n" + "\n".join([*IDS, IDS[0]]).encode(),
        b"SmallClinic-*",
        b"SmallClinic-* # all of them",
        "\n".join(f"{id}\t#{number}" for number, id in enumerate(IDS)).encode(),
    ],
)
def test_each_id_of_a_file_is_taken_however_it_was_saved(place: Path, content: bytes) -> None:
    (place / "ids.txt").write_bytes(content)
    done = rolled(place, "--tasks", "@ids.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert held(place) == IDS


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("\n".join(IDS).encode("utf-16"), "it is UTF-16"),
        ("\n".join(IDS).encode("utf-16-le"), "it is UTF-16"),
        ("\n".join(IDS).encode("utf-16-be"), "it is UTF-16"),
        (IDS[0].encode() + b"\n\xff\xfe\n", "line 2 is not UTF-8"),
        (IDS[0].encode() + b"\n\0\n", "NUL characters"),
        (b"\0\1\2", "it holds NUL characters, so it is no text"),
        (MARK + b"\r\n# none\r\n", "the file names no task"),
    ],
)
def test_a_file_of_ids_that_is_none_is_refused_in_a_line(place: Path, content: bytes, complaint: str) -> None:
    (place / "ids.txt").write_bytes(content)
    done = rolled(place, "--tasks", "@ids.txt")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--tasks @ids.txt" in done.stderr
    assert complaint in done.stderr
    assert not (place / "rollouts" / "SmallClinic.jsonl").exists()


def test_an_id_may_hold_what_begins_a_comment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ids.txt").write_text("a # b # the first\nc#d\n# e\na # b\n")
    assert matching_ids(["a # b", "a", "c#d", "e"], ["@ids.txt"]) == ["a # b", "c#d"]


def test_what_is_no_file_is_said(place: Path) -> None:
    assert "--tasks @ names no file; write @FILE" in rolled(place, "--tasks", "@").stderr
    assert "cannot be read: it is a folder; name a file" in rolled(place, "--tasks", "@outputs").stderr
    assert "configuration '.' cannot be read: it is a folder; name a file" in rolled(place, "--config", "").stderr


def test_each_value_without_a_match_is_named_though_others_match(place: Path) -> None:
    (place / "ids.txt").write_text("\n".join([*IDS, "SmallClinic-cancle", "gone-1", "gone-2", "gone-3"]))
    done = rolled(place, "--tasks", "@ids.txt", "--tasks", "Small*")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: 4 of {len(IDS) + 5} values of --tasks match none of the {len(IDS)} tasks: 'SmallClinic-cancle' "
        f"(ids.txt, line {len(IDS) + 1}), 'gone-1' (ids.txt, line {len(IDS) + 2}), 'gone-2' (ids.txt, line "
        f"{len(IDS) + 3}) and 1 more; the nearest to 'SmallClinic-cancle' is 'SmallClinic-cancel'\n"
    )
    done = rolled(place, "--tasks", "smallclinic-move")
    assert done.stderr == (
        f"error: --tasks 'smallclinic-move' matches none of the {len(IDS)} tasks; the nearest is 'SmallClinic-move'\n"
    )
    done = ran("evaluator", "selftest", "--outputs", "outputs", "--tasks", "Small*", "--tasks", "Smal", place=place)
    assert (done.returncode, "'Smal'" in done.stderr) == (2, True)


def test_a_trajectory_behind_a_byte_order_mark_counts(place: Path) -> None:
    assert rolled(place).returncode == 0
    path = place / "rollouts" / "SmallClinic.jsonl"
    path.write_bytes(MARK + path.read_bytes().replace(b"\n", b"\r\n"))
    done = rolled(place)
    assert "nothing to do" in done.stdout
    assert "torn" not in done.stdout
    scored = ran("evaluator", "run", "--outputs", "outputs", place=place)
    assert scored.returncode == 0, scored.stdout + scored.stderr
    results = (place / "outputs" / "evaluation" / "results.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["task_id"] for line in results) == IDS


@pytest.mark.parametrize("command", ["rollout", "evaluator"])
def test_trajectories_in_utf_16_are_refused_and_not_passed_over(place: Path, command: str) -> None:
    assert rolled(place, "--limit", "1").returncode == 0
    path = place / "rollouts" / "SmallClinic.jsonl"
    path.write_bytes(path.read_text().encode("utf-16"))
    done = ran(command, "run", "--outputs", "outputs", place=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "it is UTF-16, as some programs on Windows write; save it as UTF-8" in done.stderr


def a_skill(place: Path, content: bytes) -> Done:
    (place / "skill.md").write_bytes(content)
    return rolled(place, "--set", "rollout.skill=skill.md")


def a_configuration(place: Path, content: bytes) -> Done:
    (place / "my.yaml").write_bytes(content)
    return rolled(place, "--config", "my.yaml")


def questions(place: Path, content: bytes) -> Done:
    (place / "q.jsonl").write_bytes(content)
    parts = "{tasks: react, agent: react, options: {questions: q.jsonl}}"
    return rolled(place, "--set", f"rollout.parts={parts}", "--agent", "openai/m", "--dry-run")


@pytest.mark.parametrize(
    ("give", "text"),
    [
        (a_skill, "Be kind.\r\nAlways.\r\n"),
        (a_configuration, "seed: 5\r\nrollout:\r\n  agent: offline/oracle\r\n"),
        (questions, '{"id": "a", "question": "1?", "answer": "1"}\r\n\r\n{"id": "b", "question": "2?", "answer": "2"}'),
    ],
)
def test_what_users_write_for_a_run_may_come_from_windows(
    place: Path, give: Callable[[Path, bytes], Done], text: str
) -> None:
    done = give(place, MARK + text.encode())
    assert (done.returncode, done.stderr) == (0, "")
    if give is questions:
        assert re.search(r"^total +2 +2 +0 +2 ", done.stdout, re.MULTILINE)
    else:
        record = json.loads((place / "rollouts" / "SmallClinic.jsonl").read_text().splitlines()[0])
        assert "\ufeff" not in json.dumps(record)
    refused = give(place, text.encode("utf-16"))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "it is UTF-16" in refused.stderr


def test_a_dataset_needs_no_configuration_and_one_that_is_named_has_to_be_there(place: Path) -> None:
    assert rolled(place, "--limit", "1").returncode == 0
    assert not (place / "config.yaml").exists()
    done = rolled(place, "--config", "config.yaml")
    assert (done.returncode, "configuration 'config.yaml' does not exist" in done.stderr) == (2, True)

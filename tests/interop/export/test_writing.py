"""How an export is written: the same bytes whatever stopped it and however many work, and never over something else."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.interop.export.exports import export, exported, files_in, records_in, write_records
from tests.shared import ROOT


def started(small: Path, rollouts: Path, to: Path) -> "subprocess.Popen[bytes]":
    """An export in a process of its own."""
    places = ["--outputs", str(small), "--rollouts", str(rollouts), "--to", str(to), "--workers", "1"]
    return subprocess.Popen(
        [sys.executable, "-m", "interop", "export", "openai", *places],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.parametrize("until", ["results.jsonl", "train.partial", "README.md"])
def test_a_killed_export_ends_with_the_same_bytes(small: Path, trajectories: Path, tmp_path: Path, until: str) -> None:
    exported("openai", small, tmp_path / "whole", rollouts=trajectories)
    to = tmp_path / "killed"
    process = started(small, trajectories, to)
    while process.poll() is None and not any((to / name).is_file() for name in (until, f".cache/{until}")):
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    exported("openai", small, to, rollouts=trajectories)
    assert files_in(to) == files_in(tmp_path / "whole")


def test_what_is_staged_is_not_made_again(
    small: Path, trajectories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interop.export import rows

    made: list[str] = []
    whole = rows.staged_line

    def torn(reader: object, format: str, spot: object) -> bytes:
        made.append(str(spot))
        if len(made) == 18:
            raise KeyboardInterrupt
        return whole(reader, format, spot)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "staged_line", torn)
    with pytest.raises(AssertionError):
        exported("openai", small, tmp_path / "to", rollouts=trajectories)
    with next((tmp_path / "to" / ".cache").glob("*.partial")).open("ab") as stream:
        stream.write(b'[[{"messages"')
    before = len({*made[:16]})
    found = exported("openai", small, tmp_path / "to", rollouts=trajectories)
    assert before == 16
    assert len(made) == 18 + len(found) - 16
    exported("openai", small, tmp_path / "whole", rollouts=trajectories)
    assert files_in(tmp_path / "to") == files_in(tmp_path / "whole")


@pytest.mark.parametrize("format", ["openai", "dpo"])
def test_two_workers_write_the_same_bytes(small: Path, trajectories: Path, tmp_path: Path, format: str) -> None:
    exported(format, small, tmp_path / "one", rollouts=trajectories)
    exported(format, small, tmp_path / "two", "--workers", "2", rollouts=trajectories)
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_the_order_of_lines_decides_nothing(small: Path, trajectories: Path, tmp_path: Path) -> None:
    exported("openai", small, tmp_path / "one", rollouts=trajectories)
    turned = write_records(tmp_path / "turned", records_in(trajectories)[::-1])
    exported("openai", small, tmp_path / "two", rollouts=turned)
    assert (tmp_path / "one" / "train.jsonl").read_bytes() == (tmp_path / "two" / "train.jsonl").read_bytes()


def test_another_export_is_refused_and_the_same_is_complete(small: Path, trajectories: Path, tmp_path: Path) -> None:
    to = tmp_path / "to"
    exported("openai", small, to, rollouts=trajectories)
    before = files_in(to)
    again = export("openai", small, to, rollouts=trajectories)
    assert "complete already" in again.stdout
    other = export("openai", small, to, "--where", "all", rollouts=trajectories)
    assert other.returncode == 2
    assert "holds another export: where is" in other.stderr
    assert files_in(to) == before


def test_a_folder_of_something_else_is_refused(small: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    done = export("agenteval", small, tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "README.md").read_text() == "mine"


def test_the_card_says_what_it_was_made_from(small: Path, trajectories: Path, tmp_path: Path) -> None:
    rows = exported("openai", small, tmp_path, rollouts=trajectories)
    card = (tmp_path / "README.md").read_text()
    for words in ("offline/oracle", "`reward==1`", "`weight` is 1", "characters / 4", f"| 1 | {len(rows)} |"):
        assert words in card


def test_nothing_is_made_for_arguments_that_are_wrong(small: Path, trajectories: Path, tmp_path: Path) -> None:
    to = tmp_path / "x"
    assert export("openai", small, to, rollouts=tmp_path / "nothere").returncode == 2
    assert export("openai", small, to, "--results", str(tmp_path / "none"), rollouts=trajectories).returncode == 2
    assert not to.exists()

"""Exports of a small dataset, by the command that users give."""

import json
from pathlib import Path
from typing import Any

from tests.commands import Done, ran

Record = dict[str, Any]


def export(format: str, small: Path, to: Path, *more: str, rollouts: Path | None = None) -> Done:
    """Give the command, with one process unless told otherwise."""
    given = ["--rollouts", str(rollouts)] if rollouts else []
    workers = [] if "--workers" in more else ["--workers", "1"]
    return ran("interop", "export", format, "--outputs", str(small), "--to", str(to), *given, *workers, *more)


def exported(format: str, small: Path, to: Path, *more: str, rollouts: Path | None = None) -> list[Record]:
    """The rows of an export, of all splits."""
    done = export(format, small, to, *more, rollouts=rollouts)
    assert done.returncode == 0, done.stdout + done.stderr
    return rows_in(to)


def rows_in(folder: Path) -> list[Record]:
    """The rows of all splits."""
    rows: list[Record] = []
    for split in ("train", "validation", "test"):
        for file in sorted(folder.glob(f"{split}.json*")):
            text = file.read_text("utf-8")
            rows += json.loads(text) if file.suffix == ".json" else map(json.loads, text.splitlines())
    return rows


def files_in(folder: Path) -> dict[str, bytes]:
    """All files of a folder, with their bytes."""
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def records_in(rollouts: Path) -> list[Record]:
    """The trajectories of a rollouts folder."""
    return [json.loads(line) for path in sorted(rollouts.glob("*.jsonl")) for line in path.read_text().splitlines()]


def write_records(rollouts: Path, records: list[Record]) -> Path:
    """A rollouts folder with these trajectories."""
    rollouts.mkdir(parents=True, exist_ok=True)
    (rollouts / "all.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return rollouts

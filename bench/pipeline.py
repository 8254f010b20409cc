"""Measures seconds and peak memory of the default run on an empty folder, and of a second run with nothing to do.

It prints one JSON document; README.md beside this file explains it. Memory is that of all processes of the run together
(PSS), sampled twice a second; it is null if the platform does not tell it.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench._endpoint import held, megabytes

ROOT = Path(__file__).resolve().parent.parent
LOOK_EVERY_S = 0.5
"""Seconds between two samples."""
Record = dict[str, Any]
"""An item's record, as the manifest holds it."""


@dataclass
class RunMonitor:
    """Samples of a run while it is going on."""

    journal: Path
    """The journal of the run's manifest."""
    memory: list[tuple[float, int]] = field(default_factory=list)
    """Time and bytes of each sample."""
    ended: dict[tuple[str, str], float] = field(default_factory=dict)
    """Step and key of an item -> the time when its record was first seen."""

    def look(self, process: int) -> None:
        """Take a sample of a process and all its descendants."""
        now = time.monotonic()
        size = held(process)
        if size:
            self.memory.append((now, size))
        for record in _items_in(self.journal):
            self.ended.setdefault((record["step"], record["key"]), now)

    def peak(self, begin: float, end: float) -> int:
        """The most bytes between two times; 0 without a sample."""
        return max((size for moment, size in self.memory if begin <= moment <= end), default=0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the figures. The exit status is that of the first run."""
    parser = argparse.ArgumentParser(description="Measure the pipeline.")
    parser.add_argument("--config", type=Path, default=ROOT / "config.yaml", help="the configuration to measure")
    parser.add_argument("--set", action="append", default=[], help="passed on to the run; repeats")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder) / "outputs"
        command = [sys.executable, "-m", "synth", "run", "--config", str(given.config), "--outputs-dir", str(outputs)]
        command += [part for setting in given.set for part in ("--set", setting)]
        first, watch, status = _measured(command, outputs)
        again, _, _ = _measured(command, outputs)
        manifest = outputs / "manifest.json"
        items = json.loads(manifest.read_text("utf-8"))["items"] if manifest.is_file() else []
        report = {
            "bench": "pipeline",
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            "exit_status": status,
            "seconds": round(first, 1),
            "seconds_with_nothing_to_do": round(again, 1),
            "peak_memory_mb": megabytes(watch.peak(0, time.monotonic())),
            "bytes_written": sum(file.stat().st_size for file in _artifacts(outputs)),
            "steps": [_step(name, items, watch) for name in sorted({item["step"] for item in items})],
        }
    print(json.dumps(report, indent=1))
    return status


def _measured(command: Sequence[str], outputs: Path) -> tuple[float, RunMonitor, int]:
    watch = RunMonitor(outputs / ".cache" / "journal.jsonl")
    begin = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            watch.look(process.pid)
            time.sleep(LOOK_EVERY_S)
    return time.monotonic() - begin, watch, process.returncode


def _step(name: str, items: Sequence[Record], watch: RunMonitor) -> dict[str, Any]:
    own = [item for item in items if item["step"] == name]
    seconds = {item["key"]: item.get("seconds", 0.0) for item in own if item["state"] != "skipped"}
    ended = {key: watch.ended[name, key] for key in seconds if (name, key) in watch.ended}
    peaks = [watch.peak(end - seconds[key], end) for key, end in ended.items()]
    states = [item["state"] for item in own]
    return {
        "step": name,
        "items": {state: states.count(state) for state in sorted(set(states))},
        "seconds": round(sum(seconds.values()), 2),
        "slowest_item_seconds": round(max(seconds.values(), default=0), 2),
        "peak_memory_mb_meanwhile": megabytes(max(peaks, default=0)),
    }


def _items_in(journal: Path) -> list[Record]:
    try:
        lines = journal.read_bytes().split(b"\n")[:-1]
    except OSError:
        return []
    return [entry["item"] for entry in map(json.loads, lines) if "item" in entry]


def _artifacts(outputs: Path) -> list[Path]:
    files = [path for path in outputs.rglob("*") if path.is_file()] if outputs.is_dir() else []
    return [path for path in files if path.relative_to(outputs).parts[0] not in (".cache", ".prefect", "logs")]


if __name__ == "__main__":
    sys.exit(main())

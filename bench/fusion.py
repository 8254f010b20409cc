"""Measures how domains are joined: how many combinations are considered, pruned and kept, and how long 400 take.

It prints one JSON document; README.md beside this file explains it. The single worlds are made first, which is not
timed. Then steps s10 to s12 run over every domain that the offline author knows.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STEPS = ("s10_domain_combos_selection", "s11_trajectory_fusion", "s12_database_fusion")
DOMAINS = 16
"""Number of domains to make, which is all that the offline author knows."""
Record = dict[str, Any]
"""An item's record, as the manifest holds it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the figures. The exit status is 1 if single worlds failed or no combination was kept."""
    parser = argparse.ArgumentParser(description="Measure the joining of domains.")
    parser.add_argument("--combinations", type=int, default=400, help="number of combinations to choose")
    parser.add_argument("--largest", type=int, default=5, help="the most domains of one combination")
    parser.add_argument("--workers", type=int, default=2, help="items at once")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder) / "outputs"
        settings = [
            f"steps.s01_domain_expansion.target_domains={DOMAINS}",
            f"steps.s10_domain_combos_selection.cross_domain_combinations={given.combinations}",
            f"steps.s10_domain_combos_selection.max_domains_per_combo={given.largest}",
            # Measure all items, however many are rejected.
            *(f"steps.{step}.max_rejected=1" for step in STEPS),
        ]
        command = [sys.executable, "-m", "synth", "run", "--config", str(ROOT / "config.yaml")]
        command += ["--outputs-dir", str(outputs), "--workers", str(given.workers)]
        command += [part for setting in settings for part in ("--set", setting)]
        if _run([*command, "--until", "s08"])[1]:
            return 1
        seconds, _ = _run([*command, "--from", "s10", "--until", "s12"])
        items = json.loads((outputs / "manifest.json").read_text("utf-8"))["items"]
    report = {
        "bench": "fusion",
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "workers": given.workers,
        "seconds": round(seconds, 1),
        **_combinations(items),
        "steps": [_step(name, items) for name in STEPS],
    }
    print(json.dumps(report, indent=1))
    return 0 if report["combinations_kept"] else 1


def _run(command: Sequence[str]) -> tuple[float, int]:
    begin = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode
    return time.monotonic() - begin, status


def _combinations(items: Sequence[Record]) -> Record:
    chosen, stories, fused = ([item for item in items if item["step"] == name] for name in STEPS)
    return {
        "sets_considered": _sum(chosen, "sets considered"),
        "sets_that_no_links_join": _sum(chosen, "sets that no links join"),
        "combinations_chosen": _sum(chosen, "combinations"),
        "combinations_without_a_proven_story": sum(item["state"] == "rejected" for item in stories),
        "combinations_kept": sum(item["state"] == "done" for item in fused),
        "stories_told": _sum(stories, "stories"),
        "stories_pruned_on_single_worlds": _rejected(stories, "not feasible on a single world"),
        "stories_fallen_on_the_fused_world": _rejected(stories, "not carried out, or not interlocked"),
        "stories_proven": _sum(stories, "stories proven"),
        "searches_made": _sum(stories, "searches"),
        "searches_saved_by_pruning": _sum(stories, "searches saved"),
    }


def _sum(items: Sequence[Record], figure: str) -> int:
    return int(sum(item.get("figures", {}).get(figure, 0) for item in items))


def _rejected(items: Sequence[Record], reason: str) -> int:
    return sum(count for item in items for text, count in item.get("rejected", {}).items() if text.startswith(reason))


def _step(name: str, items: Sequence[Record]) -> Record:
    own = [item for item in items if item["step"] == name]
    seconds = [item.get("seconds", 0.0) for item in own]
    states = [item["state"] for item in own]
    return {
        "step": name,
        "items": {state: states.count(state) for state in sorted(set(states))},
        "seconds": round(sum(seconds), 2),
        "slowest_item_seconds": round(max(seconds, default=0), 2),
    }


if __name__ == "__main__":
    sys.exit(main())

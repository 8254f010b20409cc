"""Small runs: one or two domains with short histories, in a process of their own, as users run it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALLEST = (
    "task_mode=single",
    "domains.seeds=[pharmacy]",
    "steps.s01_domain_expansion.target_domains=1",
    "steps.s06_database_generation.histories=1",
    "steps.s06_database_generation.visits=150",
    "steps.s15_instance_combos_selection.per_template=1",
    "steps.s15_instance_combos_selection.per_refusal=0",
    "steps.s15_instance_combos_selection.per_clarification=1",
    "steps.s15_instance_combos_selection.per_unavailable=0",
)
"""One domain with a short history."""
OVERRIDES = (
    "task_mode=single",
    "domains.seeds=[hotel, pharmacy]",
    "steps.s01_domain_expansion.target_domains=2",
    "steps.s06_database_generation.histories=1",
    "steps.s06_database_generation.visits=150",
    "steps.s15_instance_combos_selection.per_template=2",
    "steps.s15_instance_combos_selection.per_refusal=1",
    "steps.s15_instance_combos_selection.per_clarification=1",
    "steps.s15_instance_combos_selection.per_unavailable=1",
)
"""Another domain beside it; the world of the first is the same, so that it need not be made again."""
JOINED = (
    "domains.seeds=[medical laboratory, health insurance]",
    "steps.s01_domain_expansion.target_domains=2",
    "steps.s06_database_generation.histories=1",
    "steps.s06_database_generation.visits=150",
    "steps.s10_domain_combos_selection.cross_domain_combinations=1",
    "steps.s11_trajectory_fusion.stories=3",
    "steps.s15_instance_combos_selection.per_template=1",
    "steps.s15_instance_combos_selection.per_refusal=0",
    "steps.s15_instance_combos_selection.per_clarification=1",
    "steps.s15_instance_combos_selection.per_unavailable=0",
    "steps.s15_instance_combos_selection.per_storyline=2",
)
"""Two domains that serve the same persons, with a few stories that need both."""
LAB, PLAN = "BloodLab", "HealthPlan"
WORLD = f"{LAB}__{PLAN}"
"""What the two of `JOINED` make together."""
UNSTABLE = frozenset({".gitignore", ".prefect", ".cache", "logs", "manifest.json", "evaluation"})
"""What need not be the same bytes in every run."""


def make_dataset(outputs: Path, overrides: tuple[str, ...], api_url: str) -> None:
    """Make a dataset, to its end."""
    run = begin(outputs, hash_seed="1", workers=1, api_url=api_url, overrides=overrides)
    shown = run.communicate()[0]
    assert run.returncode == 0, shown[-3000:]


def begin(
    outputs: Path,
    *,
    hash_seed: str = "random",
    workers: int = 2,
    api_url: str | None = None,
    overrides: tuple[str, ...] = OVERRIDES,
    more: tuple[str, ...] = (),
) -> "subprocess.Popen[str]":
    """Start the run; with a Prefect server of its own where no address is given."""
    variables = {**os.environ, "PYTHONHASHSEED": hash_seed}
    variables.pop("PREFECT_API_URL", None)
    if api_url is not None:
        variables["PREFECT_API_URL"] = api_url
    settings = [*more, *(part for override in overrides for part in ("--set", override))]
    command = ["run", "--config", "config.yaml", "--outputs", str(outputs), "--workers", str(workers), *settings]
    return subprocess.Popen(
        [sys.executable, "-m", "synth", *command],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def artifacts(outputs: Path) -> dict[str, bytes]:
    """All files that have to be the same bytes every time."""
    return {
        str(path.relative_to(outputs)): path.read_bytes()
        for path in sorted(outputs.rglob("*"))
        if path.is_file() and not UNSTABLE & set(path.relative_to(outputs).parts) and "__pycache__" not in path.parts
    }


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Paths whose bytes differ, or that only one side has."""
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))

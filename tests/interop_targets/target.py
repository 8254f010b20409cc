"""Scripts that run in a target's environment, and what they tell: one JSON value, on the last line."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.interop_targets.environments import FOLDER, ROOT, TargetEnvironment, unavailable

SCRIPTS = Path(__file__).parent / "scripts"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "WANDB_MODE": "disabled"}
LONGEST_S = 600


def in_target(environment: TargetEnvironment, script: str, *arguments: object, cwd: Path = FOLDER) -> Any:
    """What a script says, run by an environment's own interpreter; skips where there is no such environment."""
    return json.loads(command_in(environment, str(SCRIPTS / script), *arguments, cwd=cwd).strip().splitlines()[-1])


def command_in(environment: TargetEnvironment, *arguments: object, cwd: Path = FOLDER, program: str = "python") -> str:
    """What a program of an environment prints; skips where there is no such environment."""
    reason = unavailable(environment)
    if reason is not None:
        pytest.skip(reason)
    command = [str(environment.folder / "bin" / program), *map(str, arguments)]
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment_variables(environment),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def environment_variables(environment: TargetEnvironment) -> dict[str, str]:
    """Nothing is fetched, caches lie with the environment, and the project is on the path where it runs."""
    path = {"PYTHONPATH": str(ROOT)} if environment.runs_project else {}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    own = {"HF_HOME": str(environment.folder / "hf"), "PYTHONDONTWRITEBYTECODE": ""}
    return {**kept, **OFFLINE, **own, **path}

"""Environments in which the targets' own loaders and clients run.

`python -m tests.interop_targets.environments [NAME ...]` builds them, by default all. A target
is a package that reads what `interop` exports or talks to what it serves. Targets that fit together share an
environment in `.venv-interop`; packages come from wherever the user's own uv or pip is told to look. Where they cannot
be had, the reason is written down in the environment's folder, and its tests skip with it.

Measured once each with pip on two cores that did other work, with the downloads of an earlier install at hand:

| environment | targets | MB | seconds |
| --- | --- | --- | --- |
| light | datasets 5, TRL's data utilities, SkyRL's PromptDataset, SkyRL-gym, Gymnasium, Inspect | 840 | 194 |
| datasets-3 | datasets 3.6 | 330 | 40 |
| torch | TRL's trainers, verl, LLaMA-Factory, ms-swift, on PyTorch's build for CPUs | 2,180 | 208 |
| openenv | OpenEnv's clients and commands | 480 | 53 |
| openenv-core | the same of the last release under its old name | 470 | 57 |
| verifiers | `vf-eval` of version 1 | 640 | 82 |
| verifiers-v0 | `load_environment`, in the last release that has it | 790 | 82 |

PyTorch's build for CPUs comes from the folder or index that `UV_FIND_LINKS` or pip's own configuration names. The
project itself is not installed: its root is on the path of the scripts, with the few packages that its steps import.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-interop"
READY, REASON, LOG, INSTALLED = "ready", "unavailable", "install.log", "installed.txt"
LAST_LINES = 3
PROJECT = ("jinja2", "pydantic", "pyyaml", "rich", "sqlglot", "typer")
"""What a conversation in process imports; models and MCP clients would need more."""


@dataclass(frozen=True)
class TargetEnvironment:
    """An environment that one or more targets share."""

    name: str
    packages: Sequence[str]
    """Requirements."""
    bare: Sequence[str] = ()
    """Requirements that are installed without what they depend on, whatever Python they ask for: only a part of each
    is imported, and what that part needs is among the packages."""
    runs_project: bool = False
    """Whether modules of this project run in it."""

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def requirements(self) -> list[str]:
        """The packages, the project's among them."""
        return [*self.packages, *(_project_requirements() if self.runs_project else ())]

    @property
    def fingerprint(self) -> str:
        """What a folder that is ready was made from."""
        return "\n".join([*self.requirements, "without dependencies:", *self.bare])


LIGHT = TargetEnvironment(
    "light",
    (
        "datasets==5.2.0",
        "gymnasium==1.4.0",
        "inspect-ai==0.3.285",
        "skyrl-gym==0.4.0",
        "transformers>=5.6.1,<5.17",
        "loguru",
    ),
    # Both depend on torch, which neither SkyRL's dataset nor TRL's data utilities import.
    bare=("skyrl==0.4.0", "trl==1.16.0"),
    runs_project=True,
)
TORCH = TargetEnvironment(
    "torch",
    (
        "torch==2.13.0+cpu",
        "trl==1.16.0",
        "transformers>=5.6.1,<5.11",
        "datasets>=4.7,<4.8.5",
        "peft==0.18.1",
        "jmespath",
        # What verl imports at once.
        *("codetiming", "hydra-core", "omegaconf", "ray>=2.41", "tensordict>=0.8,!=0.9.0,<=0.10", "torchdata<=0.11"),
        # What its agent loops import as well.
        *("cachetools", "fastapi", "opentelemetry-api", "uvicorn"),
        # What LLaMA-Factory and ms-swift import at once.
        *("addict", "av<=16", "dacite", "einops", "json-repair", "modelscope", "pillow", "scipy"),
    ),
    # They ask for releases of TRL that exclude one another, and their data modules import none.
    bare=("llamafactory==0.9.5", "ms-swift==4.6.0", "verl==0.9.1"),
    runs_project=True,
)
DATASETS_3 = TargetEnvironment("datasets-3", ("datasets==3.6.0",))
OPENENV = TargetEnvironment("openenv", ("openenv==0.10.0",))
OPENENV_CORE = TargetEnvironment("openenv-core", ("openenv-core==0.3.0",))
# uv makes the environment of the program in which verifiers runs a model.
VERIFIERS = TargetEnvironment("verifiers", ("verifiers==0.4.0", "uv"), runs_project=True)
VERIFIERS_V0 = TargetEnvironment("verifiers-v0", ("verifiers==0.3.1",), runs_project=True)
ENVIRONMENTS = {
    environment.name: environment
    for environment in (LIGHT, DATASETS_3, OPENENV, OPENENV_CORE, VERIFIERS, VERIFIERS_V0, TORCH)
}


def unavailable(environment: TargetEnvironment) -> str | None:
    """Why there is no such environment to test in; None where there is."""
    if _is_ready(environment):
        return None
    reason = environment.folder / REASON
    missing = f"there is no environment {environment.name!r}; build it with: make test-interop"
    return reason.read_text("utf-8") if reason.exists() else missing


def build(environment: TargetEnvironment) -> None:
    """Make an environment, or write down why it cannot be made. What is there and whole is left as it is."""
    if _is_ready(environment):
        return
    print(f"building {FOLDER.name}/{environment.name}: minutes; its log is {LOG} there", flush=True)
    shutil.rmtree(environment.folder, ignore_errors=True)
    venv.create(environment.folder, with_pip=True, symlinks=os.name != "nt")
    (FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    try:
        _install(environment)
    except subprocess.CalledProcessError as error:
        last = (environment.folder / LOG).read_text("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
        why = f"{environment.name} cannot be installed here: pip ended with {error.returncode}: {' | '.join(last)}"
        (environment.folder / REASON).write_text(why, encoding="utf-8")
        return
    (environment.folder / READY).write_text(environment.fingerprint, encoding="utf-8")


def _is_ready(environment: TargetEnvironment) -> bool:
    ready = environment.folder / READY
    return ready.exists() and ready.read_text("utf-8") == environment.fingerprint


def _project_requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [text for text in project["dependencies"] if re.split(r"[^\w.-]", text)[0] in PROJECT]


def _install(environment: TargetEnvironment) -> None:
    pip = [str(environment.python), "-m", "pip", "install", "--disable-pip-version-check"]
    uv = ["uv", "pip", "install", "--python", str(environment.python)]
    _run(environment, *(uv if shutil.which("uv") else pip), *environment.requirements)
    if environment.bare:
        _run(environment, *pip, "--no-deps", "--ignore-requires-python", *environment.bare)
    names = [str(environment.python), "-m", "pip", "freeze", "--disable-pip-version-check"]
    installed = subprocess.run(names, check=True, capture_output=True, text=True).stdout
    (environment.folder / INSTALLED).write_text(installed, encoding="utf-8")


def _run(environment: TargetEnvironment, *command: str) -> None:
    with (environment.folder / LOG).open("ab") as log:
        subprocess.run(command, check=True, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    for name in sys.argv[1:] or ENVIRONMENTS:
        build(ENVIRONMENTS[name])
        print(unavailable(ENVIRONMENTS[name]) or f"{FOLDER.name}/{name} is ready", flush=True)

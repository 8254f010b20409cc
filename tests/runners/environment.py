"""Dask and Ray in an environment of their own, and the tests in it: `python -m tests.runners.environment`.

They are the extras of pyproject.toml. Packages come from wherever the user's own uv or pip is told to look; where they
cannot be had, the reason is written down in the folder, and the tests skip with it.
"""

import os
import shutil
import subprocess
import sys
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-runners"
PYTHON = FOLDER / "bin" / "python"
READY, REASON, LOG = "ready", "unavailable", "install.log"
LAST_LINES = 3


def unavailable() -> str | None:
    """Why there are no Dask and Ray to test with in this interpreter; None where there are."""
    if all(find_spec(package) for package in ("prefect_dask", "prefect_ray")):
        return None
    reason = FOLDER / REASON
    return reason.read_text("utf-8") if reason.exists() else "there is no Dask and no Ray; test with: make test-runners"


def extras() -> list[str]:
    """The requirements of both runners."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [requirement for name in ("dask", "ray") for requirement in project["optional-dependencies"][name]]


def build() -> None:
    """Make the environment, or write down why it cannot be made. What is there and whole is left as it is."""
    wanted = "\n".join([*extras(), (ROOT / "requirements-dev.lock").read_text("utf-8")])
    ready = FOLDER / READY
    if ready.exists() and ready.read_text("utf-8") == wanted:
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    venv.create(FOLDER, with_pip=True, symlinks=os.name != "nt")
    (FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    install = (
        ["uv", "pip", "install", "--python", str(PYTHON)]
        if shutil.which("uv")
        else [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check"]
    )
    try:
        _run(*install, "--no-deps", "--require-hashes", "-r", str(ROOT / "requirements-dev.lock"))
        _run(*install, *extras())
    except subprocess.CalledProcessError as error:
        last = (FOLDER / LOG).read_text("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
        why = f"Dask and Ray cannot be installed here: pip ended with {error.returncode}: {' | '.join(last)}"
        (FOLDER / REASON).write_text(why, encoding="utf-8")
        return
    ready.write_text(wanted, encoding="utf-8")


def _run(*command: str) -> None:
    with (FOLDER / LOG).open("ab") as log:
        subprocess.run(command, check=True, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    build()
    python = PYTHON if (FOLDER / READY).exists() else Path(sys.executable)
    os.execv(python, [str(python), "-m", "pytest", "-m", "runners", "-rs", "tests/runners"])

"""The package as users install it: built from a copy of the sources, in an environment of its own, elsewhere."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.shared import ROOT

PACKAGES = ("skillweave", "skillweave_tasks", "synth", "rollout", "evaluator", "interop", "learn")
SOURCES = (*PACKAGES, "pyproject.toml", "README.md", "LICENSE")
WHEEL = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
SDIST = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"


def source_files() -> set[str]:
    """Paths of all files of the packages."""
    files = (path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}


def copy_sources(to: Path) -> Path:
    """A copy of what a package is built from, so that a build leaves nothing among the sources."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            to.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    return to


def build(source: Path, to: Path, what: str) -> Path:
    """Build a wheel or an sdist with the installed setuptools, as an installer calls it; nothing is downloaded."""
    to.mkdir(parents=True, exist_ok=True)
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(
        [sys.executable, "-c", what, str(to)], cwd=source, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return to / done.stdout.splitlines()[-1]


class Installed:
    """An environment with the wheel and the libraries of this one, and a folder elsewhere."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        """Args:
        wheel: What to install.
        folder: For the environment and the folder elsewhere; its name has a blank.
        """
        self.environment = folder / "its own environment"
        self.elsewhere = folder / "an empty folder"
        self.elsewhere.mkdir()
        venv.create(self.environment, with_pip=False, symlinks=os.name != "nt")
        self.python = self.environment / "bin" / "python"
        self.program = self.environment / "bin" / "skillweave"
        paths = sysconfig.get_paths(vars={"base": str(self.environment), "platbase": str(self.environment)})
        self.site = Path(paths["purelib"])
        # Links, not a path to the libraries: the sandbox shows generated code this environment and no other folder.
        shutil.copytree(sysconfig.get_paths()["purelib"], self.site, copy_function=_link, dirs_exist_ok=True)
        install = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--no-deps", "--no-index"]
        subprocess.run([*install, "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
        for path in [path for name in PACKAGES for path in [self.site / name, *(self.site / name).rglob("*")]]:
            path.chmod(0o555 if path.is_dir() else 0o444)

    def files(self) -> set[str]:
        """Paths of the packages' files."""
        files = (path for name in PACKAGES for path in (self.site / name).rglob("*") if path.is_file())
        return {str(path.relative_to(self.site)) for path in files if "__pycache__" not in path.parts}

    def run(self, *words: str, folder: Path | None = None, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Give the console command, without a way to the sources."""
        return self.start(str(self.program), *words, folder=folder, **variables)

    def start(self, *command: str, folder: Path | None = None, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Give a command in the folder elsewhere."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        inherited["PATH"] = f"{self.python.parent}{os.pathsep}{inherited['PATH']}"
        return subprocess.run(
            command,
            cwd=folder or self.elsewhere,
            env={**inherited, **variables},
            capture_output=True,
            text=True,
            check=False,
        )


def _link(source: str, to: str) -> None:
    try:
        os.link(source, to)
    except OSError:
        shutil.copy2(source, to)

"""What is built holds all that the programs read, asks for what they need, and is the same from the sdist."""

import subprocess
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.package.built import WHEEL, build, source_files
from tests.shared import ROOT


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    held = {name: content for name, content in contents(wheel).items() if ".dist-info/" not in name}
    assert held.keys() == source_files()
    assert all((ROOT / name).read_bytes() == content for name, content in held.items())


def test_the_sdist_builds_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert contents(build(source, tmp_path / "dist", WHEEL)) == contents(wheel)


def test_the_packaged_configuration_is_that_of_the_repository() -> None:
    assert (ROOT / "skillweave/config/default.yaml").read_bytes() == (ROOT / "config.yaml").read_bytes()


def test_the_locked_libraries_are_ones_that_the_package_allows() -> None:
    allowed = list(map(Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]))
    locked = (ROOT / "requirements.in").read_text().splitlines()
    assert [one.name for one in allowed] == [Requirement(line).name for line in locked]
    for one in allowed:
        assert one.specifier.contains(distribution(one.name).version), str(one)


@pytest.mark.long
def test_the_wheel_installs_with_all_its_libraries_from_the_index_and_runs(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "new", with_pip=True)
    python = str(tmp_path / "new/bin/python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    command = [str(tmp_path / "new/bin/skillweave"), "synth", "preview", "pharmacy"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr[-3000:]
    assert "Task 1: " in shown.stdout

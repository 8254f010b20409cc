"""Every test of confinement runs at every strength that this machine offers."""

import tempfile
from pathlib import Path

import pytest

from skillweave.config.sections import Strength
from skillweave.sandbox import strength
from skillweave.sandbox.strength import MachineSupport


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the folders of jails are made in this test."""
    place = tmp_path / "jails"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture(params=["bubblewrap", "namespaces"])
def strong(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, folders: Path) -> Strength:
    """Confinement that keeps code from files, network and processes."""
    return _force(request.param, monkeypatch)


@pytest.fixture(params=["bubblewrap", "namespaces", "limits"])
def any_strength(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, folders: Path) -> Strength:
    """What holds even where the machine offers nothing but limits."""
    return _force(request.param, monkeypatch)


def _force(wanted: Strength, monkeypatch: pytest.MonkeyPatch) -> Strength:
    here = strength.machine_support()
    if wanted == "bubblewrap" and here.strength != "bubblewrap":
        pytest.skip("bubblewrap is not installed, or does not work here")
    if wanted == "namespaces" and not {"namespaces", "landlock", "seccomp"} <= set(here.kernel):
        pytest.skip("this kernel or container allows no user namespaces")
    program = here.program if wanted == "bubblewrap" else None
    kernel = [] if wanted == "limits" else here.kernel
    monkeypatch.setattr("skillweave.sandbox.jail.machine_support", lambda: MachineSupport(wanted, program, kernel))
    return wanted

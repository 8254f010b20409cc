import shutil
import sys
from collections.abc import Iterator

import pytest

from skillweave.base.errors import ConfigError
from skillweave.config.sections import SandboxConfig, Strength
from skillweave.sandbox import strength
from skillweave.sandbox.folder import SandboxLimits
from skillweave.sandbox.run import run
from skillweave.sandbox.strength import MachineSupport


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that offers hardly anything."""
    monkeypatch.setattr(strength, "_probe", lambda: ["seccomp"])
    monkeypatch.setenv("PATH", "/nowhere")
    strength.machine_support.cache_clear()
    yield
    strength.machine_support.cache_clear()


def test_a_weak_sandbox_is_said_loudly(weak: None) -> None:
    assert strength.strength() == "limits"
    told = strength.caution()
    assert told is not None
    assert "LIMITS ONLY (with seccomp)" in told
    assert "install bubblewrap" in told


def test_a_machine_that_offers_less_than_is_asked_for_runs_nothing(weak: None) -> None:
    with pytest.raises(ConfigError, match=r"sandbox.minimum is 'namespaces', but this machine offers 'limits' at most"):
        run({"main.py": "print(1)"}, ["main.py"], limits=SandboxLimits(minimum="namespaces"))
    assert run({"main.py": "print(1)"}, ["main.py"], limits=SandboxLimits(minimum="limits")).ok


@pytest.mark.parametrize(
    ("offered", "enough"),
    [
        ("limits", ["limits"]),
        ("seatbelt", ["limits", "seatbelt"]),
        ("namespaces", ["limits", "seatbelt", "namespaces"]),
        ("bubblewrap", ["limits", "seatbelt", "namespaces", "bubblewrap"]),
    ],
)
def test_the_order_of_strengths(offered: Strength, enough: list[Strength]) -> None:
    everything: tuple[Strength, ...] = ("limits", "seatbelt", "namespaces", "bubblewrap")
    for minimum in everything:
        if minimum in enough:
            strength.require(minimum, MachineSupport(offered, None, []))
        else:
            with pytest.raises(ConfigError):
                strength.require(minimum, MachineSupport(offered, None, []))


def test_what_confines_well_needs_no_caution(strong: Strength) -> None:
    assert strength.caution() is None


def test_limits_come_from_the_configuration_and_have_its_defaults() -> None:
    assert SandboxLimits.of(SandboxConfig()) == SandboxLimits()
    set_ = SandboxConfig(memory_mb=64, cpu_s=2, wall_s=3, processes=4, file_mb=5, disk_mb=6, files=7, output_mb=8)
    limits = SandboxLimits.of(set_)
    assert (limits.seconds, limits.cpu_seconds, limits.threads, limits.files) == (3, 2, 4, 7)
    sizes = (limits.memory_bytes, limits.file_bytes, limits.disk_bytes, limits.output_bytes)
    assert [size >> 20 for size in sizes] == [64, 5, 6, 8]


def test_on_macos_the_systems_own_sandbox_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[list[str]] = []
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(strength, "_works", lambda trial: not tried.append(trial))  # type: ignore[func-returns-value]
    strength.machine_support.cache_clear()
    try:
        assert strength.machine_support() == MachineSupport("seatbelt", "/usr/bin/sandbox-exec", [])
    finally:
        strength.machine_support.cache_clear()
    assert tried[0][:2] == ["/usr/bin/sandbox-exec", "-p"]
    assert tried[0][2].startswith("(version 1)\n(deny default)\n")

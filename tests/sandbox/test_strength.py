import logging
import time

import pytest

from skillweave.sandbox import strength
from skillweave.sandbox.run import run


def test_a_weak_sandbox_is_said_loudly_and_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(strength, "_probe", lambda: ["seccomp"])
    monkeypatch.setenv("PATH", "/nowhere")
    strength.offer.cache_clear()
    try:
        assert strength.strength() == strength.strength() == "limits"
    finally:
        strength.offer.cache_clear()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "LIMITS ONLY (with seccomp)" in record.getMessage()
    assert "Install bubblewrap" in record.getMessage()


def test_the_strength_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    strength.offer.cache_clear()
    with caplog.at_level(logging.INFO):
        found = strength.strength()
    assert f"sandbox strength: {'LIMITS ONLY' if found == 'limits' else found}" in caplog.text


def test_a_start_is_quick_enough_for_one_per_item() -> None:
    strength.strength()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        assert run({"main.py": "print(1)"}, ["main.py"]).ok
        times.append(time.perf_counter() - began)
    assert min(times) < 0.5

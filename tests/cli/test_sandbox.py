"""A machine that confines less than the configuration asks for is refused before any work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillweave.config.load import load_config
from skillweave.sandbox import strength
from skillweave.sandbox.folder import SandboxLimits
from synth.cli.app import main
from synth.cli.options import PipelineSource
from synth.engine.run import PipelineRun, RunSpec

TOY = ("tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor")


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without any means."""
    monkeypatch.setattr(strength, "_probe", list)
    monkeypatch.setenv("PATH", "/nowhere")
    strength.machine_support.cache_clear()
    yield
    strength.machine_support.cache_clear()


def test_too_weak_a_machine_is_refused_in_a_line(
    weak: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text("sandbox: {minimum: namespaces}")
    arguments = ["run", "--config", str(tmp_path / "config.yaml"), "--outputs-dir", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main(PipelineSource(*TOY), arguments)
    lines = capsys.readouterr().err.splitlines()
    assert (ended.value.code, len(lines)) == (2, 1)
    assert "sandbox.minimum is 'namespaces', but this machine offers 'limits' at most" in lines[0]
    assert not (tmp_path / "out/logs").exists()


def test_items_get_the_limits_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("sandbox: {memory_mb: 100, wall_s: 7, processes: 3}")
    config = load_config(tmp_path / "config.yaml", (), {})
    (tmp_path / "out").mkdir()
    run = PipelineRun(RunSpec(config, tmp_path / "out", *TOY, read_only=True))
    try:
        assert run.setting.sandbox == SandboxLimits(memory_bytes=100 << 20, seconds=7, threads=3)
    finally:
        run.close()

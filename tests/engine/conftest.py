"""A toy pipeline that runs on the tests' shared Prefect server."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from synth.cli.app import main
from synth.cli.options import PipelineSource

PLACE = PipelineSource("tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor")
UNSTABLE = (".prefect", ".cache", "logs", "manifest.json")


@dataclass
class Toy:
    """The toy pipeline on an outputs folder."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    kept: Path
    """Where the outputs of a whole run are kept for all tests, once one has asked for them."""
    outputs: Path = field(init=False)

    def __post_init__(self) -> None:
        self.outputs = self.folder / "out"

    def configure(self, *seeds: str) -> Path:
        """Write a configuration with these seeds."""
        path = self.folder / "config.yaml"
        path.write_text(yaml.safe_dump({"domains": {"seeds": list(seeds)}}))
        return path

    def arguments(self, *extra: str) -> list[str]:
        """Of a run."""
        return ["run", "--config", str(self.folder / "config.yaml"), "--outputs-dir", str(self.outputs), *extra]

    def run(self, *extra: str) -> tuple[int, list[str]]:
        """The exit status, and the lines of both outputs."""
        self.capture.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(PLACE, self.arguments(*extra))
        shown = self.capture.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return code, [*shown.out.splitlines(), *shown.err.splitlines()]

    def finish(self) -> None:
        """Have what a whole run makes."""
        if not self.kept.exists():
            assert self.run()[0] == 0
            shutil.copytree(self.outputs, self.kept)
        else:
            shutil.copytree(self.kept, self.outputs)

    def artifacts(self) -> dict[str, bytes]:
        """All files that have to be the same bytes every time."""
        return {
            str(path.relative_to(self.outputs)): path.read_bytes()
            for path in sorted(self.outputs.rglob("*"))
            if path.is_file() and path.relative_to(self.outputs).parts[0] not in UNSTABLE
        }


@pytest.fixture
def toy(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    api_url: str,
) -> Toy:
    """A toy pipeline that is about to run on the shared server."""
    monkeypatch.setenv("PREFECT_API_URL", api_url)
    made = Toy(tmp_path, capsys, tmp_path_factory.getbasetemp() / "toy")
    made.configure("alpha", "beta", "gamma")
    return made


def done(lines: list[str]) -> list[str]:
    """What was done, by label."""
    return sorted(line.partition(": done")[0] for line in lines if ": done in " in line)

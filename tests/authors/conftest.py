"""The direct run that all others are held against: made once, by the offline author, and recorded."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.authors.runs import Runner
from tests.pipeline.small import artifacts


@dataclass(frozen=True)
class Direct:
    """What the offline author makes by itself."""

    outputs: Path
    cassette: Path

    @property
    def artifacts(self) -> dict[str, bytes]:
        return artifacts(self.outputs)


@pytest.fixture(scope="session")
def run(api_url: str) -> Runner:
    """Run the pipeline."""
    return Runner(api_url)


@pytest.fixture(scope="session")
def direct(tmp_path_factory: pytest.TempPathFactory, run: Runner) -> Direct:
    """A finished dataset and its cassette; not to be written to."""
    folder = tmp_path_factory.mktemp("direct")
    made = Direct(folder / "outputs", folder / "cassette.jsonl")
    ran = run(made.outputs, record=str(made.cassette))
    assert ran.code == 0, ran.shown[-3000:]
    return made

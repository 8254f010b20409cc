"""The runs that several tests look at, each made once: the direct one, and one through faults."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.authors.faults import Faults
from tests.authors.runs import Ran, Runner
from tests.authors.served import ServedAuthor, read_takes
from tests.authors.ways import CHAT, MESSAGES
from tests.pipeline.small import SMALLEST, artifacts
from tests.shared import SharedFolder

KEYS = {"OPENAI_API_KEY": "sk-planted-openai-5f1c", "ANTHROPIC_API_KEY": "sk-planted-anthropic-93ab"}
SEED = 1
"""Of the faults."""


@dataclass(frozen=True)
class Direct:
    """What the offline author makes by itself."""

    outputs: Path
    cassette: Path

    @property
    def artifacts(self) -> dict[str, bytes]:
        return artifacts(self.outputs)


@dataclass(frozen=True)
class Faulty:
    """A run whose authors were reached through faults, over two APIs and with two keys."""

    ran: Ran
    cassette: Path
    openai: ServedAuthor
    """It has a key."""
    anthropic: ServedAuthor
    """It has another."""
    keyless: ServedAuthor
    """Another endpoint that speaks OpenAI's API, and is to have no key."""

    @property
    def authors(self) -> tuple[ServedAuthor, ...]:
        return self.openai, self.anthropic, self.keyless


@pytest.fixture(scope="session")
def run(api_url: str) -> Runner:
    """Run the pipeline."""
    return Runner(api_url)


@pytest.fixture(scope="session")
def direct(shared: SharedFolder, request: pytest.FixtureRequest) -> Direct:
    """A finished dataset and its cassette; not to be written to."""

    def make(folder: Path) -> None:
        run: Runner = request.getfixturevalue("run")
        ran = run(folder / "outputs", {"record": str(folder / "cassette.jsonl")})
        assert ran.code == 0, ran.shown[-3000:]

    folder = shared.made("direct", SMALLEST, make)
    return Direct(folder / "outputs", folder / "cassette.jsonl")


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory, run: Runner, direct: Direct) -> Faulty:
    """The run through faults, finished; not to be written to."""
    folder = tmp_path_factory.mktemp("faulty")
    cassette = folder / "cassette.jsonl"
    faults = Faults(read_takes(direct.cassette), SEED)
    openai, anthropic, keyless = (ServedAuthor(direct.cassette, spoil=faults) for _ in range(3))
    with openai, anthropic, keyless, patch.dict(os.environ, KEYS):
        ran = run(
            folder / "outputs",
            {
                "timeout": 8.0,
                "record": str(cassette),
                "textual": CHAT.author(openai.url, api_key_env="OPENAI_API_KEY"),
                "coding": MESSAGES.author(anthropic.url, api_key_env="ANTHROPIC_API_KEY"),
            },
            "--set",
            f"steps.s17_task_instantiation.llm={json.dumps({'textual': CHAT.author(keyless.url)})}",
        )
    return Faulty(ran, cassette, openai, anthropic, keyless)

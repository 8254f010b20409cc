"""Runs of the whole pipeline on one service area, in this process, by the command that users give."""

import io
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

import pytest
from rich.console import Console

from skillweave.schema.reports import QuestionMetrics, total_metrics
from synth.cli.app import main
from synth.cli.options import PipelineSource
from tests.pipeline.small import ROOT, SMALLEST

WORLD = "CornerPharmacy"


@dataclass(frozen=True)
class Ran:
    """What came of a run."""

    code: int
    outputs: Path
    shown: str
    """All that was printed."""

    @property
    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.outputs / "manifest.json").read_text())
        return found

    def asked(self) -> QuestionMetrics:
        """All that the manifest says was asked."""
        return total_metrics(
            [
                QuestionMetrics.model_validate(asking)
                for item in self.manifest["items"]
                for asking in item.get("askings", ())
            ]
        )


@dataclass(frozen=True)
class Runner:
    """Runs the pipeline on the tests' Prefect server."""

    api_url: str

    def __call__(
        self, outputs: Path, llm: Mapping[str, object], *more: str, settings: tuple[str, ...] = SMALLEST
    ) -> Ran:
        """`llm` is what the configuration says of authors, `more` are further options. Each folder has a cache."""
        given = {"cache": str(cache_of(outputs)), **llm}
        return self.told(["run", *options(outputs, given, *more, settings=settings)], outputs)

    def told(self, arguments: list[str], outputs: Path) -> Ran:
        """Give a command."""
        shown = io.StringIO()
        with (
            patch.dict(os.environ, {"PREFECT_API_URL": self.api_url}),
            redirect_stdout(shown),
            redirect_stderr(shown),
            prefect_to(shown),
            pytest.raises(SystemExit) as ended,
        ):
            main(PipelineSource(), arguments)
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, outputs, shown.getvalue())


@contextmanager
def prefect_to(shown: TextIO) -> Iterator[None]:
    """Prefect's lines come here too: it goes on writing to the stream that there was when it was imported."""
    named = logging.root.manager.loggerDict.values()
    handlers = [handler for one in named if isinstance(one, logging.Logger) for handler in one.handlers]
    consoles = [one for one in (getattr(handler, "console", None) for handler in handlers) if isinstance(one, Console)]
    before = [console.file for console in consoles]
    try:
        for console in consoles:
            console.file = shown
        yield
    finally:
        for console, file in zip(consoles, before, strict=True):
            console.file = file


def options(outputs: Path, llm: Mapping[str, object], *more: str, settings: tuple[str, ...] = SMALLEST) -> list[str]:
    """Of the command `run`."""
    given = [*settings, *(f"llm.{name}={json.dumps(value)}" for name, value in llm.items())]
    parts = [part for setting in given for part in ("--set", setting)]
    return ["--config", str(ROOT / "config.yaml"), "--outputs-dir", str(outputs), *parts, *more]


def cache_of(outputs: Path) -> Path:
    """Where the replies of a run are kept."""
    return outputs.parent / f"{outputs.name}.sqlite"


def by(author: Mapping[str, object]) -> dict[str, object]:
    """The configuration of authors where one answers everything."""
    return {"textual": author, "coding": author}

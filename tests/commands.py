"""Commands as users give them, in this process: only a test about processes starts one."""

import io
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar
from unittest.mock import patch

import pytest

import evaluator.cli.app
import interop.cli.app
import learn.cli.app
import rollout.cli.app
from evaluator.scoring import worker_pool
from skillweave import workers
from tests.shared import ROOT

P = ParamSpec("P")
R = TypeVar("R")
MAINS = {
    "evaluator": evaluator.cli.app.main,
    "interop": interop.cli.app.main,
    "learn": learn.cli.app.main,
    "rollout": rollout.cli.app.main,
}


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    returncode: int
    stdout: str
    stderr: str


def ran(program: str, *arguments: str, place: Path = ROOT) -> Done:
    """Give a command in a folder. What it would have done in workers is done in place."""
    shown, complaints = io.StringIO(), io.StringIO()
    with (
        chdir(place),
        redirect_stdout(shown),
        redirect_stderr(complaints),
        in_place(),
        pytest.raises(SystemExit) as ended,
    ):
        MAINS[program](list(arguments))
    assert isinstance(ended.value.code, int)
    return Done(ended.value.code, shown.getvalue(), complaints.getvalue())


@contextmanager
def in_place() -> Iterator[None]:
    """Do what would be done in processes of this machine in place."""
    with patch.object(workers, "local_processes", lambda *_: _InPlace()):
        yield


class _InPlace(Executor):
    """Does work when it is submitted, with datasets that are opened anew."""

    def __init__(self) -> None:
        worker_pool._worker_evaluator.cache_clear()

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> "Future[R]":
        future: Future[R] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

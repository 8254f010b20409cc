"""A run that is killed at any moment goes on with what it was told: no answer that was kept is asked for again."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.authors.conftest import KEYS, Direct
from tests.authors.runs import cache_of, options
from tests.authors.served import Answered, ServedAuthor
from tests.authors.test_keys import leaks
from tests.authors.ways import CHAT, MESSAGES_STREAM, Way
from tests.pipeline.small import ROOT, artifacts, differing
from tests.waiting import HANG, wait_until

MOST = 18
"""Requests before the last kill; there are more than that."""
DELAY = 0.25
"""Seconds before each answer, so that some are always under way."""

Process = subprocess.Popen[str]
Begin = Callable[[], Process]


@pytest.fixture
def started() -> Iterator[list[Process]]:
    """Processes that do not outlive the test."""
    processes: list[Process] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def beginning(outputs: Path, author: ServedAuthor, way: Way, api_url: str, started: list[Process], until: str) -> Begin:
    """How to start the run, or to go on: the offline author writes the code, the served one answers the rest."""
    served = way.author(author.url, api_key_env="OPENAI_API_KEY")
    llm = {"cache": str(cache_of(outputs)), "textual": served}
    command = [sys.executable, "-m", "synth", "run", *options(outputs, llm, "--until", until)]
    variables = {**os.environ, **KEYS, "PREFECT_API_URL": api_url}

    def begin() -> Process:
        started.append(
            subprocess.Popen(
                command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        )
        return started[-1]

    return begin


def kept(outputs: Path) -> set[str]:
    """The names of the replies that are on disk."""
    if not cache_of(outputs).exists():
        return set()
    with closing(sqlite3.connect(cache_of(outputs))) as connection:
        return {json.loads(body)["model"] for (body,) in connection.execute("SELECT body FROM reply")}


def kill(begin: Begin, author: ServedAuthor, further: int, pause: float) -> str:
    """Kill the run a moment after a number of further requests were heard; what it printed."""
    already = len(author.log)
    run = begin()
    wait_until(lambda: run.poll() is not None or len(author.log) >= already + further, "the run does not get on")
    time.sleep(pause)
    os.kill(run.pid, signal.SIGKILL)
    shown = run.communicate()[0]
    assert run.returncode == -signal.SIGKILL, shown[-3000:]
    return shown


def assert_none_was_kept(asked_again: list[Answered], known: dict[str, Answered]) -> None:
    """None of these requests has an answer among those that were on disk when it was asked."""
    turns = {one.turns for one in known.values()}
    assert [one.place for one in asked_again if one.turns in turns] == []


def assert_nothing_is_asked_twice(
    direct: Direct, author: ServedAuthor, outputs: Path, begin: Begin, kills: int
) -> None:
    random = Random(f"kills/{kills}")
    shown, under_way = "", 0
    known: dict[str, Answered] = {}
    for _ in range(kills):
        before = len(author.log)
        shown += kill(begin, author, random.randint(1, MOST // kills), random.random() * 2 * DELAY)
        time.sleep(2 * DELAY)
        assert_none_was_kept(author.log[before:], known)
        known = {one.model: one for one in author.log if one.model in kept(outputs)}
        under_way += len([one for one in author.log[before:] if one.model not in known])
    before = len(author.log)
    last = begin()
    shown += last.communicate(timeout=HANG)[0]
    assert last.returncode == 0, shown[-3000:]
    assert_none_was_kept(author.log[before:], known)
    assert len(author.log) - len(author.times()) <= under_way
    assert author.unknown == []
    made = artifacts(outputs)
    assert differing({path: direct.artifacts[path] for path in made}, made) == []
    assert leaks(outputs.parent) == []
    assert not any(key in shown for key in KEYS.values())


@pytest.mark.parametrize(
    ("way", "kills", "until"),
    [(CHAT, 2, "s07"), *(pytest.param(way, 10, "s17", marks=pytest.mark.long) for way in (CHAT, MESSAGES_STREAM))],
    ids=str,
)
def test_a_run_that_is_killed_pays_for_no_answer_twice(
    direct: Direct, tmp_path: Path, api_url: str, started: list[Process], way: Way, kills: int, until: str
) -> None:
    outputs = tmp_path / "outputs"
    with ServedAuthor(direct.cassette, delay=DELAY) as author:
        begin = beginning(outputs, author, way, api_url, started, until)
        assert_nothing_is_asked_twice(direct, author, outputs, begin, kills)

"""What is under way is told, and how long it will take is estimated from what was taken so far."""

import threading
import time
from pathlib import Path

import pytest

from skillweave.base.manifest import ItemRecord
from skillweave.base.progress import noting, read_notes, tell_progress, time_left, told, with_notes
from skillweave.config.llm import EndpointConfig, LlmConfig
from skillweave.config.sections import Config, DomainsConfig, ExecutionConfig, RolloutConfig
from synth.cli.time_left import TimeLeft
from synth.engine.run import PipelineRun, RunSpec
from synth.engine.schedule import ItemId, StepPlan
from synth.questions.sizes import UNIT_S


@pytest.fixture
def run(tmp_path: Path) -> PipelineRun:
    config = Config(domains=DomainsConfig(seeds=["alpha"]), execution=ExecutionConfig(workers=1))
    spec = RunSpec(config, tmp_path / "out", "tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor")
    opened = PipelineRun(spec)
    for key in ("alpha", "beta", "gamma"):
        opened.manifest.put(ItemRecord(step="s03_notes", key=key, state="done", seconds=100 * UNIT_S))
    return opened


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "less than a minute left"),
        (49, "less than a minute left"),
        (100, "about 2 min left"),
        (1000, "about 15 min left"),
        (4000, "about 65 min left"),
        (9000, "about 2 h left"),
    ],
)
def test_an_estimate_is_no_more_exact_than_it_is(seconds: float, words: str) -> None:
    assert time_left(seconds) == words


def test_what_is_left_is_what_it_took_before_at_the_pace_of_this_run(run: PipelineRun) -> None:
    step = run.pipeline.step("s03")
    left = TimeLeft(run, [step])
    assert left.seconds() == pytest.approx(300 * UNIT_S)
    items = [ItemId(step.name, key) for key in ("alpha", "beta", "gamma")]
    left.planned(StepPlan(step, [item.key for item in items], items))
    assert left.seconds() == pytest.approx(300 * UNIT_S)
    left.settled(items[0], ItemRecord(step=step.name, key="alpha", state="done"), was_done=False)
    assert left.seconds() == pytest.approx(200 * UNIT_S)
    slow = ItemRecord(step=step.name, key="beta", state="done", seconds=300 * UNIT_S)
    left.settled(items[1], slow, was_done=True)
    assert left.seconds() == pytest.approx(100 * UNIT_S * (305 / 105))


def test_an_item_under_way_is_named_with_what_it_says_of_itself(run: PipelineRun) -> None:
    left = TimeLeft(run, [run.pipeline.step("s03")])
    assert left.line() == ""
    with noting(run.signs / "s03-alpha.note"):
        assert left.line().startswith("under way: s03 alpha (0 s); about ")
        thread = threading.Thread(target=with_notes(tell_progress, 12, 40, "templates"))
        thread.start()
        thread.join()
        assert left.line().startswith("under way: s03 alpha (12 of 40 templates, 0 s); about ")
    assert read_notes(run.signs) == {}


def test_notes_are_few_however_much_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)
    with noting(tmp_path / "work.note"):
        assert list(told("abc", "letters")) == ["a", "b", "c"]
        [note] = read_notes(tmp_path).values()
    assert (note.done, note.of, note.what) == (0, 3, "letters")


def test_workers_share_the_limits() -> None:
    endpoints = {"openai": EndpointConfig(max_concurrency=9, requests_per_minute=90, tokens_per_minute=None)}
    part = LlmConfig(max_concurrency=16, endpoints=endpoints).shared_by(4)
    assert part.max_concurrency == 4
    assert part.endpoints["openai"] == EndpointConfig(max_concurrency=2, requests_per_minute=22.5)
    assert LlmConfig(max_concurrency=2).shared_by(4).max_concurrency == 1
    rollouts = RolloutConfig(max_concurrency=32).shared_by(4)
    assert (rollouts.max_concurrency, rollouts.max_parallel_agents.generate) == (8, 16)

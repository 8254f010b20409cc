"""What an item may see, ask and write."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import ItemRecord
from skillweave.config.sections import Config, DomainsConfig
from skillweave.llm.question import question
from synth.engine.artifact import each, joined, text
from synth.engine.context import Context
from synth.engine.pipeline import visible_to
from synth.engine.run import PipelineRun, RunSpec
from synth.engine.step import Params

Ctx = Context[Any]


@pytest.fixture
def run(tmp_path: Path) -> PipelineRun:
    config = Config(domains=DomainsConfig(seeds=["alpha", "beta"]))
    return PipelineRun(RunSpec(config, tmp_path / "out", "tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor"))


def do(run: PipelineRun, name: str, key: str, upstream: list[ItemRecord], work: Callable[[Ctx], object]) -> ItemRecord:
    """Do an item of a toy step, with other work in it."""

    async def instead(ctx: Ctx, key: str) -> None:
        work(ctx)

    return run.keep(run.do(replace(run.pipeline.step(name), run=instead), key, upstream))


def words(run: PipelineRun) -> ItemRecord:
    return run.keep(run.do(run.pipeline.step("s01"), "all", []))


NOT_DECLARED = text("other/{key}.md")


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (lambda ctx: ctx.read(NOT_DECLARED), "reads 'other/{key}.md'; declare it"),
        (lambda ctx: ctx.keys(NOT_DECLARED), "reads 'other/{key}.md'; declare it"),
        (lambda ctx: ctx.write(NOT_DECLARED, "x", ""), "writes 'other/{key}.md'; declare it"),
        (lambda ctx: ctx.read(joined("words.json", str), "delta"), "cannot see 'words.json[delta]'"),
        (lambda ctx: ctx.path(joined("words.json", str)), "has no path; use read()"),
        (lambda ctx: ctx.write(joined("lengths.json", int), "beta", 3), "another item's value"),
        (lambda ctx: ctx.write(joined("lengths.json", int), "alpha", "three"), "cannot hold this value"),
    ],
)
def test_what_is_not_declared_fails_the_item(run: PipelineRun, work: Callable[[Ctx], object], reason: str) -> None:
    record = do(run, "s02", "alpha", [words(run)], work)
    assert record.state == "failed"
    assert reason in record.reasons[0]


def test_a_question_has_to_be_declared(run: PipelineRun) -> None:
    def work(ctx: Ctx) -> None:
        asyncio.get_running_loop()
        with pytest.raises(ArtifactError, match="declare it"):
            ctx.ask(question("note", returns=str, under="note")).send(None)

    assert do(run, "s02", "alpha", [words(run)], work).state == "done"


def test_reads_are_recorded_with_their_digests(run: PipelineRun) -> None:
    made = words(run)
    record = do(run, "s02", "alpha", [made], lambda ctx: ctx.read(joined("words.json", str)))
    (digest,) = [output.digest for output in made.outputs if output.key == "alpha"]
    assert record.reads == {"words.json[alpha]": digest}


def test_an_item_that_fails_leaves_nothing(run: PipelineRun) -> None:
    def work(ctx: Ctx) -> None:
        ctx.write(joined("lengths.json", int), "alpha", 3)
        raise ValueError("too late")

    record = do(run, "s02", "alpha", [words(run)], work)
    assert (record.state, record.outputs) == ("failed", [])
    assert not (run.store.root / ".cache/items/s02_lengths").exists()


def test_a_path_has_one_writer(run: PipelineRun) -> None:
    notes = text("notes/{key}.md")
    upstream = [words(run)]
    do(run, "s03", "alpha", upstream, lambda ctx: ctx.write(notes, "same", "a"))
    record = do(run, "s03", "beta", upstream, lambda ctx: ctx.write(notes, "same", "b"))
    assert record.reasons == ["wrote 'notes/same.md', which s03_notes/alpha writes; a path has one writer"]


def test_randomness_has_a_name(run: PipelineRun) -> None:
    drawn: list[float] = []

    def work(ctx: Ctx) -> None:
        drawn.extend(ctx.random("a", number).random() for number in (1, 1, 2))

    do(run, "s02", "alpha", [words(run)], work)
    assert drawn[0] == drawn[1] != drawn[2]


def test_an_item_sees_only_what_its_step_reads(run: PipelineRun) -> None:
    assert set(visible_to(run.pipeline.step("s04"), "alpha", [words(run)])) == set()


def test_parameters_of_a_step_are_its_own(run: PipelineRun) -> None:
    assert isinstance(run.params["s02_lengths"], Params)
    assert run.staleness.fingerprint(run.pipeline.step("s02")).params == {"repairs": 2, "most": 100}
    assert each("x/{key}.json", int).path("k") == "x/k.json"

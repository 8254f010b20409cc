"""The setting of splits is read through the context: who reads it is done again where it changed, and nobody else."""

from dataclasses import replace
from pathlib import Path

from skillweave.base.manifest import ItemRecord
from skillweave.config.sections import Config, DomainsConfig, SplitsConfig
from synth.engine.run import PipelineRun, RunSpec
from tests.engine.test_context import Ctx


def opened(folder: Path, splits: SplitsConfig) -> PipelineRun:
    config = Config(domains=DomainsConfig(seeds=["alpha"]), splits=splits)
    return PipelineRun(RunSpec(config, folder, "tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor"))


def reason(folder: Path, splits: SplitsConfig, made: ItemRecord) -> str:
    run = opened(folder, splits)
    return run.staleness.decide(run.pipeline.step("s02"), "alpha", [made]).reason


def test_who_reads_the_splits_is_done_again_when_they_change(tmp_path: Path) -> None:
    run = opened(tmp_path, SplitsConfig())
    made = run.keep(run.do(run.pipeline.step("s01"), "all", []))

    async def instead(ctx: Ctx, key: str) -> None:
        assert ctx.splits == SplitsConfig()

    record = run.keep(run.do(replace(run.pipeline.step("s02"), run=instead), "alpha", [made]))
    assert (record.state, list(record.reads)) == ("done", ["splits"])
    assert reason(tmp_path, SplitsConfig(), made) == "up to date"
    assert reason(tmp_path, SplitsConfig(holdout_domains=["Hotel"]), made) == "input splits changed"


def test_who_does_not_is_not(tmp_path: Path) -> None:
    run = opened(tmp_path, SplitsConfig())
    made = run.keep(run.do(run.pipeline.step("s01"), "all", []))
    run.keep(run.do(run.pipeline.step("s02"), "alpha", [made]))
    assert reason(tmp_path, SplitsConfig(test=0.5), made) == "up to date"

"""The suite's document, its help, and one tiny real measurement. No test asserts a time."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench import programs, suite
from bench.cli import BASELINE, app
from bench.document import read_document
from bench.practice import practice
from bench.processes import ROOT, Spent, spent_by
from bench.suite import GROUPS, Extent, Group, Measure, Sample, run_groups, timed
from bench.visits import TRIALS, visits, write_dataset, write_rollouts
from evaluator.replay.rollouts import find_rollouts
from evaluator.scoring.evaluate import CheckSettings
from evaluator.scoring.worker_pool import DatasetEvaluator, EvaluationJob, EvaluationSetup
from skillweave.base.errors import ConfigError


def tiny(extent: Extent) -> Iterator[Sample]:
    """A group: a sum, a share, and what cannot be measured."""
    yield from timed({"sum": lambda: sum(range(10))})
    yield Sample("share", [0.5])
    yield Sample(f"{extent.scales[0]}.cpu", [], "not here")


@pytest.fixture
def tiny_group(monkeypatch: pytest.MonkeyPatch) -> None:
    measures = {"sum": Measure("a sum"), "share": Measure("a share", "share"), "N.cpu": Measure("a run")}
    monkeypatch.setitem(GROUPS, "tiny", Group("Tiny", f"{__name__}:tiny", measures))
    monkeypatch.setattr(suite, "UNIT", "pass")


def test_a_document_tells_of_the_machine_the_versions_and_each_measurement(tiny_group: None, tmp_path: Path) -> None:
    file = tmp_path / "new" / "bench.json"
    result = CliRunner().invoke(app, ["run", "--only", "tiny", "--scale", "3", "--to", str(file)])
    assert result.exit_code == 1, result.output
    assert "left out: tiny.3.cpu: not here" in result.output
    assert f"next: python -m bench compare {file}" in result.output
    document = read_document(file)
    assert document.versions.keys() >= {"python", "sqlite", "mcp", "openai", "pydantic", "jinja2"}
    assert document.machine.cores > 0
    assert document.groups["tiny"].unit_before > 0
    total, share = document.measurements
    assert (total.name, total.counts, total.of, total.runs) == ("tiny.sum", "a sum", "cpu", 5)
    assert total.units is not None
    assert 0 < total.value.median < total.units.median
    assert (share.value.median, share.units) == (0.5, None)
    assert document.left_out == {"tiny.3.cpu": "not here"}


def test_a_sample_that_its_group_does_not_name_is_refused(tiny_group: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GROUPS, "tiny", GROUPS["tiny"]._replace(measures={}))
    with pytest.raises(KeyError):
        run_groups(["tiny"], Extent())


def test_the_baseline_is_a_document_of_quick_measurements() -> None:
    names = {measurement.name for measurement in read_document(ROOT / BASELINE).measurements}
    quick = {f"{name}.{part}" for name, group in GROUPS.items() if group.is_quick for part in group.measures}
    assert names >= quick


def test_help_tells_what_each_measurement_is() -> None:
    said = " ".join(CliRunner().invoke(app, ["run", "--help"]).output.replace("│", " ").split())
    for name, group in GROUPS.items():
        assert group.about in said, name
        assert all(measure.counts in said for measure in group.measures.values()), name


def test_an_unknown_group_is_refused() -> None:
    result = CliRunner().invoke(app, ["run", "--only", "scroes"])
    assert isinstance(result.exception, ConfigError)
    assert "scroes" in str(result.exception)


def test_a_failed_command_is_told_by_its_last_words() -> None:
    spent = spent_by(["python", "-c", "import sys; sys.exit('first\\nlast')"])
    assert (spent.status, spent.complaint) == (1, "last")


def test_a_refused_scale_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Spent(2, 0.1, 0.1, "error: at most 16 worlds")
    monkeypatch.setattr(programs, "spent_by", lambda command, meanwhile: refused)
    samples = list(programs.pipeline(Extent(scales=(12, 300))))
    assert [(sample.name, sample.runs, sample.why) for sample in samples] == [
        ("12.cpu", [], refused.complaint),
        ("300.cpu", [], refused.complaint),
    ]


def test_a_run_is_named_by_the_worlds_that_it_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def ran(command: list[str], meanwhile: object = None) -> Spent:
        outputs = Path(command[command.index("--outputs-dir") + 1])
        items = [
            {"step": "s01_x", "seconds": 1.0},
            {"step": "s02_x", "seconds": 2.0},
            {"step": "s02_x", "seconds": 3.0},
        ]
        (outputs / "manifest.json").write_text(json.dumps({"items": items}))
        (outputs / "blueprints.json").write_text("[{}, {}]")
        return Spent(0, 7.0, 8.0, "")

    monkeypatch.setattr(programs, "spent_by", ran)
    samples = {sample.name: (sample.runs, sample.why) for sample in programs.pipeline(Extent(scales=(3,)))}
    assert samples["2.cpu"] == ([7.0], "")
    assert samples["2.wall"] == ([8.0], "")
    assert (samples["2.s01"][0], samples["2.s02"][0]) == ([1.0], [5.0])
    assert samples["2.resume"] == samples["2.status"] == ([7.0] * suite.ROUNDS, "")
    assert samples["3.cpu"] == ([], "the run made 2 worlds of one company")


def test_conversations_of_the_practice_pass_and_fail_as_they_must(tmp_path: Path) -> None:
    world = practice(7)
    tasks = visits(world, 7)[:4]
    write_dataset(world, tasks, tmp_path / "outputs")
    write_rollouts(world, tasks, tmp_path / "rollouts", size=50)
    index = find_rollouts(tmp_path / "rollouts")
    setup = EvaluationSetup(tmp_path / "outputs", tmp_path / "outputs", CheckSettings())
    evaluator = DatasetEvaluator(setup)
    results = [
        evaluator.result(EvaluationJob(key, index.files[place.file], place, ""))
        for key, place in sorted(index.places.items())
    ]
    assert len(results) == 50
    assert not [result.error for result in results if result.error]
    assert {result.passed for result in results if result.trial % TRIALS % 3 == 2} == {False}
    assert {result.passed for result in results if result.trial % TRIALS % 3 != 2} == {True}

"""Two documents side by side: what is worse, what is noise, and how the command ends."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench import cli
from bench.cli import app, main
from bench.document import BenchDocument, Figure, Machine, Measurement, Quantity, Verdict, changes, read_document
from bench.suite import Extent
from skillweave.base.errors import ConfigError

MACHINE = Machine(cpu="a", cores=2, memory_gib=8.0, system="Linux")


def a_measurement(name: str, units: float, spread: float = 0.0, of: Quantity = "cpu") -> Measurement:
    figure = Figure(median=units, spread=spread)
    is_time = of in ("cpu", "wall")
    return Measurement(name=name, counts="", of=of, runs=5, value=figure, units=figure if is_time else None)


def a_document(*measurements: Measurement, **versions: str) -> BenchDocument:
    return BenchDocument(
        machine=MACHINE, versions=versions, revision="r", groups={}, measurements=list(measurements), left_out={}
    )


def written(folder: Path, name: str, document: BenchDocument) -> str:
    path = folder / name
    path.write_text(document.model_dump_json(), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        (a_measurement("a", 1.0), a_measurement("a", 1.19), "same"),
        (a_measurement("a", 1.0), a_measurement("a", 1.21), "worse"),
        (a_measurement("a", 1.0), a_measurement("a", 0.8), "better"),
        (a_measurement("a", 1.0, 0.2), a_measurement("a", 1.3, 0.1), "unsure"),
        (a_measurement("a", 1.0, 0.2), a_measurement("a", 1.31, 0.1), "worse"),
        (a_measurement("a", 0.9, of="share"), a_measurement("a", 0.7, of="share"), "worse"),
        (a_measurement("a", 0.7, of="share"), a_measurement("a", 0.9, of="share"), "better"),
        (a_measurement("a", 2**30, of="memory"), a_measurement("a", 2**31, of="memory"), "worse"),
    ],
)
def test_a_ratio_counts_beyond_its_limit_and_the_spreads(
    before: Measurement, now: Measurement, verdict: Verdict
) -> None:
    assert [change.verdict for change in changes(a_document(before), a_document(now))] == [verdict]


def test_a_slower_machine_compares_by_units() -> None:
    now = a_measurement("a", 1.0).model_copy(update={"value": Figure(median=3.0, spread=0.0)})
    (change,) = changes(a_document(a_measurement("a", 1.0)), a_document(now))
    assert (change.ratio, change.verdict) == (1.0, "same")


def test_measurements_of_one_side_are_named_and_are_no_regression(tmp_path: Path) -> None:
    before = a_document(a_measurement("a", 1.0), a_measurement("gone", 1.0))
    now = a_document(a_measurement("a", 1.0), a_measurement("added", 1.0))
    assert {change.name: change.verdict for change in changes(before, now)} == {
        "a": "same",
        "gone": "not measured",
        "added": "new",
    }
    files = written(tmp_path, "now.json", now), written(tmp_path, "before.json", before)
    result = CliRunner().invoke(app, ["compare", files[0], "--baseline", files[1]])
    assert result.exit_code == 0
    assert "1 measurement of" in result.output
    assert "gone" in result.output


def test_what_could_not_be_taken_is_no_success_and_no_baseline(tmp_path: Path) -> None:
    before = a_document(a_measurement("[/a]", 1.0), a_measurement("b", 1.0))
    now = a_document(a_measurement("[/a]", 1.0)).model_copy(update={"left_out": {"b": "it is broken"}})
    files = written(tmp_path, "now.json", now), written(tmp_path, "before.json", before)
    result = CliRunner().invoke(app, ["compare", files[0], "--baseline", files[1]])
    assert result.exit_code == 1
    assert "it is broken" in result.output
    assert "to make these figures the baseline" not in result.output


@pytest.mark.parametrize("spoiled", [('"cpu"', '"share"'), ('"median":1.0', '"median":1e999')])
def test_units_without_a_time_and_figures_without_an_end_are_refused(tmp_path: Path, spoiled: tuple[str, str]) -> None:
    path = Path(written(tmp_path, "now.json", a_document(a_measurement("a", 1.0))))
    path.write_text(path.read_text("utf-8").replace(*spoiled), "utf-8")
    with pytest.raises(ConfigError, match="is no document of the benchmarks"):
        read_document(path)


def test_a_regression_ends_with_status_1_and_says_what_to_do(tmp_path: Path) -> None:
    before = a_document(a_measurement("scores.a", 1.0), a_measurement("scores.b", 1.0))
    now = a_document(a_measurement("scores.a", 2.0), a_measurement("scores.b", 1.0))
    files = written(tmp_path, "now.json", now), written(tmp_path, "before.json", before)
    result = CliRunner().invoke(app, ["compare", files[0], "--baseline", files[1]])
    assert result.exit_code == 1
    assert "1 measurement over 20% worse, the first: scores.a" in result.output
    assert "--only scores" in result.output
    assert CliRunner().invoke(app, ["compare", files[0], "--baseline", files[0]]).exit_code == 0


def test_other_versions_are_told(tmp_path: Path) -> None:
    before = a_document(a_measurement("a", 1.0), python="3.11.9", mcp="2.3")
    now = a_document(a_measurement("a", 1.0), python="3.13.1", mcp="2.3")
    files = written(tmp_path, "now.json", now), written(tmp_path, "before.json", before)
    result = CliRunner().invoke(app, ["compare", files[0], "--baseline", files[1]])
    assert result.exit_code == 0
    assert "other python: 3.11.9 before, 3.13.1 now" in result.output
    assert "other mcp" not in result.output


def test_a_group_with_a_regression_is_measured_a_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = a_document(a_measurement("scores.a", 1.0), a_measurement("startup.a", 1.0))
    asked: list[list[str]] = []

    def measured(names: list[str], extent: Extent) -> BenchDocument:
        asked.append(names)
        found = [a_measurement(f"{name}.a", 1.0 if len(asked) > 1 or name != "scores" else 2.0) for name in names]
        return a_document(*found)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "run_groups", measured)
    result = CliRunner().invoke(app, ["compare", "--baseline", written(tmp_path, "before.json", before)])
    assert asked[1:] == [["scores"]]
    assert result.exit_code == 0
    assert "a second time, since something is worse: scores" in result.output
    assert {m.name: m.value.median for m in read_document(tmp_path / cli.QUICK).measurements}["scores.a"] == 1.0


def test_documents_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(ConfigError, match="no measurement in common"):
        changes(a_document(a_measurement("a", 1.0)), a_document(a_measurement("b", 1.0)))


@pytest.mark.parametrize("content", [None, b"{", b'{"format": "other/1"}'])
def test_what_is_no_document_is_one_line(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bench.json"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr("sys.argv", ["bench", "compare", str(path), "--baseline", str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert str(path) in said
    assert said.count("\n") == 1

"""A preview shows a domain with a handful of tasks, and leaves nothing behind."""

import re
import tempfile
from pathlib import Path

import pytest

from synth.cli.app import main
from synth.engine.run import PipelineRun


def preview(
    service: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[object, str, list[str]]:
    """The exit status, what was shown, and the lines of complaint."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(folder)
    Path("config.yaml").write_text("seed: 7\n")
    with pytest.raises(SystemExit) as ended:
        main(None, ["preview", service, "--set", "steps.s06_database_generation.visits=100"])
    shown = capsys.readouterr()
    return ended.value.code, shown.out, shown.err.splitlines()


@pytest.fixture(autouse=True)
def shared_server(monkeypatch: pytest.MonkeyPatch, api_url: str) -> None:
    monkeypatch.setenv("PREFECT_API_URL", api_url)


def test_a_domain_is_shown_with_tasks_of_each_kind_and_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = preview("hotel", tmp_path, capsys, monkeypatch)
    assert code == 0
    kinds = re.findall(r"^Task \d+: (\w+)$", out, re.MULTILINE)
    assert 5 <= len(kinds) <= 6
    assert len(set(kinds)) >= 3
    assert max(map(kinds.count, kinds)) <= 3
    assert re.search(r"^\d+ tools$", out, re.MULTILINE)
    assert re.search(r"^      \[R\d+", out, re.MULTILINE)
    assert 'decline_request(rule="R' in out
    *_, took, whole, last = out.splitlines()
    assert re.match(r"this preview took \d+ questions, 0 tokens, \$0\.00$", took)
    offline = r"0 tokens \(a model in place of the offline author: about [\d,]+\)"
    assert re.match(rf"a whole domain takes about [\d,]+ questions, {offline}", whole)
    assert "python -m synth run --outputs-dir outputs-hotel --set task_mode=single" in last
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("pymp-")) == ["config.yaml"]


def test_a_service_that_nobody_offline_knows_is_a_line_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, complaint = preview("bicycle repair", tmp_path, capsys, monkeypatch)
    assert (code, out, len(complaint)) == (2, "", 1)
    assert "knows no service for 'bicycle repair'; nearest known: 'car rental'" in complaint[0]
    assert "name a model in llm.textual" in complaint[0]


def test_an_interrupted_preview_says_what_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(run: PipelineRun, *_: object) -> None:
        run.executor.stop()

    monkeypatch.setattr("synth.cli.preview.drive", stop)
    code, _, complaint = preview("hotel", tmp_path, capsys, monkeypatch)
    assert code == 130
    assert complaint[-1] == "interrupted; nothing was written, and what models answered is kept for the same command"

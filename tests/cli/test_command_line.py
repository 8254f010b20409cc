"""The command line: what is wrong with a configuration is one line and exit status 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillweave.config.load import load_config
from skillweave.config.sections import Config
from synth.cli.app import main
from synth.cli.options import PipelineSource

PLACE = PipelineSource("tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor")


def fail(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, list[str]]:
    with pytest.raises(SystemExit) as ended:
        main(PLACE, arguments)
    return ended.value.code, capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("sed: 8", "unknown key 'sed'; did you mean 'seed'?"),
        ("execution: {worker: 2}", "unknown key 'execution.worker'; did you mean 'workers'?"),
        ("llm: {textual: {modle: x}}", "unknown key 'llm.textual.modle'; did you mean 'model'?"),
        ("seed: seven", "seed is 'seven'; it should be a valid integer"),
        ("seed: true", "seed is True; it should be a valid integer"),
        ("execution: {workers: 0}", "execution.workers is 0; it should be greater than or equal to 1"),
        ("execution: {runner: thread}", "execution.runner is 'thread'; it should be 'threads', 'dask' or 'ray'"),
        ("domains: {seeds: []}", "domains.seeds is []; it should have at least 1 item after validation, not 0"),
        ("simulation_time: yesterday", "simulation_time is 'yesterday'; it must have the form YYYY-MM-DD HH:MM:SS"),
        ("steps: {s02_length: {most: 3}}", "unknown step 's02_length' under 'steps'; did you mean 's02_lengths'?"),
        ("steps: {s02_lengths: {mots: 3}}", "unknown key 'steps.s02_lengths.mots'; did you mean 'most'?"),
        ("steps: {s02_lengths: {most: many}}", "steps.s02_lengths.most is 'many'; it should be a valid integer"),
        ("steps: {s03_notes: {llm: {text: openai/x}}}", "unknown role 'text' in steps.s03_notes.llm; did you mean"),
        ("llm: {textual: gpt-5}", "unknown author 'gpt-5'"),
        ("seed: 9223372036854775808", "seed is 9223372036854775808; it should be less than or equal to"),
        (f"seed: {'9' * 5000}", "is no YAML: Exceeds the limit"),
        ("domains: {seeds: [hotel, ' ']}", "printable characters, not ' '"),
        ("domains: {seeds: [hotel, Hotel]}", "'Hotel' stands twice"),
        ('domains: {seeds: ["a\\tb"]}', "printable characters"),
        (f"domains: {{seeds: [{'x' * 201}]}}", "names of 1 to 200"),
        ("llm: {textual: offline/nobody}", "unknown author 'offline/nobody'; the pipeline's offline author is"),
        ("llm: {textual: {model: openai/x, base_url: nowhere}}", "llm.textual.base_url is 'nowhere'; it must be a URL"),
        ("llm: {textual: {model: openai/x, base_url: 'http://a/v1?key=b'}}", "without ? or #"),
        ("llm: {textual: {model: openai/x, api_key_env: a b}}", "llm.textual.api_key_env is 'a b'; it should match"),
        ("llm: {timeout: .inf}", "llm.timeout is inf; it should be a finite number"),
        ("llm: {timeout: .nan}", "llm.timeout is nan"),
        ("simulation_time: '2901-01-01 00:00:00'", "must be in the years 1970 to 2900"),
        ("- a", "must be a mapping of keys, not list"),
        ("seed: [", "is no YAML"),
        ("seed: 1\nseed: 2", "key 'seed' stands twice"),
    ],
)
def test_a_wrong_configuration_is_told_in_a_line(
    text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    code, lines = fail(["run", "--config", str(path), "--outputs-dir", str(tmp_path / "out")], capsys)
    assert (code, len(lines)) == (2, 1)
    assert complaint in lines[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--set", "execution.workers"], "is no dotted.path=value"),
        (["--set", "seed.x=1"], "cannot set 'seed.x': 'seed' is 7, no section"),
        (["--set", "execution.workers=[1"], "the value is no YAML"),
        (["--set", "seed=" + "[" * 20_000], "the value is no YAML"),
        (["--set", "seed=" + "9" * 5000], "the value is no YAML"),
        (["--step", ""], "ambiguous step ''"),
        (["--fresh", ""], "ambiguous step ''"),
        (["--outputs-dir", ""], "outputs_dir is ''"),
        (["--step", "s9"], "unknown step 's9'"),
        (["--step", "s2"], "unknown step 's2'; did you mean 's02_lengths'?"),
        (["--step", "s0"], "ambiguous step 's0'"),
        (["--from", "s03", "--until", "s02"], "--from 's03' comes after --until 's02'"),
        (["--step", "s01", "--until", "s02"], "--step excludes"),
    ],
)
def test_wrong_usage_is_told_in_a_line(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("seed: 7")
    outputs = [] if "--outputs-dir" in arguments else ["--outputs-dir", str(tmp_path / "out")]
    code, lines = fail(["run", "--config", str(path), *outputs, *arguments], capsys)
    assert (code, len(lines)) == (2, 1)
    assert complaint in lines[0]
    assert not (tmp_path / "out").exists()


def test_places_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = fail(["run", "--config", str(tmp_path / "none.yaml")], capsys)
    assert (code, len(lines)) == (2, 1)
    assert "does not exist; write one with: python -m synth init-config" in lines[0]
    (tmp_path / "config.yaml").write_text("")
    (tmp_path / "file").write_text("")
    code, lines = fail(
        ["run", "--config", str(tmp_path / "config.yaml"), "--outputs-dir", str(tmp_path / "file")], capsys
    )
    assert (code, len(lines)) == (2, 1)
    assert "cannot be written" in lines[0]
    code, lines = fail(
        ["run", "--config", str(tmp_path / "config.yaml"), "--outputs-dir", str(tmp_path / "file"), "--dry-run"], capsys
    )
    assert (code, len(lines)) == (2, 1)
    assert "is no folder" in lines[0]


def test_the_real_program_gives_status_2_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("seeed: 1")
    ended = subprocess.run(
        [sys.executable, "-m", "synth", "run", "--config", str(tmp_path / "config.yaml")],
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert ended.returncode == 2
    assert ended.stderr == "error: config.yaml: unknown key 'seeed'; did you mean 'seed'?\n"


def test_a_new_configuration_holds_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    main_status = subprocess.run([sys.executable, "-m", "tests.engine.toy", "init-config", str(path)])
    assert main_status.returncode == 0
    loaded = load_config(path)
    assert loaded.model_copy(update={"steps": {}}) == Config()
    assert list(loaded.steps) == ["s01_words", "s02_lengths", "s03_notes", "s04_blobs"]
    assert "# All randomness comes from it.\nseed: 7\n" in path.read_text()


def test_help_loads_nothing_heavy() -> None:
    heavy = {"prefect", "pydantic", "yaml"}
    program = f"import sys; from synth.cli.app import app; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [["status"], ["explain", "x"]])
def test_a_folder_that_is_not_there_has_no_status(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my config.yaml").write_text("")
    given = ["--config", str(tmp_path / "my config.yaml"), "--outputs-dir", str(tmp_path / "none")]
    code, lines = fail([*arguments, *given], capsys)
    assert (code, len(lines)) == (2, 1)
    assert lines[0].endswith(f"write it with: python -m synth run --config '{given[1]}' --outputs-dir {given[3]}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_output_is_told_in_a_line() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "synth", "init-config", "-"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == (
        "error: the system refused to go on: No space left on device; free space or files there (df -h, df -i); "
        "what is written is kept, and the same command goes on from there\n"
    )

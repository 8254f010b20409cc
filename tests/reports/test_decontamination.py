"""Decontamination: what a benchmark has in common with a dataset is found, whatever the file holds."""

import json
from pathlib import Path

import pytest

from skillweave.base.errors import ConfigError
from synth.cli.app import main
from synth.reports.decontamination import BenchmarkComparison, BenchmarkTool, parts_of, read_benchmark
from tests.reports.tasks_with_openings import told

TEXT = "Please move my appointment with Dr Iyer to the first free slot on a Friday afternoon in March, will you?"
TASKS = [
    told("a", TEXT, ("verify", {"email": "ana@example.org"}), name="Ana Lopez"),
    told("b", "Cancel it.", name="Bo Ek"),
]
TOOLS = {"Clinic/move_appointment": BenchmarkTool("move_appointment", frozenset({"appointment_id", "slot_id"}))}
OPENAI = {
    "type": "function",
    "function": {
        "name": "moveAppointment",
        "parameters": {"type": "object", "properties": {"appointmentId": {}, "day": {}}},
    },
}


def compared(file: Path) -> BenchmarkComparison:
    found = BenchmarkComparison(TASKS, TOOLS)
    found.add(file.name, read_benchmark(file))
    return found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", json.dumps({"q": [{"content": f"Well: {TEXT}"}]})),
        ("a.json", json.dumps([{"conversation": json.dumps({"said": TEXT.upper()})}])),
        ("a.csv", f'id,said\n1,"{TEXT}"\n'),
        ("a.txt", "Nothing.\n\n" + TEXT.replace(" ", "\n", 6)),
    ],
)
def test_words_in_common_are_found_in_each_form(name: str, content: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(content)
    found = compared(file).result()
    assert found.shared == {"8": 1, "13": 1}
    assert [(leak.task, leak.file, len(leak.words.split())) for leak in found.leaks] == [("a", name, 13)]


def test_a_shorter_run_is_no_longer_one(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("They say: to the first free slot on a Friday afternoon, and go.")
    assert compared(file).result().shared == {"8": 1, "13": 0}


def test_people_and_emails_of_the_dataset_are_found(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("Ana Lopez,ANA@example.org\nBo,Ek\n")
    found = compared(file).result()
    assert (found.people, found.emails) == (["Ana Lopez"], ["ana@example.org"])


def test_the_nearest_tool_is_found(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"tools": json.dumps([OPENAI]), "other": {"name": "x", "parameters": {"y": 1}}}))
    found = compared(file).result()
    assert [(twin.tool, twin.other) for twin in found.twins] == [("Clinic/move_appointment", "moveAppointment")]
    assert found.twins[0].similarity == 0.6
    assert found.files["a.json"].tools == 2


def test_names_are_compared_in_one_form() -> None:
    camel = BenchmarkTool("moveAppointment", frozenset({"appointmentId", "slotId"}))
    assert parts_of(camel) == parts_of(TOOLS["Clinic/move_appointment"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"{", "cannot be read as json"),
        ("a.json", b"[" * 200_000, "cannot be read as json"),
        ("a.json", b"9" * 9000, "cannot be read as json"),
        ("a.jsonl", b'{"a": 1}\n\n{', "line 3"),
        ("a.txt", b"\xff\xfe\x00", "it is UTF-16"),
        ("a.csv", b'"' + b"x" * 200_000, "cannot be read as csv"),
        ("a.parquet", b"PAR1", "is none of .jsonl"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_a_line(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as raised:
        list(read_benchmark(file))
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"name": 3, "parameters": {}},
        {"name": "\ud800\x1b[2J" * 100, "parameters": {"\ud800": 1}},
        {"name": "f", "parameters": {"properties": []}},
        {"text": "\ud800 \x00 " + "[" * 5000},
        json.dumps("[" * 5000 + "]" * 5000),
    ],
)
def test_hostile_values_are_read(value: object, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(value))
    assert compared(file).result().model_dump_json()


def test_the_command_writes_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "queries").mkdir()
    lines = "".join(f"{task.model_dump_json()}\n" for task in TASKS)
    (tmp_path / "queries" / "SmallClinic.jsonl").write_text(lines)
    benchmark = tmp_path / "bench.txt"
    benchmark.write_text(TEXT)
    with pytest.raises(SystemExit) as ended:
        main(None, ["decontaminate", str(tmp_path), str(benchmark)])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert "tasks with 13 words in a row in common" in shown
    assert "50.0%" in shown
    assert json.loads((tmp_path / "decontamination.json").read_text())["shared"] == {"8": 1, "13": 1}
    with pytest.raises(SystemExit) as ended:
        main(None, ["decontaminate", str(tmp_path), str(tmp_path / "none.json")])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"error: {str(tmp_path / 'none.json')!r} does not exist\n"

"""What is redone, why, and what is not."""

import json
import shutil
from collections.abc import Callable

import pytest

from synth.cli.app import main
from tests.engine.conftest import PLACE, Toy, done


def test_a_finished_run_is_not_redone_and_needs_no_server(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.finish()
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    status, lines = toy.run()
    assert (status, done(lines)) == (0, [])
    assert lines[-1].startswith("wrote 19 artifacts to ")


def test_a_redone_item_that_comes_out_equal_stops_the_wave(toy: Toy) -> None:
    toy.finish()
    _, lines = toy.run("--set", "steps.s02_lengths.most=50")
    assert "s02 lengths.json[alpha]: redo, parameter most changed 100 -> 50" in lines
    assert done(lines) == ["s02 lengths.json[alpha]", "s02 lengths.json[beta]", "s02 lengths.json[gamma]"]


def test_a_changed_value_redoes_only_its_readers(toy: Toy) -> None:
    toy.finish()
    _, lines = toy.run("--set", "steps.s02_lengths.most=4")
    assert "s03 notes/alpha: redo, input lengths.json[alpha] changed" in lines
    assert "s03 summary.txt: redo, input notes/alpha.md changed" in lines
    assert "s03 notes/beta" not in done(lines)
    assert "of 4 letters" in (toy.outputs / "notes/alpha.md").read_text()


def test_the_seed_is_a_reason(toy: Toy) -> None:
    toy.run("--until", "s01")
    _, lines = toy.run("--until", "s01", "--seed", "8")
    assert "s01 words.json: redo, seed changed 7 -> 8" in lines


def edit_file(toy: Toy) -> None:
    (toy.outputs / "notes/beta.md").write_text("something else")


def remove_file(toy: Toy) -> None:
    (toy.outputs / "notes/beta.md").unlink()


def edit_value(toy: Toy) -> None:
    path = toy.outputs / "lengths.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"beta": 77}))


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (edit_file, "s03 notes/beta: redo, output notes/beta.md changed or missing"),
        (remove_file, "s03 notes/beta: redo, output notes/beta.md changed or missing"),
        (edit_value, "s02 lengths.json[beta]: redo, output lengths.json[beta] changed or missing"),
    ],
)
def test_a_tampered_output_is_made_again_alone(toy: Toy, tamper: Callable[[Toy], None], reason: str) -> None:
    toy.finish()
    before = toy.artifacts()
    tamper(toy)
    _, lines = toy.run()
    assert reason in lines
    assert len(done(lines)) == 1
    assert toy.artifacts() == before


def lose_parts(toy: Toy) -> None:
    shutil.rmtree(toy.outputs / ".cache")


def lose_joined(toy: Toy) -> None:
    (toy.outputs / "lengths.json").unlink()


def touch_all(toy: Toy) -> None:
    for name, content in toy.artifacts().items():
        (toy.outputs / name).write_bytes(content)


@pytest.mark.parametrize("lose", [lose_parts, lose_joined, touch_all])
def test_what_can_be_had_from_elsewhere_is_not_redone(toy: Toy, lose: Callable[[Toy], None]) -> None:
    toy.finish()
    before = toy.artifacts()
    lose(toy)
    _, lines = toy.run()
    assert done(lines) == []
    assert toy.artifacts() == before


def test_what_no_seed_leads_to_any_more_is_removed(toy: Toy) -> None:
    toy.finish()
    toy.configure("alpha")
    toy.run()
    assert set(toy.artifacts()) == {
        "words.json",
        "lengths.json",
        "notes/alpha.md",
        "lines/alpha.jsonl",
        "summary.txt",
        "blobs/alpha.bin",
        "shouts/alpha.json",
    }
    assert json.loads((toy.outputs / "lengths.json").read_text()) == {"alpha": 5}


def test_outcomes_are_kept_apart_and_told(toy: Toy) -> None:
    toy.configure("alpha", "broken", "mute")
    status, lines = toy.run()
    assert status == 1
    assert any(line.startswith("rejected: s03_notes/mute: not valid JSON") for line in lines)
    assert "failed: s03_notes/broken: RuntimeError: this word breaks things" in lines
    assert "this word breaks things" in (toy.outputs / "logs/s03_notes.log").read_text()
    states = {
        item["key"]: item
        for item in json.loads((toy.outputs / "manifest.json").read_text())["items"]
        if item["step"] == "s04_blobs"
    }
    assert states["broken"]["reasons"] == ["s03_notes/broken failed"]
    assert states["mute"]["state"] == "skipped"
    assert (toy.outputs / "summary.txt").read_text() == f"alpha: {len((toy.outputs / 'notes/alpha.md').read_text())}\n"
    _, again = toy.run()
    assert "s03 notes/broken: redo, failed last time" in again
    assert not any("notes/mute: redo" in line for line in again)


def test_a_join_goes_on_without_what_an_earlier_step_rejected(toy: Toy) -> None:
    toy.configure("alpha", "beta", "endless")
    assert toy.run()[0] == 0
    assert [line.partition(":")[0] for line in (toy.outputs / "summary.txt").read_text().splitlines()] == [
        "alpha",
        "beta",
    ]


def test_a_join_is_skipped_where_nothing_that_it_stands_on_was_made(toy: Toy) -> None:
    toy.configure("endless")
    assert toy.run()[0] == 1
    assert not (toy.outputs / "summary.txt").exists()


def test_rejections_past_the_limit_fail_the_step(toy: Toy) -> None:
    toy.configure("alpha", "mute")
    assert toy.run()[0] == 0
    status, lines = toy.run("--set", "steps.s03_notes.max_rejected=0.1")
    assert status == 1
    expected = "s03: 1 of 3 items rejected, more than the 10% that steps.s03_notes.max_rejected allows"
    assert lines[-1].startswith(expected)
    assert done(lines) == []


def test_any_number_of_workers_gives_the_same_bytes(toy: Toy) -> None:
    toy.run("--workers", "1")
    first = toy.artifacts()
    shutil.rmtree(toy.outputs)
    toy.run("--workers", "4")
    assert toy.artifacts() == first


def test_fresh_forgets_a_step_and_what_follows(toy: Toy) -> None:
    toy.finish()
    before = toy.artifacts()
    _, lines = toy.run("--fresh", "s03")
    assert {line.split()[0] for line in done(lines)} == {"s03", "s04"}
    assert toy.artifacts() == before


def test_a_range_stands_on_what_is_up_to_date(toy: Toy) -> None:
    status, lines = toy.run("--step", "s03")
    assert status == 2
    assert lines == [
        "error: s01_words/all is not up to date (new), and later steps stand on it; run it first: --step s01"
    ]
    assert toy.run("--until", "s02")[0] == 0
    assert not (toy.outputs / "notes").exists()
    assert toy.run("--step", "s03")[0] == 0
    assert not (toy.outputs / "blobs").exists()


def look(toy: Toy) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in toy.outputs.rglob("*")}


def test_a_dry_run_tells_and_writes_nothing(toy: Toy) -> None:
    toy.finish()
    before = look(toy)
    status, lines = toy.run("--dry-run", "--set", "steps.s02_lengths.most=4")
    assert status == 0
    assert "s02 lengths.json[alpha]: redo, parameter most changed 100 -> 4" in lines
    assert "s03 notes/alpha: may redo, waits for s02" in lines
    assert "about 3 questions" in lines[-1]
    assert look(toy) == before


def test_a_dry_run_of_nothing_makes_no_folder(toy: Toy) -> None:
    status, lines = toy.run("--dry-run")
    assert (status, lines[0]) == (0, "s01 words.json: redo, new")
    assert not toy.outputs.exists()


def test_a_copy_elsewhere_goes_on(toy: Toy) -> None:
    toy.finish()
    moved = toy.folder / "moved"
    shutil.copytree(toy.outputs, moved, copy_function=shutil.copyfile)
    toy.outputs = moved
    assert done(toy.run()[1]) == []


def test_a_dry_run_names_a_joined_file_that_is_missing(toy: Toy) -> None:
    toy.finish()
    (toy.outputs / "lengths.json").unlink()
    status, lines = toy.run("--dry-run")
    assert (status, lines[0]) == (0, "lengths.json: would be joined again, missing or changed")
    assert len(lines) == 2
    assert not (toy.outputs / "lengths.json").exists()


def test_a_folder_in_an_artifacts_place_is_a_line(toy: Toy) -> None:
    toy.finish()
    (toy.outputs / "lengths.json").unlink()
    (toy.outputs / "lengths.json").mkdir()
    status, lines = toy.run()
    assert status == 1
    assert lines[-1].startswith("error: cannot write 'lengths.json' in outputs folder")


def test_names_that_are_near_are_offered(toy: Toy) -> None:
    toy.finish()
    with pytest.raises(SystemExit) as ended:
        main(PLACE, ["explain", "notes/alphq", *toy.arguments()[1:]])
    assert ended.value.code == 2
    message = toy.capture.readouterr().err
    assert "the nearest are 'notes/alpha.md', " in message
    assert message.count("'") == 2 * 5


def test_too_many_rejections_say_what_would_answer_otherwise(toy: Toy) -> None:
    toy.configure("alpha", "mute")
    status, lines = toy.run("--set", "steps.s03_notes.max_rejected=0")
    assert status == 1
    assert "name a model in llm.textual, or take other seeds" in lines[-1]
    assert "the same command" not in lines[-1]

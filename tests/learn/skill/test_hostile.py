"""Hostile optimizers, skills and folders: what they may not bring about."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from learn.skill.document import MARKERS, NOTES_END, NOTES_START, Edit, apply_edits, with_guidance
from learn.skill.items import is_answer, leaks, overlap
from learn.skill.replies import Reflection
from tests.commands import Done, ran
from tests.learn.skill.test_endpoint import COLOURS, KEY, act, trained, write_items
from tests.learn.skill.test_run import bytes_of, history_of
from tests.llm.protocols import a_completion
from tests.llm.scripted import Act, Heard, ScriptedServer, reply

SECRET = "the deep blue sea of 1871"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEY_OF_THIS_TEST", KEY)
    write_items(tmp_path / "items")
    path = tmp_path / "items/val/items.json"
    items = json.loads(path.read_text())
    items[0]["answers"] = [SECRET]
    path.write_text(json.dumps(items))
    return tmp_path


def run_with(place: Path, answers: dict[str, Any], out: str, *more: str) -> Done:
    """Train with an optimizer that answers, by words of its instruction, as given; else as a good one."""

    def script(heard: Heard) -> Act:
        system = heard.body["messages"][0]["content"]
        found = next((answer for words, answer in answers.items() if words in system), None)
        return act(heard) if found is None else reply(a_completion(json.dumps(found)))

    with ScriptedServer(script) as server:
        return trained(place, server.url, out, *more)


def skills_of(out: Path) -> str:
    return "\n".join(path.read_text() for path in [*out.glob("skills/*.md"), out / "best_skill.md"])


@pytest.mark.parametrize(
    "text",
    ["_the deep blue sea of 1871_", "**The Deep\n  Blue sea of 1871**", "x\nthe deep blue sea of 1871", f"({SECRET})"],
)
def test_a_secret_is_found_in_any_typesetting(text: str) -> None:
    assert leaks(text, {SECRET: "an answer"})
    assert not leaks(text.replace("1871", "18711"), {SECRET: "an answer"})


def test_notes_do_not_bring_secrets_or_great_length_into_a_skill(place: Path) -> None:
    notes = {"edits": [], "appendix_notes": ["Be brief.", f"Remember {SECRET}.", "long " * 9000]}
    aware = ("--set", "skill.optimizer.use_skill_aware_reflection=true")
    done = run_with(place, {"You improve a skill": notes}, "out", *aware)
    assert done.returncode == 0, done.stderr
    text = skills_of(place / "out")
    assert "- Be brief." in text
    assert SECRET not in text
    assert "long long" not in text


def test_guidance_whose_markers_hide_a_secret_is_rejected(place: Path) -> None:
    hidden = {"slow_update_content": SECRET.replace("sea", f"s{NOTES_START}ea")}
    done = run_with(place, {"You look back over an epoch": hidden}, "out")
    assert done.returncode == 0, done.stderr
    assert json.loads((place / "out/slow_update/epoch_02/slow_result.json").read_text())["action"] == "reject"
    assert SECRET not in skills_of(place / "out")


def test_an_edit_with_a_secret_on_a_line_of_its_own_is_left_out_alone(place: Path) -> None:
    good = [{"op": "append", "content": f"{thing}: {colour}"} for thing, colour in COLOURS.items()]
    edits = {"edits": [{"op": "append", "content": f"x\n{SECRET}"}, *good[:3]]}
    done = run_with(place, {"You improve a skill": edits, "You merge proposals": edits}, "out")
    assert done.returncode == 0, done.stderr
    first = history_of(place / "out")[0]
    assert first["leaked_edits"]
    assert first["action"] == "accept_new_best"


def test_a_flood_of_markers_is_read_in_seconds() -> None:
    start = time.monotonic()
    nested = "<!-- SKILL_" * 50_000 + NOTES_END + "NOTES_END -->" * 50_000
    assert apply_edits("# S\n", [Edit(op="append", content=nested)])[1][0].status == "skipped_empty_content"
    assert not any(with_guidance("# S\n", nested + "x").count(marker) > 1 for marker in MARKERS)
    assert time.monotonic() - start < 20


def test_a_rewritten_skill_of_markers_alone_is_rejected_for_its_size(place: Path) -> None:
    flood = {"new_skill": f"{NOTES_START}\nx\n" * 50_000}
    mode = ("--set", "skill.optimizer.skill_update_mode=full_rewrite_minibatch")
    done = run_with(place, {"You improve a skill": flood, "You merge": {"skill_candidates": [flood]}}, "out", *mode)
    assert done.returncode == 0, done.stderr
    assert {step["reason"] for step in history_of(place / "out")} == {"size"}


@pytest.mark.parametrize("summary", [None, "slow", [{"count": 2}], {"failure_type": "slow"}])
def test_a_wrong_summary_of_failures_costs_no_edit(summary: object) -> None:
    edits = [{"op": "append", "content": "a"}]
    assert len(Reflection.model_validate({"edits": edits, "failure_summary": summary}).edits) == 1


def test_a_first_skill_that_no_candidate_could_follow_is_refused(place: Path) -> None:
    (place / "long.md").write_text("x" * 30_000)
    done = run_with(place, {}, "out", "--set", f"skill.skill_init={place / 'long.md'}")
    assert done.returncode == 2
    assert "skill.evaluation.longest_skill" in done.stderr


def test_what_the_first_skill_gives_away_itself_is_not_held_against_candidates(place: Path) -> None:
    (place / "first.md").write_text(f"# S\n\nThink of {SECRET}.\n")
    done = run_with(place, {}, "out", "--set", f"skill.skill_init={place / 'first.md'}")
    assert done.returncode == 0, done.stderr
    assert "the first skill holds an answer of validation or test" in done.stdout
    assert any(step["action"] == "accept_new_best" for step in history_of(place / "out"))


def test_a_finished_run_keeps_its_best_skill_if_it_is_begun_again_and_fails(place: Path) -> None:
    assert run_with(place, {}, "out").returncode == 0
    out, before = place / "out", bytes_of(place / "out")
    kept = {path: path.read_bytes() for path in out.glob("rollouts/*/run.json")}
    for path in kept:
        path.write_text("{")
    assert run_with(place, {}, "out").returncode == 2
    assert bytes_of(out) == before
    for path, content in kept.items():
        path.write_bytes(content)
    assert run_with(place, {}, "out").returncode == 0
    assert bytes_of(out) == before


@pytest.mark.parametrize("content", ["[{", "[1]", '[{"question": "a", "author": "b", "asked": "x"}]', "\x00"])
def test_a_damaged_usage_file_is_named(place: Path, content: str) -> None:
    (place / "out").mkdir()
    (place / "out/usage.json").write_text(content)
    done = run_with(place, {}, "out")
    assert done.returncode in (1, 2)
    assert "usage.json" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_cost_is_not_shown_as_zero(place: Path) -> None:
    assert run_with(place, {}, "out").returncode == 0
    rows = json.loads((place / "out/usage.json").read_text())
    assert {row["cost_usd"] for row in rows if row["question"].startswith("skill.")} == {None}
    assert "$0.00" not in (place / "out/report.html").read_text()


@pytest.mark.parametrize(("given", "answer"), [("", "A"), ("The", "A"), ("...", "the"), ("", "+"), ("-", "+")])
def test_a_reply_without_the_words_of_an_answer_is_none(given: str, answer: str) -> None:
    assert not is_answer(given, [answer])
    assert overlap(given, [answer]) == 0
    assert is_answer(f" {answer} ", [answer])


def test_answers_are_not_blank_and_a_question_is_in_one_part_alone(place: Path) -> None:
    path = place / "items/val/items.json"
    items = json.loads(path.read_text())
    path.write_text(json.dumps([{**items[0], "answers": ["x", " "]}]))
    assert "0.answers.1" in run_with(place, {}, "out").stderr
    same = "which  colour has the SEA, number 0 of train?"
    path.write_text(json.dumps([{"id": "TRAIN-0", "question": same, "answers": ["x"]}]))
    assert "'TRAIN-0' asks what train item 'train-0' asks" in run_with(place, {}, "out").stderr


def test_traces_leave_the_cache_of_a_run_alone_and_name_an_empty_split(small: Path, tmp_path: Path) -> None:
    (tmp_path / "run/.cache").mkdir(parents=True)
    (tmp_path / "run/.cache/replies.sqlite").write_bytes(b"paid for")
    records = tmp_path / "rollouts"
    places = ("--config", "config.yaml", "--outputs-dir", str(small), "--rollouts-dir", str(records))
    held = ran("rollout", "run", *places, "--limit", "2", "--agent", "offline/oracle", "--split", "train")
    assert held.returncode == 0, held.stderr
    to = ("--outputs-dir", str(small), "--to", str(tmp_path / "run"))
    done = ran("learn", "traces", str(records), str(records), *to)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "run/.cache").iterdir() if path.suffix] == ["replies.sqlite"]
    done = ran("learn", "traces", str(records), str(records), *to, "--split", "test")
    assert done.returncode == 2
    assert "no trajectory of a task of the split 'test'" in done.stderr


def test_items_and_a_first_skill_may_come_from_windows(place: Path) -> None:
    for path in (place / "items").rglob("items.json"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    (place / "first.md").write_bytes(b"\xef\xbb\xbf# Skill\r\n\r\nBe brief.\r\n")
    first = ("--set", f"skill.skill_init={place / 'first.md'}")
    done = run_with(place, {}, "out", *first)
    assert done.returncode == 0, done.stderr
    assert (place / "out/skills/skill_v0000.md").read_bytes() == b"# Skill\n\nBe brief.\n"
    (place / "first.md").write_bytes("# Skill".encode("utf-16"))
    done = run_with(place, {}, "other", *first)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "it is UTF-16" in done.stderr


def test_a_dry_run_counts_conversations_and_asks_nobody(place: Path) -> None:
    before = sorted(place.rglob("*"))
    done = run_with(place, {}, "out", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "score the first skill on validation" in done.stdout
    assert "questions to the optimizer" in done.stdout
    assert "nothing was written; next: python -m learn skill " in done.stdout
    assert "--dry-run" not in done.stdout
    assert sorted(place.rglob("*")) == sorted([*before, place / "learn.yaml"])

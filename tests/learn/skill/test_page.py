"""The page of a skill run, whole, in part, and with what a hostile model wrote."""

from pathlib import Path

import pytest

from learn.skill.curve import curve_of
from learn.skill.page import guided_scores, write_skill_page
from learn.skill.run_files import RunFolder, ShownStep
from learn.skill.text_diff import diff
from skillweave.base.errors import ConfigError
from skillweave.base.store import Store
from tests.learn.pages import HOSTILE, Page, require_inert
from tests.learn.skill.runs import a_run, a_step, write


def a_page(folder: Path) -> Page:
    """The page of a run."""
    return Page(write_skill_page(folder))


def test_a_finished_run_is_shown_whole(tmp_path: Path) -> None:
    page = a_page(a_run(tmp_path))
    require_inert(page)
    shown = " ".join(page.shown.split())
    assert "25.0 % → 75.0 %" in shown
    assert "Step 1 · 0.300 → 0.500 +0.200 no gain in 3.0 % of resamples" in shown
    assert "Step 2 · 0.500 → 0.200 -0.300" in shown
    assert "Step 3 · 0.500 → 0.700 +0.200" in shown
    assert "2 accepted, 1 rejected, 1 without a candidate" in shown
    assert "$1.50" in shown
    assert "Take your time." in shown
    assert page.tags.count("circle") == 3 + 2
    accepted, rejected = shown.split("Accepted edits")[1].split("Rejected candidates")
    assert "+ Look the booking up before you change it." in accepted
    assert "+ Decline whatever is asked." in rejected.split("Guidance")[0]
    assert [value for name, value in page.attributes if name == "id" and value and value.startswith("step-")] == [
        "step-1",
        "step-3",
        "step-2",
    ]


def test_rejected_candidates_are_folded(tmp_path: Path) -> None:
    page = a_page(a_run(tmp_path))
    begun = page.text.split('<details class="step" ')[1:4]
    assert [part.partition(">")[0] for part in begun] == ['id="step-1" open', 'id="step-3" open', 'id="step-2"']


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write_skill_page(a_run(tmp_path / name)).read_bytes() for name in ("one", "two"))
    assert first == second
    assert str(tmp_path).encode() not in first


def test_hostile_text_makes_no_element(tmp_path: Path) -> None:
    plain, hostile = a_page(a_run(tmp_path / "plain", "plain")), a_page(a_run(tmp_path / "hostile", HOSTILE))
    require_inert(hostile)
    assert hostile.tags == plain.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in plain.attributes]
    assert hostile.shown.count("document.title='owned'") > 8


@pytest.mark.parametrize("missing", ["history.json", "summary.json", "skills", "steps", "slow_update", "best_skill.md"])
def test_a_page_is_made_of_what_is_there(tmp_path: Path, missing: str) -> None:
    a_run(tmp_path / "run")
    (tmp_path / "run" / missing).rename(tmp_path / "aside")
    page = a_page(tmp_path / "run")
    require_inert(page)
    assert "cannot be read" not in page.shown
    assert "Skill run" in page.shown


def test_an_empty_folder_has_a_page_and_a_missing_one_has_none(tmp_path: Path) -> None:
    assert "None." in a_page(tmp_path).shown
    with pytest.raises(ConfigError, match="there is no folder"):
        write_skill_page(tmp_path / "missing")


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    steps = [a_step(1, "accept_new_best"), {"step": "?"}, a_step(3, "reject", current_score=1e300), 7]
    write(run, "history.json", steps)
    write(run, "summary.json", '{"test": ')
    (run / "best_skill.md").unlink()
    (run / "best_skill.md").symlink_to("/etc/passwd")
    page = a_page(run)
    for words in (
        "history.json: step:",
        "history.json: current_score:",
        "summary.json: not JSON",
        "goes through a link",
    ):
        assert words in page.shown
    assert "Step 1" in page.shown
    assert "root:" not in page.shown


def test_reasons_and_usage_of_a_run_are_shown(tmp_path: Path) -> None:
    write(tmp_path, "history.json", [a_step(1, "reject", reason="leak", previous_score=0.6)])
    usage = [{"question": "skill.merge", "author": "a/b", "asked": 7, "input_tokens": 1234, "cost_usd": 9.75}]
    write(tmp_path, "usage.json", usage)
    shown = a_page(tmp_path).shown
    assert "rejected: it gives away validation or test" in shown
    assert "0.600 → 0.500" in " ".join(shown.split())
    assert "$9.75" in shown
    assert "1,234" in shown


def test_the_skill_after_a_step_is_the_last_one_written_by_then(tmp_path: Path) -> None:
    for number, text in ((0, "first"), (3, "third")):
        write(tmp_path, f"skills/skill_v{number:04d}.md", text)
    run = RunFolder(Store(tmp_path))
    assert [run.skill_at(step) for step in (-1, 0, 2, 3, 9)] == [None, "first", "first", "third", "third"]


def test_guidance_moves_the_score_that_the_next_step_begins_with(tmp_path: Path) -> None:
    steps = [
        a_step(1, "reject", current_score=0.5),
        a_step(2, "reject", epoch=2, candidate_gate_score=0.6, current_score=0.75),
    ]
    write(tmp_path, "history.json", steps)
    write(tmp_path, "slow_update/epoch_01/slow_result.json", {"action": "force_accept", "current_score": 0.75})
    write(tmp_path, "slow_update/epoch_02/slow_result.json", {"action": "reject", "selection_hard": 0.9})
    page = a_page(tmp_path)
    assert "Step 2 · 0.750 → 0.600 -0.150" in " ".join(page.shown.split())
    assert guided_scores(RunFolder(Store(tmp_path))) == {1: 0.75}
    assert "guidance of an epoch" in page.shown


def test_stages_are_added_over_steps(tmp_path: Path) -> None:
    write(tmp_path, "history.json", [a_step(number, "reject") for number in (1, 2, 3)])
    [row] = RunFolder(Store(tmp_path)).usage
    assert (row.question, row.asked, row.input_tokens, row.output_tokens) == ("reflect", 6, 300, 30)
    assert "$0.75" in a_page(tmp_path).shown


def test_the_curve_has_round_ticks_and_keeps_to_its_frame() -> None:
    steps = [
        ShownStep.model_validate(a_step(number, "reject", candidate_gate_score=score))
        for number, score in ((1, 0.31), (2, 0.74), (3, None))
    ]
    curve = curve_of(steps, 0.4)
    assert curve is not None
    assert [label for _, label in curve.ticks] == ["0.3", "0.4", "0.5", "0.6", "0.7", "0.8"]
    assert [step for _, step in curve.steps] == [0, 1, 2, 3]
    heights = [y for _, y in [*curve.current, *curve.best]] + [point.y for point in curve.candidates]
    assert all(curve.ticks[-1][0] <= y <= curve.ticks[0][0] for y in heights)
    assert len(curve.candidates) == 2
    assert curve_of([], None) is None


def test_a_changed_line_marks_the_words_that_changed() -> None:
    removed, added = diff("Ask who is calling.", "Ask who is really calling.")
    assert [part.text for part in removed.parts if part.is_marked] == []
    assert "".join(part.text for part in added.parts if part.is_marked).strip() == "really"


def test_lines_without_likeness_are_replaced_whole() -> None:
    lines = diff("one\n\nAsk who is calling.", "one\n\nDecline it at once, always and everywhere!")
    assert [(line.kind, [part.is_marked for part in line.parts]) for line in lines[-2:]] == [
        ("removed", [False]),
        ("added", [False]),
    ]


def test_a_changed_line_is_found_beside_a_new_one() -> None:
    lines = diff("Ask who is calling.", "Greet them.\nAsk who is really calling.")
    assert [(line.kind, len(line.parts)) for line in lines] == [("removed", 2), ("added", 1), ("added", 3)]


def test_far_lines_are_left_out_of_a_diff() -> None:
    before = "\n".join(map(str, range(30)))
    lines = diff(before, before.replace("20", "twenty"))
    assert [line.kind for line in lines] == ["gap", "same", "same", "removed", "added", "same", "same"]
    assert diff(before, before) == []

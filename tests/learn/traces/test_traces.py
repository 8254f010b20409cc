"""What changed between two agents: figures of trajectories that were made for them, and the page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluator.report.compare import compare, results_by_agent
from learn.traces.change import chosen_examples, paired_results
from learn.traces.command import write_traces
from learn.traces.figures import UNKNOWN_TOOL, TraceFigures
from skillweave.base.errors import ConfigError
from skillweave.world.dataset import Dataset
from tests.commands import in_place, ran
from tests.evaluator.results import a_failure, a_result
from tests.interop.export.exports import records_in, write_records
from tests.learn.pages import HOSTILE, Page, require_inert

Recorded = dict[str, Any]


def on_tasks_that_write(small: Path, folder: Path, *, agent: str = "offline/one") -> list[Recorded]:
    """The trajectories of a folder of the tasks that demand a write, as if `agent` had held them."""
    tasks = Dataset(small).tasks
    found = [record for record in records_in(folder) if tasks[record["task_id"]].kind == "do"]
    assert len(found) > 4
    return [{**record, "agent": {**record["agent"], "backend": agent}} for record in found]


def with_calls(record: Recorded, calls: Sequence[Recorded]) -> Recorded:
    """The trajectory with these calls in a message of their own before the agent's first one."""
    at = next(place for place, message in enumerate(record["messages"]) if message["role"] == "assistant")
    made = [{"id": f"more_{place}", "type": "function", "function": call} for place, call in enumerate(calls)]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    turns = [{**turn, "message": turn["message"] + (turn["message"] >= at)} for turn in record.get("user_turns") or []]
    return {**record, "messages": [*record["messages"][:at], message, *record["messages"][at:]], "user_turns": turns}


def first_call(record: Recorded) -> Recorded:
    """The first call of a trajectory."""
    calls = [call for message in record["messages"] for call in message.get("tool_calls") or ()]
    function: Recorded = calls[0]["function"]
    return function


def traced(
    before: Path, after: Path, small: Path, to: Path, titles: tuple[str, str] = ("before", "after")
) -> TraceFigures:
    """The figures, which are in the folder too."""
    with in_place():
        figures = write_traces(before, after, small, to, title_before=titles[0], title_after=titles[1])
    assert TraceFigures.model_validate_json((to / "traces.json").read_bytes()) == figures
    return figures


def test_passes_of_the_common_tasks_are_compared(small: Path, agents: dict[str, Path], tmp_path: Path) -> None:
    good, idle = (on_tasks_that_write(small, agents[name]) for name in ("oracle", "nothing"))
    ids = [record["task_id"] for record in good]
    # Two tasks are gained, one is lost, one kept; the fifth is in one folder only.
    before = write_records(tmp_path / "before", [idle[0], idle[1], good[2], good[3]])
    after = write_records(tmp_path / "after", [good[0], good[1], idle[2], good[3], good[4]])
    figures = traced(before, after, small, tmp_path / "to")
    assert (figures.passes.tasks, figures.passes.rate_a, figures.passes.rate_b) == (4, 0.5, 0.75)
    assert (figures.passes.difference, figures.passes.p, figures.passes.only_b) == (0.25, 1.0, 1)
    assert (figures.tasks.gained, figures.tasks.lost) == (sorted(ids[:2]), [ids[2]])
    assert (figures.tasks.kept, figures.tasks.failing) == (1, 0)
    moves = {(move.before, move.after): move.trajectories for move in figures.outcomes}
    assert moves["passed", "passed"] == 1
    assert sum(count for (first, second), count in moves.items() if first != "passed" and second == "passed") == 2
    for values in figures.groups.values():
        assert sum(group.tasks for group in values.values()) == 4
    assert {example.task_id: example.move for example in figures.examples} == {
        ids[0]: "gained",
        ids[1]: "gained",
        ids[2]: "lost",
    }


def test_calls_are_counted_as_they_replay(small: Path, agents: dict[str, Path], tmp_path: Path) -> None:
    good = on_tasks_that_write(small, agents["oracle"])[0]
    call = first_call(good)
    more = [call, {"name": "no_such_tool", "arguments": "{}"}, {"name": call["name"], "arguments": "{not json"}]
    before = write_records(tmp_path / "before", [good])
    after = write_records(tmp_path / "after", [with_calls(good, more)])
    figures = traced(before, after, small, tmp_path / "to")
    first, second = figures.before.calls, figures.after.calls
    assert (first.trajectories, first.unconfirmed, first.malformed) == (1, 0, 0)
    assert first.writes > 0
    assert second.calls == first.calls + 3
    assert second.turns == first.turns + 1
    assert second.malformed == 2
    assert second.failed >= first.failed + 2
    assert second.repeated == first.repeated + 1
    tools = {one.tool: one for one in figures.tools}
    assert (tools[UNKNOWN_TOOL].before, tools[UNKNOWN_TOOL].after, tools[UNKNOWN_TOOL].failed_after) == (0, 1, 1)
    assert tools[call["name"]].difference == 2
    assert figures.tools[0].tool == call["name"]


def test_writes_without_the_users_agreement_are_told_from_confirmed_ones(
    small: Path, agents: dict[str, Path], tmp_path: Path
) -> None:
    good = on_tasks_that_write(small, agents["oracle"])
    silent = [{**record, "user_turns": [{**turn, "agrees": None} for turn in record["user_turns"]]} for record in good]
    folders = write_records(tmp_path / "before", silent), write_records(tmp_path / "after", good)
    figures = traced(*folders, small, tmp_path / "to")
    assert figures.before.calls.asking == figures.after.calls.asking > 0
    assert figures.before.calls.unconfirmed == figures.before.calls.asking
    assert figures.after.calls.unconfirmed == 0


def test_the_command_says_it_in_ten_lines_and_writes_the_same_bytes_again(
    small: Path, agents: dict[str, Path], tmp_path: Path
) -> None:
    def given(to: Path) -> str:
        done = ran(
            "learn",
            "traces",
            *map(str, (agents["careless"], agents["oracle"])),
            "--to",
            str(to),
            "--outputs",
            str(small),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    lines = given(tmp_path / "one").splitlines()
    given(tmp_path / "two")
    assert len(lines) <= 10
    assert lines[-1].startswith("wrote traces.html, for a browser, and traces.json in ")
    assert "100.0% passed" in "\n".join(lines)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["traces.html", "traces.json"]
    for name in ("traces.json", "traces.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        assert str(tmp_path).encode() not in (tmp_path / "one" / name).read_bytes()


def test_the_page_shows_the_figures_and_conversations_side_by_side(
    small: Path, agents: dict[str, Path], tmp_path: Path
) -> None:
    figures = traced(agents["careless"], agents["oracle"], small, tmp_path, ("careless", "oracle"))
    page = Page(tmp_path / "traces.html")
    require_inert(page)
    assert f"{100 * (figures.passes.difference or 0):+.1f}" in page.shown
    assert page.tags.count("section") == 2 * len(figures.examples)
    assert page.shown.count("Left the golden path here.") == len(figures.examples)
    for example in figures.examples:
        assert example.task_id in page.shown
        assert example.failure in page.shown
    assert "Failed checks" in page.shown
    assert "before: careless" in page.shown


def test_hostile_text_makes_no_element(small: Path, agents: dict[str, Path], tmp_path: Path) -> None:
    good, idle = (on_tasks_that_write(small, agents[name])[0] for name in ("oracle", "nothing"))

    def page(text: str, folder: Path) -> Page:
        said = [
            {**message, "content": text} if message["role"] == "assistant" else message for message in idle["messages"]
        ]
        calls: list[Recorded] = [{"name": text, "arguments": {text: text}}, {"name": text, "arguments": text}]
        bad = with_calls({**idle, "messages": said, "agent": {**idle["agent"], "backend": text}}, calls)
        folders = write_records(folder / "before", [bad]), write_records(folder / "after", [good])
        traced(*folders, small, folder / "to", (text, text))
        return Page(folder / "to" / "traces.html")

    plain, hostile = page("plain", tmp_path / "plain"), page(HOSTILE, tmp_path / "hostile")
    require_inert(hostile)
    assert [tag for tag in hostile.tags if tag != "wbr"] == [tag for tag in plain.tags if tag != "wbr"]
    assert [name for name, _ in hostile.attributes] == [name for name, _ in plain.attributes]
    assert "document.title='owned'" in hostile.shown


def test_torn_lines_and_trajectories_without_a_score_are_counted(
    small: Path, agents: dict[str, Path], tmp_path: Path
) -> None:
    good = on_tasks_that_write(small, agents["oracle"])[:3]
    lost = {**good[2], "error": {"kind": "provider", "message": "down"}}
    before = write_records(tmp_path / "before", [good[0], {**good[1], "dataset": "0" * 64}, lost])
    with (before / "all.jsonl").open("a") as stream:
        stream.write('{"id": "torn')
    figures = traced(before, write_records(tmp_path / "after", good), small, tmp_path / "to")
    assert figures.before.not_scored == {"dataset": 1, "provider": 1}
    assert (figures.before.trajectories, figures.before.scored, figures.passes.tasks) == (3, 1, 1)
    assert (figures.before.unreadable_lines, figures.passes.only_b) == (1, 2)
    assert "torn" in figures.before.unreadable[0]
    assert "all.jsonl, line 4" in Page(tmp_path / "to" / "traces.html").shown


def test_what_cannot_be_compared_gives_one_clear_line(small: Path, agents: dict[str, Path], tmp_path: Path) -> None:
    good = on_tasks_that_write(small, agents["oracle"])
    first = write_records(tmp_path / "first", good[:2])
    folders = {
        "no task has scored trajectories in both": write_records(tmp_path / "others", good[2:]),
        "with --outputs": write_records(tmp_path / "foreign", [{**record, "dataset": "0" * 64} for record in good]),
        "give a folder for each": write_records(
            tmp_path / "two", [good[0], {**good[0], "agent": {**good[0]["agent"], "backend": "offline/other"}}]
        ),
        "holds no [*].jsonl": tmp_path / "empty",
        "there is no rollouts folder": tmp_path / "missing",
        "holds no trajectory": write_records(tmp_path / "none", [{"id": "x"}]),
    }
    (tmp_path / "empty").mkdir()
    for words, folder in folders.items():
        with in_place(), pytest.raises(ConfigError, match=words):
            write_traces(first, folder, small, tmp_path / "to")
        assert not (tmp_path / "to" / "traces.json").exists()


def test_examples_of_other_worlds_and_classes_come_first() -> None:
    classes = {"a-1": "other", "a-2": "other", "a-3": "loop", "b-1": "other", "b-2": "ran_out", "b-3": "loop"}
    before = [a_result(id, passed=False, failure=a_failure(name), world=id[0].upper()) for id, name in classes.items()]
    after = [a_result(id, world=id[0].upper()) for id in classes]
    [passes] = compare(results_by_agent(before), results_by_agent(after))
    chosen = chosen_examples(paired_results(before, after), passes)
    assert [example.task_id for example in chosen] == ["a-1", "b-2", "a-3", "b-1"]
    assert {example.move for example in chosen} == {"gained"}


def test_trials_of_a_task_are_paired_in_their_order() -> None:
    before = [a_result("t", 3), a_result("t", 1), a_result("u", 0)]
    after = [a_result("t", 0), a_result("t", 5), a_result("t", 9), a_result("v", 0)]
    pairs = [(pair.before.trial, pair.after.trial) for pair in paired_results(before, after)]
    assert pairs == [(1, 0), (3, 5)]


def test_a_dataset_and_several_runs_are_no_side_and_other_folders_are_not_written_to(
    small: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text("{}")
    one = tmp_path / "runs" / "a"
    several = ran(
        "learn", "traces", str(one), str(tmp_path / "runs"), "--to", str(tmp_path / "t"), "--outputs", str(small)
    )
    assert "holds the trajectories of 2 runs" in several.stderr
    dataset = ran("learn", "traces", str(one), str(small), "--to", str(tmp_path / "t"), "--outputs", str(small))
    assert "is a dataset" in dataset.stderr
    written = ran("learn", "traces", str(one), str(one), "--to", str(tmp_path / "runs"), "--outputs", str(small))
    assert "holds 'a' and no traces" in written.stderr
    assert [done.returncode for done in (several, dataset, written)] == [2, 2, 2]
    assert not (tmp_path / "t").exists()

"""The evaluator on a dataset that the pipeline has made, by the commands that users give."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from skillweave.world.dataset import Dataset
from synth.reports.card import card_of
from synth.verification.dataset import card_faults
from tests.commands import Done, ran
from tests.pipeline.small import ROOT
from tests.pipeline.test_rollouts import rolled_out, tasks_of
from tests.shared import copied
from tests.waiting import HANG, is_running, wait_until

Record = dict[str, Any]
FEW = ("--limit", "20", "--trials", "2")
"""More than one batch of trajectories."""


def evaluated(small: Path, rollouts: Path, output: Path, *more: str) -> Done:
    """The command that others rely on."""
    return ran(*told(small, rollouts, output), *more)


def told(small: Path, rollouts: Path, output: Path) -> list[str]:
    places = ["--rollouts-dir", str(rollouts), "--outputs-dir", str(small), "--mcp-outputs-dir", str(small)]
    return ["evaluator", "run", "--mode", "all", *places, "--output", str(output)]


def lines_of(path: Path) -> list[Record]:
    return sorted((json.loads(line) for line in path.read_text().splitlines()), key=lambda one: str(one["id"]))


def by_id(path: Path) -> dict[str, Record]:
    found = {record["id"]: record for record in lines_of(path)}
    assert len(found) == len(path.read_text().splitlines())
    return found


@pytest.fixture(scope="module")
def oracle(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("oracle")
    rolled_out(small, folder, *FEW)
    return folder


@pytest.fixture(scope="module")
def careless(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("careless")
    rolled_out(small, folder, "--agent", "offline/careless", *FEW)
    return folder


@pytest.fixture
def edited(oracle: Path, tmp_path: Path) -> Callable[[Callable[[Record], None]], Path]:
    """Rollouts of the oracle, each changed in one way."""

    def edit(change: Callable[[Record], None]) -> Path:
        folder = tmp_path / "edited"
        folder.mkdir()
        for path in oracle.glob("*.jsonl"):
            records = lines_of(path)
            for record in records:
                change(record)
            (folder / path.name).write_text("".join(json.dumps(record) + "\n" for record in records))
        return folder

    return edit


def test_the_oracle_passes_and_every_result_says_so(small: Path, oracle: Path, tmp_path: Path) -> None:
    outputs = copied(small, tmp_path / "outputs")
    output = outputs / "evaluation" / "results.jsonl"
    done = evaluated(outputs, oracle, output)
    assert done.returncode == 0, done.stdout + done.stderr
    results = by_id(output)
    assert {result["passed"] for result in results.values()} == {True}
    assert {result["failure"] for result in results.values()} == {None}
    assert {result["checks"]["replay"]["differs"] == [] for result in results.values()} == {True}
    assert {result["floor_nothing"] for result in results.values()} == {0.0}
    summary = json.loads((output.parent / "summary.json").read_text())
    assert [one["overall"]["rate"] for one in summary["by_agent"]] == [1.0]
    assert (output.parent / "report.html").is_file()
    assert "## Simulated users" in card_of(Dataset(outputs), "unknown")
    assert card_faults(Dataset(outputs)) == [], "a card that was made before an evaluation is none the worse"
    assert done.stdout.splitlines()[-1].startswith(f"wrote {output}; next: ")


def test_scores_are_those_that_the_rollouts_saw(small: Path, careless: Path, tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    assert evaluated(small, careless, output).returncode == 0
    seen = {one["id"]: one["score"] for path in careless.glob("*.jsonl") for one in lines_of(path)}
    results = by_id(output)
    assert {id: one["reward"] for id, one in results.items()} == {id: one["reward"] for id, one in seen.items()}
    assert 0 < sum(one["passed"] for one in results.values()) < len(results)
    for one in results.values():
        assert (one["failure"] is None) is one["passed"]


def test_what_is_recorded_of_results_and_scores_is_no_evidence(
    small: Path, tmp_path: Path, edited: Callable[[Callable[[Record], None]], Path]
) -> None:
    def forge(record: Record) -> None:
        record["messages"] = [one for one in record["messages"] if not one.get("tool_calls")]
        record["score"] = {"passed": True, "reward": 1.0, "checks": {}}
        record["metadata"] = {"tool_call_count": 99}

    output = tmp_path / "results.jsonl"
    assert evaluated(small, edited(forge), output).returncode == 0
    results = [one for one in lines_of(output) if one["kind"] == "do"]
    assert results
    assert {one["passed"] for one in results} == {False}


def _prefixed(record: Record) -> None:
    for call in _calls(record):
        call["function"]["name"] = f"{record['world']}__{call['function']['name']}"


def _objects(record: Record) -> None:
    for call in _calls(record):
        given = call["function"]["arguments"]
        call["function"]["arguments"] = json.loads(given) if isinstance(given, str) else given


def _texts(record: Record) -> None:
    for call in _calls(record):
        given = call["function"]["arguments"]
        call["function"]["arguments"] = given if isinstance(given, str) else json.dumps(given)


def _without_results(record: Record) -> None:
    record["messages"] = [one for one in record["messages"] if one["role"] != "tool"]


def _forged_results(record: Record) -> None:
    for one in record["messages"]:
        if one["role"] == "tool":
            one["content"] = '{"error": {"code": "gone"}}'


def _calls(record: Record) -> list[Record]:
    return [call for one in record["messages"] for call in one.get("tool_calls") or ()]


def test_the_same_calls_written_in_other_ways_are_scored_the_same(
    small: Path, tmp_path: Path, edited: Callable[[Callable[[Record], None]], Path]
) -> None:
    ways = cycle([_prefixed, _objects, _texts, _without_results, _forged_results])
    forged: set[str] = set()

    def rewrite(record: Record) -> None:
        way = next(ways)
        way(record)
        if way is _forged_results and _calls(record):
            forged.add(record["id"])

    output = tmp_path / "results.jsonl"
    assert evaluated(small, edited(rewrite), output).returncode == 0
    results = lines_of(output)
    assert {one["passed"] for one in results} == {True}
    noted = {one["id"] for one in results if one["checks"]["replay"]["differs"]}
    assert noted
    assert noted <= forged


def test_bad_lines_cost_only_themselves(small: Path, oracle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    good = lines_of(next(iter(sorted(oracle.glob("*.jsonl")))))[:6]
    unknown = {**good[0], "id": "NoSuch-1#0", "task_id": "NoSuch-1"}
    other = {**good[1], "id": f"{good[1]['task_id']}#7", "dataset": "0" * 64}
    lost = {**good[2], "id": f"{good[2]['task_id']}#8", "error": {"kind": "provider", "message": "503"}}
    odd = {**good[3], "id": f"{good[3]['task_id']}#9", "messages": [{"role": "assistant", "tool_calls": "x"}]}
    records = [*good, unknown, other, lost, odd]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "any name.jsonl").write_text("garbage\n" + text + json.dumps(good[0])[:-30])
    output = tmp_path / "out" / "results.jsonl"
    done = evaluated(small, folder, output)
    assert done.returncode == 1
    assert done.stderr == ""
    results = by_id(output)
    assert sorted(results) == sorted(record["id"] for record in records)
    assert [results[one["id"]]["passed"] for one in good] == [True] * 6
    kinds = {id: one["error"]["kind"] for id, one in results.items() if one["error"]}
    assert kinds == {unknown["id"]: "task", other["id"]: "dataset", lost["id"]: "provider", odd["id"]: "trajectory"}
    assert {(one["passed"], one["reward"]) for one in results.values() if one["error"]} == {(None, None)}
    assert "line 1: not JSON" in done.stdout
    assert "line 12: torn" in done.stdout
    summary = json.loads((output.parent / "summary.json").read_text())
    [found] = summary["by_agent"]
    assert (found["trajectories"], found["scored"], summary["unreadable_lines"]) == (10, 6, 2)
    assert found["not_scored"] == {"dataset": 1, "provider": 1, "task": 1, "trajectory": 1}


def test_a_missing_world_and_a_golden_that_does_not_replay_are_errors_of_the_dataset(
    small: Path, oracle: Path, tmp_path: Path
) -> None:
    worlds = sorted(path.stem for path in (small / "queries").glob("*.jsonl"))
    copied = tmp_path / "outputs"
    subprocess.run(["cp", "-r", str(small), str(copied)], check=True)
    (copied / "database" / f"{worlds[0]}.sqlite").unlink()
    path = copied / "queries" / f"{worlds[1]}.jsonl"
    tasks = lines_of(path)
    for task in tasks:
        task["criteria"]["state"] = [{"table": "nowhere", "op": "delete", "key": {"id": "X"}, "before": {"id": "X"}}]
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    rollouts = tmp_path / "rollouts"
    rollouts.mkdir()
    records = [one for source in sorted(oracle.glob("*.jsonl")) for one in lines_of(source)]
    for record in records:
        del record["dataset"], record["task_digest"]
    (rollouts / "w.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    output = tmp_path / "results.jsonl"
    assert evaluated(copied, rollouts, output).returncode == 1
    found = {(one["world"], one["error"]["kind"], one["passed"]) for one in lines_of(output)}
    assert found == {(worlds[0], "world", None), (worlds[1], "dataset", None)}


def test_what_is_there_is_not_made_again_and_what_changed_is(small: Path, oracle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rollouts"
    folder.mkdir()
    records = [one for path in sorted(oracle.glob("*.jsonl")) for one in lines_of(path)]
    (folder / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records[:-1]))
    output = tmp_path / "results.jsonl"
    assert evaluated(small, folder, output).returncode == 0
    first = output.read_text()
    again = evaluated(small, folder, output)
    assert f"{len(records) - 1} results were there already" in again.stdout
    assert output.read_text() == first
    changed = {**records[0], "messages": records[0]["messages"][:2]}
    (folder / "b.jsonl").write_text(json.dumps(changed) + "\n" + json.dumps(records[-1]) + "\n")
    output.write_text(first + '{"torn')
    third = evaluated(small, folder, output)
    assert "2 earlier results are of other trajectories" in third.stdout
    assert (tmp_path / "results.before.jsonl").read_text() == first + '{"torn'
    results = by_id(output)
    assert len(results) == len(records)
    assert results[changed["id"]]["passed"] is False
    assert results[records[-1]["id"]]["passed"] is True


def test_any_number_of_workers_gives_the_same_lines(small: Path, careless: Path, tmp_path: Path) -> None:
    found = []
    for workers in ("1", "3"):
        output = tmp_path / workers / "results.jsonl"
        assert evaluated(small, careless, output, "--max-workers", workers).returncode == 0
        found.append((lines_of(output), (output.parent / "summary.json").read_text()))
    assert found[0] == found[1]


HALTS = """
import os, time
from pathlib import Path
from evaluator.checks import CHECKS, Check, Trial
from skillweave.schema.record import Record

class Halt(Record):
    score: float = 1.0

def halt(trial: Trial) -> Halt:
    mark = Path(os.environ["HALT_MARK"])
    if trial.task.id == os.environ["HALT_AT"] and mark.exists():
        mark.write_text(f"{os.getpid()}\\n")
        while mark.exists():
            time.sleep(0.01)
    return Halt()

CHECKS.register("halt", Check(halt))
"""
"""A check that halts at a task while there is a mark, and notes in which process."""


@pytest.mark.parametrize("victim", ["worker", "program"])
def test_a_killed_process_loses_nothing(small: Path, careless: Path, tmp_path: Path, victim: str) -> None:
    output, mark = tmp_path / "results.jsonl", tmp_path / "mark"
    (tmp_path / "halts.py").write_text(HALTS)
    last = max(one["task_id"] for path in careless.glob("*.jsonl") for one in lines_of(path))
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    variables = {**os.environ, "PYTHONPATH": path, "HALT_AT": last, "HALT_MARK": str(mark)}

    def begun() -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", *told(small, careless, output), "--max-workers", "2", "--plugin", "halts"]
        return subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL)

    mark.touch()
    process = begun()
    wait_until(lambda: mark.read_text().endswith("\n") and output.is_file() and output.stat().st_size > 0)
    worker = int(mark.read_text())
    os.kill(worker if victim == "worker" else process.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(worker))
    mark.unlink()
    assert process.wait(HANG) == (0 if victim == "worker" else -signal.SIGKILL)
    assert victim == "worker" or begun().wait(HANG) == 0
    whole = tmp_path / "whole" / "results.jsonl"
    assert evaluated(small, careless, whole).returncode == 0
    assert [_without_own(one) for one in lines_of(output)] == [_without_own(one) for one in lines_of(whole)]


def _without_own(result: Record) -> Record:
    """A result without what the check that halts adds to it."""
    of_all_checks = {"checks_version": None, "trajectory_digest": None}
    return {**result, **of_all_checks, "checks": {**result["checks"], "own": None}}


def test_single_prune_show_compare_rescore_and_teach(small: Path, oracle: Path, careless: Path, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "oracle", tmp_path / "careless"
    assert evaluated(small, oracle, ours / "results.jsonl").returncode == 0
    assert evaluated(small, careless, theirs / "results.jsonl").returncode == 0
    places = ["--outputs-dir", str(small), "--rollouts-dir", str(careless)]

    single = tmp_path / "single.jsonl"
    options = ["--mode", "single", "--evaluator", "state", "--output", str(single)]
    assert ran("evaluator", "run", *places, *options).returncode == 0
    assert {tuple(k for k, v in one["checks"].items() if v) for one in lines_of(single)} == {("state",)}

    pruned = ran("evaluator", "run", *places, "--mode", "prune", "--output", str(tmp_path / "p" / "results.jsonl"))
    assert pruned.returncode == 0
    assert {one["task_id"] for one in lines_of_pruned(tmp_path / "p" / "pruned.jsonl")} == tasks_of(small).keys()

    failed = next(one for one in lines_of(theirs / "results.jsonl") if not one["passed"])
    shown = ran("evaluator", "show", failed["id"], *places)
    assert shown.returncode == 0
    assert failed["failure"]["class"] in shown.stdout

    compared = ran("evaluator", "compare", str(theirs), str(ours), "--output", str(tmp_path / "c.json"))
    assert compared.returncode == 0, compared.stderr
    [found] = json.loads((tmp_path / "c.json").read_text())["comparisons"]
    assert found["difference"] > 0

    taught = ran("evaluator", "teach", str(theirs))
    assert taught.returncode == 0, taught.stderr
    never = (theirs / "never_solved.jsonl").read_text().splitlines()
    solved = (theirs / "taught_tasks.txt").read_text().splitlines()
    assert len(never) + len(solved) == len({one["task_id"] for one in lines_of(single)})

    results = theirs / "results.jsonl"
    assert ran("evaluator", "rescore", *places, "--output", str(results)).returncode == 0
    assert (theirs / "flips.jsonl").read_text() == ""
    assert lines_of(theirs / "results.before.jsonl") == lines_of(results)
    flipped = {**failed, "passed": True, "checks_version": "0", "failure": None}
    rest = [one for one in lines_of(results) if one["id"] != failed["id"]]
    results.write_text("".join(json.dumps(one) + "\n" for one in [*rest, flipped]))
    begun = rest[: len(rest) // 2]
    results.with_name("results.rescored.jsonl").write_text("".join(json.dumps(one) + "\n" for one in begun))
    resumed = ran("evaluator", "rescore", *places, "--output", str(results))
    assert resumed.returncode == 0
    assert f"{len(begun)} results were there already" in resumed.stdout
    flips = [json.loads(line) for line in (theirs / "flips.jsonl").read_text().splitlines()]
    assert [(one["id"], one["before"], one["after"], one["version_before"]) for one in flips] == [
        (failed["id"], True, False, "0")
    ]


def test_two_agents_in_one_folder_are_never_counted_together(
    small: Path, oracle: Path, careless: Path, tmp_path: Path
) -> None:
    rollouts, output = tmp_path / "rollouts", tmp_path / "e" / "results.jsonl"
    shutil.copytree(oracle, rollouts / "oracle")
    shutil.copytree(careless, rollouts / "careless")
    done = evaluated(small, rollouts, output)
    assert done.returncode == 0, done.stdout + done.stderr
    alone = tmp_path / "alone" / "results.jsonl"
    evaluated(small, careless, alone)
    ours, theirs = json.loads(output.with_name("summary.json").read_text())["by_agent"][::-1]
    assert (ours["agent"], theirs["agent"]) == ("offline/oracle", "offline/careless")
    assert [theirs] == json.loads(alone.with_name("summary.json").read_text())["by_agent"]
    assert ours["overall"]["pass_hat_k"]["2"]["estimate"] == 1.0
    assert theirs["overall"]["rate"] < 1.0

    places = ["--outputs-dir", str(small), "--rollouts-dir", str(rollouts)]
    id = next(one["id"] for one in lines_of(alone) if not one["passed"])
    both = ran("evaluator", "show", id, *places).stdout
    mine = ran("evaluator", "show", id, "--agent", "offline/oracle", *places).stdout
    assert ("agent offline/careless" in both, "agent offline/oracle" in both) == (True, True)
    assert ("agent offline/careless" in mine, "agent offline/oracle" in mine) == (False, True)
    unknown = ran("evaluator", "show", id, "--agent", "nobody", *places)
    assert (unknown.returncode, "offline/careless with offline/user" in unknown.stderr) == (2, True)

    compared = ran("evaluator", "compare", str(output), "--agent", "offline/careless", "--agent", "offline/oracle")
    assert "offline/oracle 100.0%" in compared.stdout
    assert ran("evaluator", "compare", str(alone)).returncode == 2
    taught = ran("evaluator", "teach", str(output))
    assert (taught.returncode, "Choose one with --agent" in taught.stderr) == (2, True)
    assert ran("evaluator", "teach", str(output), "--agent", "offline/careless").returncode == 0
    assert {json.loads(line)["model"] for line in output.with_name("taught.jsonl").open()} == {"offline/careless"}


def lines_of_pruned(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    "name", ["w.jsonl", "queries.jsonl", "summary.json", "report.html", "folder.jsonl", "pipe.jsonl"]
)
def test_an_output_takes_the_place_of_nothing_else(small: Path, oracle: Path, tmp_path: Path, name: str) -> None:
    rollouts, output = tmp_path / "rollouts", tmp_path / "rollouts" / name
    shutil.copytree(oracle, rollouts)
    sorted(rollouts.glob("*.jsonl"))[0].rename(rollouts / "w.jsonl")
    shutil.copyfile(sorted((small / "queries").glob("*.jsonl"))[0], rollouts / "queries.jsonl")
    (rollouts / "folder.jsonl").mkdir()
    os.mkfifo(rollouts / "pipe.jsonl")
    before = {path: path.read_bytes() for path in rollouts.iterdir() if path.is_file()}
    done = evaluated(small, rollouts, output)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in rollouts.iterdir() if path.is_file()} == before


def test_usage_that_nobody_has_is_unknown_and_costs_no_score(
    small: Path, tmp_path: Path, edited: Callable[[Callable[[Record], None]], Path]
) -> None:
    costs = [1e300, -3.0]

    def spoil(record: Record) -> None:
        number = len(record["messages"]) % len(costs)
        record["usage"]["agent"] = {"input_tokens": 10**40 if number else -5, "cost_usd": costs[number]}

    output = tmp_path / "results.jsonl"
    done = evaluated(small, edited(spoil), output)
    assert done.returncode == 0, done.stdout + done.stderr
    results = lines_of(output)
    assert all(one["usage"] is None for one in results)
    assert {one["passed"] for one in results} == {True}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--mode", "sigle"], "did you mean 'single'"),
        (["--mode", "single"], "--evaluator NAME"),
        (["--evaluator", "state"], "--mode single"),
        (["--mode", "single", "--evaluator", "sate"], "did you mean 'state'"),
        (["-v", "-q"], "opposite"),
        (["--max-workers", "0"], "max_workers"),
        (["--rollouts-dir", "/nowhere"], "no rollouts folder"),
        (["--outputs-dir", "/nowhere"], "no outputs folder"),
        (["--output", "."], "must end in .jsonl"),
        (["--set", "evaluation.tpyo=1"], "tpyo"),
        (["--enable-subjective"], "llm.judge"),
    ],
)
def test_wrong_usage_is_one_line(small: Path, oracle: Path, tmp_path: Path, arguments: list[str], named: str) -> None:
    done = ran(*told(small, oracle, tmp_path / "results.jsonl"), *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert named in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "results.jsonl").exists()

"""Which trajectories an export takes: by rewards of the evaluator, by conditions, once each, and the best of a task."""

import json
from collections import Counter
from pathlib import Path

import pytest

from interop.export.selection import first_difference
from tests.commands import ran
from tests.interop.export.exports import Record, export, exported, records_in, write_records


def with_agent_words(record: Record, words: str) -> Record:
    """The trajectory, with other last words of the agent."""
    messages = [dict(message) for message in record["messages"]]
    last = max(place for place, message in enumerate(messages) if message["role"] == "assistant")
    messages[last]["content"] = (messages[last]["content"] or "") + words
    return {**record, "messages": messages}


def test_the_recorded_score_is_no_evidence(small: Path, trajectories: Path, tmp_path: Path) -> None:
    honest = exported("openai", small, tmp_path / "honest", rollouts=trajectories)
    forged = [{**record, "score": {"passed": True, "reward": 1.0, "checks": {}}} for record in records_in(trajectories)]
    rollouts = write_records(tmp_path / "forged", forged)
    assert exported("openai", small, tmp_path / "to", rollouts=rollouts) == honest


@pytest.mark.parametrize("forged", [{"reward": 1.0, "passed": True}, {"trajectory_digest": "0" * 64}])
def test_results_of_other_lines_are_made_again(small: Path, trajectories: Path, tmp_path: Path, forged: Record) -> None:
    results = tmp_path / "results.jsonl"
    lines = [
        {
            "id": record["id"],
            "agent": record["agent"]["backend"],
            "user": "offline/user",
            "trajectory_digest": "",
            **forged,
        }
        for record in records_in(trajectories)
    ]
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    honest = exported("openai", small, tmp_path / "honest", rollouts=trajectories)
    assert exported("openai", small, tmp_path / "to", "--results", str(results), rollouts=trajectories) == honest


def test_a_result_that_contradicts_its_checks_is_made_again(small: Path, trajectories: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    places = ["--rollouts-dir", str(trajectories), "--outputs-dir", str(small), "--output", str(results)]
    done = ran("evaluator", "run", *places, "--max-workers", "1")
    assert done.returncode == 0, done.stderr
    made = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    assert {one["passed"] for one in made} == {True, False}
    honest = exported("openai", small, tmp_path / "honest", "--results", str(results), rollouts=trajectories)
    for reward in (1.0, 7.0, "1"):
        forged = [{**one, "reward": reward, "passed": True} for one in made]
        results.write_text("".join(json.dumps(one) + "\n" for one in forged))
        to = tmp_path / f"to {reward!r}"
        assert exported("openai", small, to, "--results", str(results), rollouts=trajectories) == honest


def test_what_a_line_says_of_prompt_and_results_is_not_trained_on(
    small: Path, trajectories: Path, tmp_path: Path
) -> None:
    def with_system(record: Record) -> Record:
        messages = [
            {**message, "content": "OWNED"} if message["role"] == "system" else message
            for message in record["messages"]
        ]
        return {**record, "messages": messages}

    def with_results(record: Record) -> Record:
        messages = [
            {**message, "content": "{}"} if message["role"] == "tool" else message for message in record["messages"]
        ]
        return {**record, "messages": messages}

    records = records_in(trajectories)
    honest = exported("openai", small, tmp_path / "honest", rollouts=trajectories)
    owned = write_records(tmp_path / "owned", [*map(with_system, records)])
    assert exported("openai", small, tmp_path / "a", rollouts=owned) == honest
    forged = write_records(tmp_path / "forged", [*map(with_results, records)])
    done = export("openai", small, tmp_path / "b", rollouts=forged)
    assert done.returncode == 2
    assert "not differs==0" in done.stderr


def test_conditions_choose(small: Path, trajectories: Path, tmp_path: Path) -> None:
    every = exported("openai", small, tmp_path / "all", "--where", "all", "--keep-duplicates", rollouts=trajectories)
    assert len(every) == len(records_in(trajectories))
    failing = exported(
        "openai", small, tmp_path / "bad", "--where", "reward<1", "--keep-duplicates", rollouts=trajectories
    )
    passing = exported("openai", small, tmp_path / "good", "--keep-duplicates", rollouts=trajectories)
    assert len(failing) + len(passing) == len(every)
    careless = exported(
        "openai",
        small,
        tmp_path / "careless",
        "--where",
        "agent == offline/careless",
        "--where",
        "calls>=1",
        rollouts=trajectories,
    )
    assert 0 < len(careless) < len(passing)


@pytest.mark.parametrize(
    ("condition", "complaint"),
    [
        ("rewards==1", "did you mean 'reward'"),
        ("reward=1", "write FIELD OP VALUE"),
        ("reward==high", "'high' is none"),
        ("passed==maybe", "true or false"),
        ("kind<do", "== or !="),
        ("split==tests", "did you mean 'test'"),
    ],
)
def test_a_wrong_condition_gives_one_line(
    small: Path, trajectories: Path, tmp_path: Path, condition: str, complaint: str
) -> None:
    done = export("openai", small, tmp_path / "to", "--where", condition, rollouts=trajectories)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_equal_agents_messages_count_once_whatever_their_ids(small: Path, trajectories: Path, tmp_path: Path) -> None:
    record = next(record for record in records_in(trajectories) if record["score"]["passed"])
    text = json.dumps(record["messages"])
    for message in record["messages"]:
        for call in message.get("tool_calls") or ():
            text = text.replace(json.dumps(call["id"]), json.dumps(f"other-{call['id']}"))
    again = {**record, "id": f"{record['task_id']}#7", "trial": 7, "messages": json.loads(text)}
    other = {**with_agent_words(record, " Goodbye."), "id": f"{record['task_id']}#8", "trial": 8}
    rollouts = write_records(tmp_path / "rollouts", [other, again, record])
    assert len(exported("openai", small, tmp_path / "once", rollouts=rollouts)) == 2
    assert len(exported("openai", small, tmp_path / "all", "--keep-duplicates", rollouts=rollouts)) == 3
    best = exported("openai", small, tmp_path / "best", "--per-task", "1", rollouts=rollouts)
    assert [row["messages"][-1]["content"] for row in best] == [
        max((m for m in record["messages"] if m["role"] == "assistant"), key=record["messages"].index)["content"]
    ]


def test_hostile_lines_are_left_out_and_counted(small: Path, trajectories: Path, tmp_path: Path) -> None:
    records = [record for record in records_in(trajectories) if record["score"]["passed"]]
    lost = {**records[0], "id": f"{records[0]['task_id']}#5", "error": {"kind": "provider", "message": "gone"}}
    unknown = {**records[0], "id": "Nowhere-1#0", "task_id": "Nowhere-1"}
    silent = {**records[0], "id": f"{records[0]['task_id']}#6", "messages": records[0]["messages"][:2]}
    rollouts = write_records(tmp_path / "rollouts", [*records, lost, unknown, silent])
    with (rollouts / "all.jsonl").open("ab") as stream:
        stream.write(b'[1]\n{"id": 3}\n\xff\xfe\n{"id": "x#0", "messages": [[[')
    done = export("openai", small, tmp_path / "to", "--where", "all", rollouts=rollouts)
    assert done.returncode == 0, done.stderr
    for reason in ("4 (a line that is no trajectory)", "1 (not scored: provider error)", "dataset does not have"):
        assert reason in done.stdout
    assert "the agent says nothing" in (tmp_path / "to" / "README.md").read_text()


def test_pairs_that_part_at_the_user_are_none() -> None:
    agent, user = b"\1" * 8, b"\0" * 8
    assert first_difference([user, agent], [user, b"\1" + b"\2" * 7]) == 1
    assert first_difference([user, agent], [b"\0" + b"\2" * 7, agent]) is None
    assert first_difference([user, agent], [user, agent, user]) is None


def test_a_split_is_a_file(small: Path, trajectories: Path, tmp_path: Path) -> None:
    splits = Counter(
        task["split"] for path in (small / "queries").glob("*.jsonl") for task in map(json.loads, path.open())
    )
    rows = exported("agenteval", small, tmp_path / "all")
    assert len(rows) == sum(splits.values())
    assert len(exported("agenteval", small, tmp_path / "train", "--split", "train")) == splits["train"]
    assert not (tmp_path / "train" / "test.json").exists()


def two_folders(trajectories: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The same trajectories, each agent's in a folder of its own."""
    of_agent: dict[str, list[Record]] = {}
    for record in records_in(trajectories):
        of_agent.setdefault(record["agent"]["backend"], []).append(record)
    oracle, careless = (
        write_records(tmp_path / name.replace("/", "-"), of_agent[name]) for name in sorted(of_agent)[::-1]
    )
    return oracle, careless


def test_pairs_are_made_of_agents_in_several_folders(small: Path, trajectories: Path, tmp_path: Path) -> None:
    oracle, careless = two_folders(trajectories, tmp_path)
    together = exported("dpo", small, tmp_path / "one folder", rollouts=trajectories)
    apart = exported("dpo", small, tmp_path / "two folders", "--rollouts", str(careless), rollouts=oracle)
    turned = exported("dpo", small, tmp_path / "turned", "--rollouts", str(oracle), rollouts=careless)
    assert together == apart == turned
    assert len(together) > 0
    alone = export("dpo", small, tmp_path / "alone", rollouts=oracle)
    assert alone.returncode == 2, "one of the two has nothing to pair"


@pytest.mark.parametrize("format", ["openai", "trl-sft", "sharegpt", "ms-swift", "agenttraj"])
def test_ids_are_a_folder_s_own(small: Path, trajectories: Path, tmp_path: Path, format: str) -> None:
    first = write_records(tmp_path / "first", records_in(trajectories))
    second = write_records(
        tmp_path / "second", [with_agent_words(record, " And that is all.") for record in records_in(trajectories)]
    )
    every = ("--where", "all", "--keep-duplicates")
    one = exported(format, small, tmp_path / "a", *every, rollouts=first)
    other = exported(format, small, tmp_path / "b", *every, rollouts=second)
    both = exported(format, small, tmp_path / "c", *every, "--rollouts", str(second), rollouts=first)
    assert sorted(map(json.dumps, both)) == sorted(map(json.dumps, [*one, *other]))
    again = exported(format, small, tmp_path / "d", *every, "--rollouts", str(first), rollouts=second)
    assert both == again


def test_the_same_file_twice_is_refused(small: Path, trajectories: Path, tmp_path: Path) -> None:
    for again in (trajectories, trajectories / "all.jsonl", trajectories / ".." / trajectories.name):
        done = export("openai", small, tmp_path / "to", "--rollouts", str(again), rollouts=trajectories)
        assert done.returncode == 2
        [line] = done.stderr.splitlines()
        assert "both hold 'all.jsonl'; give each folder once" in line


@pytest.mark.parametrize(
    "changed", [{"task_id": "Elsewhere-0001", "id": "Elsewhere-0001#0"}, {"task_digest": "0" * 64}]
)
def test_a_folder_of_another_dataset_is_refused(
    small: Path, trajectories: Path, tmp_path: Path, changed: Record
) -> None:
    records = [{**record, **changed} for record in records_in(trajectories)]
    other = write_records(tmp_path / "other", records)
    done = export("openai", small, tmp_path / "to", "--rollouts", str(other), rollouts=trajectories)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert f"--rollouts {str(other)!r} is of another dataset" in line
    assert "--outputs" in line


def test_null_for_an_optional_argument_scores_as_leaving_it_out(
    small: Path, trajectories: Path, tmp_path: Path
) -> None:
    tools = {
        tool["function"]["name"]: tool
        for file in (small / "tool_lists").glob("*.json")
        for tool in json.loads(file.read_text())
    }
    count = 0

    def with_nulls(record: Record) -> Record:
        nonlocal count
        messages = json.loads(json.dumps(record["messages"]))
        for call in (call["function"] for message in messages for call in message.get("tool_calls") or ()):
            given = json.loads(call["arguments"]) if isinstance(call["arguments"], str) else call["arguments"]
            if call["name"] not in tools:  # a careless agent's
                continue
            schema = tools[call["name"]]["function"]["parameters"]
            nulls = {name: None for name in schema["properties"] if name not in schema["required"]}
            count += len(nulls.keys() - given.keys())
            call["arguments"] = json.dumps({**nulls, **given})
        return {**record, "messages": messages}

    honest = exported("openai", small, tmp_path / "honest", rollouts=trajectories)
    rollouts = write_records(tmp_path / "nulls", [*map(with_nulls, records_in(trajectories))])
    assert len(exported("openai", small, tmp_path / "to", rollouts=rollouts)) == len(honest)
    assert count > 0

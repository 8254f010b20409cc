"""What each format of trajectories holds: the conversation whole, in the form that its loader takes."""

import json
from pathlib import Path

from skillweave.llm.history import valid_name
from skillweave.text_calls import read_text
from tests.interop.export.exports import Record, export, exported, records_in, rows_in, write_records


def passing(trajectories: Path) -> list[Record]:
    """Trajectories that passed when they were held."""
    return [record for record in records_in(trajectories) if record["score"]["passed"]]


def calls_in(messages: list[Record]) -> list[tuple[str, Record]]:
    """The calls of a conversation."""
    calls = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
    return [(call["name"], json.loads(call["arguments"])) for call in calls]


def test_openai_rows_are_conversations_that_end_with_the_agent(small: Path, trajectories: Path, tmp_path: Path) -> None:
    rows = exported("openai", small, tmp_path, "--keep-duplicates", rollouts=trajectories)
    assert len(rows) == len(passing(trajectories))
    for row in rows:
        messages = row["messages"]
        assert [message["role"] for message in messages[:2]] == ["system", "user"]
        assert messages[-1]["role"] == "assistant"
        assert not any(value is None for message in messages for value in message.values())
        assert {message.get("weight") for message in messages if message["role"] == "assistant"} == {1}
        ids = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        assert ids[: len(answered)] == answered
        assert len({*ids}) == len(ids)
        assert {name for name, _ in calls_in(messages)} <= {tool["function"]["name"] for tool in row["tools"]}
    assert "###STOP###" not in json.dumps(rows)


def test_trl_rows_have_arguments_as_objects_and_tools_as_text(small: Path, trajectories: Path, tmp_path: Path) -> None:
    rows = exported("trl-sft", small, tmp_path / "trl", rollouts=trajectories)
    plain = exported("openai", small, tmp_path / "openai", rollouts=trajectories)
    for row, of in zip(rows, plain, strict=True):
        assert json.loads(row["tools"]) == of["tools"]
        calls = [call["function"] for message in row["messages"] for call in message.get("tool_calls") or ()]
        assert [(call["name"], call["arguments"]) for call in calls] == calls_in(of["messages"])
        assert all(isinstance(message["content"], str) for message in row["messages"])


def test_sharegpt_turns_alternate_and_keep_all_calls(small: Path, trajectories: Path, tmp_path: Path) -> None:
    rows = exported("sharegpt", small, tmp_path / "sharegpt", rollouts=trajectories)
    plain = exported("openai", small, tmp_path / "openai", rollouts=trajectories)
    for row, of in zip(rows, plain, strict=True):
        turns = row["conversations"]
        assert len(turns) % 2 == 0
        assert {turn["from"] for turn in turns[::2]} <= {"human", "observation"}
        assert {turn["from"] for turn in turns[1::2]} <= {"gpt", "function_call"}
        calls = [json.loads(turn["value"]) for turn in turns if turn["from"] == "function_call"]
        listed = [call for one in calls for call in (one if isinstance(one, list) else [one])]
        assert [(call["name"], call["arguments"]) for call in listed] == calls_in(of["messages"])
    entries = json.loads((tmp_path / "sharegpt" / "dataset_info.json").read_text())
    for entry in entries.values():
        assert (tmp_path / "sharegpt" / entry["file_name"]).is_file()
        assert {*entry["columns"].values()} == {*rows[0]}


def test_ms_swift_gives_each_call_a_message(small: Path, trajectories: Path, tmp_path: Path) -> None:
    rows = exported("ms-swift", small, tmp_path / "swift", rollouts=trajectories)
    plain = exported("openai", small, tmp_path / "openai", rollouts=trajectories)
    for row, of in zip(rows, plain, strict=True):
        calls = [json.loads(message["content"]) for message in row["messages"] if message["role"] == "tool_call"]
        assert [(call["name"], call["arguments"]) for call in calls] == calls_in(of["messages"])
        assert all(message["loss"] for message in row["messages"] if message["role"] in ("assistant", "tool_call"))


def test_agenttraj_turns_read_back_as_the_calls_that_were_made(small: Path, trajectories: Path, tmp_path: Path) -> None:
    rows = exported("agenttraj", small, tmp_path / "traj", rollouts=trajectories)
    plain = exported("openai", small, tmp_path / "openai", rollouts=trajectories)
    items = {item["item_id"] for item in exported("agenteval", small, tmp_path / "items")}
    for row, of in zip(rows, plain, strict=True):
        turns = row["conversations"]
        assert [turn["from"] for turn in turns] == ["human", "gpt"] * (len(turns) // 2)
        assert [turn["loss"] for turn in turns] == [None, False, *[None, True] * (len(turns) // 2 - 1)]
        read = [read_text(turn["value"]) for turn in turns[3::2]]
        assert [(one.tool, json.loads(one.arguments)) for one in read if one.tool] == calls_in(of["messages"])
        assert row["item_id"] in items


def test_pairs_part_at_the_agents_first_other_message(small: Path, trajectories: Path, tmp_path: Path) -> None:
    rows = exported("dpo", small, tmp_path, rollouts=trajectories)
    assert rows
    for row in rows:
        assert [row["chosen"][0]["role"], row["rejected"][0]["role"]] == ["assistant", "assistant"]
        assert row["chosen"][0] != row["rejected"][0]
        assert row["prompt"][0]["role"] == "system"
    once = exported("dpo", small, tmp_path / "once", "--per-task", "1", rollouts=trajectories)
    assert len({json.dumps(row["prompt"][:2]) for row in once}) == len(once) <= len(rows)


def test_a_format_of_trajectories_says_how_to_make_some(small: Path, tmp_path: Path) -> None:
    done = export("openai", small, tmp_path)
    assert done.returncode == 2
    assert "python -m rollout run" in done.stderr


def test_thoughts_in_the_words_are_exported_as_reasoning(small: Path, trajectories: Path, tmp_path: Path) -> None:
    record = next(one for one in passing(trajectories) if len(one["messages"]) > 4)
    plain = exported("openai", small, tmp_path / "plain", rollouts=write_records(tmp_path / "1", [record]))
    for message in record["messages"]:
        if message["role"] in ("user", "assistant"):
            message["content"] = f"<think>\nHm.\n</think>\n\n{message['content'] or ''}"
        if message["role"] == "assistant":
            message["reasoning_content"] = "Hm."
    rollouts = write_records(tmp_path / "2", [record])
    assert exported("openai", small, tmp_path / "openai", rollouts=rollouts) == plain
    [kept] = exported("trl-sft", small, tmp_path / "trl", "--keep-reasoning", rollouts=rollouts)
    # A message with several calls becomes several messages; its reasoning stands before the first.
    thoughts = sum(message["role"] == "assistant" for message in record["messages"])
    assert [message.get("reasoning_content") for message in kept["messages"]].count("Hm.") == thoughts
    assert not any("Hm." in message["content"] for message in kept["messages"])
    [turns] = [
        row["conversations"]
        for row in exported("sharegpt", small, tmp_path / "s", "--keep-reasoning", rollouts=rollouts)
    ]
    assert sum(turn["value"].count("<think>") for turn in turns if turn["from"] in ("gpt", "function_call")) == thoughts
    assert not any("Hm." in turn["value"] for turn in turns if turn["from"] not in ("gpt", "function_call"))


def test_a_conversation_in_which_a_reply_is_all_thought_is_left_out(
    small: Path, trajectories: Path, tmp_path: Path
) -> None:
    whole, cut = passing(trajectories)[:2]
    place = max(place for place, message in enumerate(cut["messages"]) if message["role"] == "assistant")
    cut["messages"][place] |= {"content": "<think>Hm, and", "tool_calls": None}
    rollouts = write_records(tmp_path / "rollouts", [whole, cut])
    assert export("openai", small, tmp_path / "to", "--where", "all", rollouts=rollouts).returncode == 0
    assert "a message that is all thought" in (tmp_path / "to" / "README.md").read_text()
    assert len(rows_in(tmp_path / "to")) == 1


def test_a_call_that_cannot_be_read_is_in_a_valid_form_and_not_trained_on(
    small: Path, trajectories: Path, tmp_path: Path
) -> None:
    record = passing(trajectories)[0]
    first = next(at for at, message in enumerate(record["messages"]) if message["role"] == "assistant")
    bad = [("find it", "{}"), (record["tools"][0]["function"]["name"], '{"a": NaN'), ("a.b", '{"a": 1, "a": 2}')]
    for name, arguments in bad:
        function = {"name": name, "arguments": arguments}
        call = {"id": f"bad{len(record['messages'])}", "type": "function", "function": function}
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": call["id"], "content": '{"error": {"code": "unknown_tool"}}'}
        record["messages"][first:first] = [said, result]
        for turn in record["user_turns"]:
            turn["message"] += 2 if turn["message"] >= first else 0
    rollouts = write_records(tmp_path / "bad", [record])
    anyway = ("--where", "differs>=0")
    (row,) = exported("openai", small, tmp_path / "openai", *anyway, rollouts=rollouts)
    weights = [message["weight"] for message in row["messages"] if message["role"] == "assistant"]
    assert weights[:3] == [0, 0, 0]
    assert {*weights[3:]} == {1}
    for called, values in calls_in(row["messages"]):
        assert valid_name(called) == called
        assert isinstance(values, dict)
    # Formats that cannot leave a message out of the loss leave out the conversation, and say why.
    done = export("trl-sft", small, tmp_path / "trl", *anyway, rollouts=rollouts)
    assert "a call whose arguments are no JSON object" in done.stdout + done.stderr

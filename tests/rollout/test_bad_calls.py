"""An agent that once writes each kind of bad call, at an endpoint that checks every request: its fault, and no more."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from skillweave.llm.history import UNREADABLE
from tests.commands import Done, ran
from tests.llm.protocols import a_completion
from tests.llm.scripted import Act, Heard, ScriptedServer, reply
from tests.llm.strict import StrictServer, read_object
from tests.rollout.offline_agents.clinic import a_dataset, tasks
from tests.rollout.wires import WIRES, Wire

TOOL = "find_slots"
UNREADABLE_ARGUMENTS = {
    "cut off": '{"a": 1',
    "a text": '"text"',
    "a list": "[1]",
    "more behind": '{}""',
    "null": "null",
    "words": "all of them",
    "a key twice": '{"a": 1, "a": 2}',
    "NaN": '{"a": NaN}',
    "infinite": '{"a": -Infinity}',
    "a number too large": '{"a": 1e999}',
    "an integer too large": '{"a": ' + "9" * 400 + "}",
    "half of a character": '{"a": "\\ud83d"}',
    "too deep": '{"a": ' + "[" * 90 + "]" * 90 + "}",
    "far too deep": '{"a": ' * 5000,
    "too long": '{"a": "' + "x" * 2**20 + '"}',
}
NAMES = {
    "dots": "functions.find_slots.v2",
    "blanks": "find slots",
    "blank behind": "find_slots ",
    "nothing": "",
    "90 characters": "find_slots_" * 8 + "xx",
    "a mark": "<|channel|>commentary",
    "a digit first": "1find",
    "letters of others": "détails",
    "a name of the offered one": "find\tslots",
    "half of a character": "find\udc00",
}
USERS_TURN = json.dumps({"text": "I see. Goodbye.", "agrees": None, "wants_human": False, "later": None, "done": True})


def calls_of(said: dict[str, Any]) -> list[Any]:
    """The calls in a message of the agent, of either protocol."""
    blocks = said["content"] if isinstance(said["content"], list) else []
    return said.get("tool_calls") or [block for block in blocks if block["type"] == "tool_use"]


def plays(wire: Wire, bad: list[tuple[str, str]]) -> Any:
    """The agent makes one bad call after the other, each beside a good one; the user leaves when it says a word."""

    def act(heard: Heard) -> Act:
        if "tools" not in heard.body:
            return wire.says(USERS_TURN)
        number = sum(bool(calls_of(said)) for said in heard.body["messages"] if said["role"] == "assistant")
        if number == len(bad):
            return wire.says("That is all that I can do.")
        name, arguments = bad[number]
        return wire.calls((name, arguments, f"b{number}"), (TOOL, "{}", f"g{number}"))

    return act


def given(tmp_path: Path, wire: Wire, url: str, program: str, *more: str) -> Done:
    """Give a command on a task of the clinic."""
    outputs = tmp_path / "outputs"
    if not outputs.exists():
        a_dataset(outputs, tasks()[1:2])
    agent = {"model": f"{wire.provider}/m", "base_url": f"{url}/v1", "stream": wire.streams}
    config = {"rollout": {"agent": agent, "max_calls": 200}, "llm": {"max_retries": 0}}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    places = ("--outputs-dir", str(outputs), "--rollouts-dir", str(tmp_path / "rollouts"))
    return ran(program, "run", "--config", str(tmp_path / "config.yaml"), *places, *more)


@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_every_bad_call_is_the_agents_fault_and_costs_it_no_more(wire: Wire, tmp_path: Path) -> None:
    # As a stream, a text of this length would be more events than are read.
    unreadable = [text for text in UNREADABLE_ARGUMENTS.values() if len(text) < 2**20 or not wire.streams]
    bad = [(TOOL, arguments) for arguments in unreadable]
    bad += [(name, "{}") for name in NAMES.values()]
    strict = StrictServer(plays(wire, bad))
    with ScriptedServer(strict) as server:
        done = given(tmp_path, wire, server.url, "rollout")
        heard = len(server.heard)
        again = given(tmp_path, wire, server.url, "rollout")
        assert len(server.heard) == heard, "the second run has nothing to hold"
    assert strict.refused == []
    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    (line,) = (tmp_path / "rollouts/SmallClinic.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["stop_reason"], record["error"]) == ("user_stop", None)
    assert record["metadata"]["malformed_calls"] == len(unreadable)
    assert record["metadata"]["tool_error_count"] == len(bad)

    scored = given(tmp_path, wire, server.url, "evaluator", "--max-workers", "1")
    assert scored.returncode == 0, scored.stderr
    (result,) = map(json.loads, (tmp_path / "outputs/evaluation/results.jsonl").read_text().splitlines())
    assert (result["passed"], result["error"]) == (False, None)
    assert len(result["checks"]["replay"]["malformed"]) == len(unreadable)


def test_the_model_sees_what_it_wrote_and_what_was_wrong_with_it(tmp_path: Path) -> None:
    wire = WIRES[0]
    bad = [(TOOL, UNREADABLE_ARGUMENTS["cut off"]), (NAMES["blanks"], "{}"), (NAMES["dots"], '{"a": 1}')]
    strict = StrictServer(plays(wire, bad))
    with ScriptedServer(strict) as server:
        given(tmp_path, wire, server.url, "rollout")
    messages = strict.accepted[len(bad)].body["messages"]
    functions = [said["tool_calls"][0]["function"] for said in messages if said.get("tool_calls")]
    assert read_object(functions[0]["arguments"]) == {UNREADABLE: '{"a": 1'}
    # An offered tool is `find_slots`; the model did not call it.
    assert [function["name"] for function in functions] == [TOOL, "find_slots_", "functions_find_slots_v2"]
    results = [json.loads(said["content"]) for said in messages if said.get("tool_call_id", "").startswith("b")]
    assert [result["error"]["code"] for result in results] == ["invalid_arguments", "unknown_tool", "unknown_tool"]
    assert "'find slots'" in results[1]["error"]["message"]
    # Each message is sent in later requests as it was in the first: the endpoint's cache of the prompt stays good.
    of_agent = [heard.body["messages"] for heard in strict.accepted if "tools" in heard.body]
    for before, after in pairwise(of_agent):
        assert after[: len(before)] == before


def test_a_call_in_place_of_every_answer_ends_scored(tmp_path: Path) -> None:
    wire = WIRES[0]
    strict = StrictServer(reply(a_completion(None, reason="tool_calls", tool_calls=[_bad_call()])))
    with ScriptedServer(strict) as server:
        assert given(tmp_path, wire, server.url, "rollout").returncode == 0
    assert (strict.refused, len(strict.accepted)) == ([], 3)
    record = json.loads((tmp_path / "rollouts/SmallClinic.jsonl").read_text())
    assert (record["error"]["kind"], record["score"]["passed"]) == ("agent", False)


def _bad_call() -> dict[str, Any]:
    return {"id": "", "type": "function", "function": {"name": "<|x|>", "arguments": "["}}

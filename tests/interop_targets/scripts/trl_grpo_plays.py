"""Environments for TRL's GRPO: their methods as TRL reads them, and tasks played as TRL calls them: `OUTPUTS TASKS`."""

import inspect
import json
import sys
from typing import Any

from scripted import ScriptedPlayer, tasks_of_all_kinds
from transformers.utils import get_json_schema

from interop.frameworks import trl_grpo
from interop.frameworks.shared import DatasetOptions
from interop.in_process import Environment

outputs, most = sys.argv[1], int(sys.argv[2])
factory = DatasetOptions(outputs=outputs).factory()
factories = trl_grpo.environments(outputs)
rows = {row["task_id"]: row for row in trl_grpo.rows(outputs)}


def methods_of(environment: Any) -> dict[str, Any]:
    """As GRPOTrainer lists them."""
    members = inspect.getmembers(type(environment), predicate=inspect.isfunction)
    names = [name for name, _ in members if name not in ("reset", "get_reward") and not name.startswith("_")]
    return {name: getattr(environment, name) for name in names}


def differences(environment: Any, tools: Any) -> int:
    """What TRL's definitions say otherwise than ours."""
    read = {name: get_json_schema(method)["function"] for name, method in methods_of(environment).items()}
    own = {tool["function"]["name"]: tool["function"] for tool in tools}
    assert set(read) == {*own, "reply_to_user"}, set(read) ^ set(own)
    for name, function in own.items():
        assert read[name]["description"] == " ".join(function["description"].split()), name
        theirs, ours = read[name]["parameters"], function["parameters"]
        assert set(theirs["properties"]) == set(ours["properties"]), name
        assert set(theirs.get("required", [])) == set(ours.get("required", [])), name
        for key, schema in ours["properties"].items():
            found = theirs["properties"][key]
            assert found["description"] == " ".join(schema["description"].split()), (name, key)
            kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            assert found["type"] == next(kind for kind in kinds if kind != "null"), (name, key, found)
            assert found.get("nullable", False) == ("null" in kinds), (name, key)
            assert set(found.get("enum", [])) == {one for one in schema.get("enum", []) if one is not None}, (name, key)
    return len(own)


def play(task: str, agent: str) -> dict[str, Any]:
    row = rows[task]
    environment: Any = factories[row["environment"]]()
    assert environment.reset(**{key: row[key] for key in row if key != "environment"}) is None
    episode = environment._environment.episode
    assert row["prompt"][-1]["content"] == episode.messages[-1].content
    tools, player = methods_of(environment), ScriptedPlayer(factory.dataset, agent)
    while not episode.done:
        message = player.message(task, episode.messages, episode.tools)
        if not message.tool_calls:
            assert isinstance(tools["reply_to_user"](text=message.content), str)
        for call in message.tool_calls or []:
            assert isinstance(tools[call.function.name](**call.function.arguments), str)
    return {"kind": row["kind"], "reward": environment.get_reward()}


with Environment(factory) as environment:
    seen = {rows[id]["environment"]: id for id in rows}
    checked = sum(differences(factories[name](), environment.reset(id).tools) for name, id in seen.items())
tasks = tasks_of_all_kinds(factory, most)
unplayed = factories[rows[tasks[0]]["environment"]]()
unplayed.reset(**rows[tasks[0]])
played = {agent: [play(task, agent) for task in tasks] for agent in ("oracle", "nothing")}
print(json.dumps({**played, "classes": len(factories), "definitions": checked, "unplayed": unplayed.get_reward()}))

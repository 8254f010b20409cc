"""Gymnasium's own checker, and tasks of all kinds played: `OUTPUTS TASKS`."""

import json
import sys
import warnings
from typing import Any

import gymnasium
from gymnasium.utils.env_checker import check_env
from scripted import ScriptedPlayer, tasks_of_all_kinds

from interop.frameworks.gymnasium_env import register

outputs, most = sys.argv[1], int(sys.argv[2])
register()
env = gymnasium.make("Skillweave-v0", outputs=outputs)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    check_env(gymnasium.make("Skillweave-v0", outputs=outputs).unwrapped)
inner = env.unwrapped._environment


def play(task: str, agent: str) -> dict[str, Any]:
    player = ScriptedPlayer(inner.factory.dataset, agent)
    observation, info = env.reset(options={"task": task})
    over = False
    while not over:
        assert env.observation_space.contains(observation)
        text = player.text(info["task_id"], inner.episode.messages, inner.episode.tools)
        observation, reward, terminated, truncated, info = env.step(text)
        over = terminated or truncated
        assert over or not reward
    return {"kind": inner.factory.record(task).kind, "reward": reward}


tasks = tasks_of_all_kinds(inner.factory, most)
drawn = [env.reset(seed=3)[1]["task_id"] for _ in range(2)]
number = env.reset(options={"task": 5})[1]["task_id"] == inner.factory.id_of(5)
played = {agent: [play(task, agent) for task in tasks] for agent in ("oracle", "nothing")}
print(json.dumps({**played, "drawn": drawn, "number": number, "warnings": [str(one.message) for one in caught]}))

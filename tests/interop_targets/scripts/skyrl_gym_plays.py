"""Play tasks with `skyrl_gym.make`, from the rows of an export: `OUTPUTS FILE TASKS`."""

import json
import sys
from typing import Any

import pyarrow.parquet
import skyrl_gym
from scripted import ScriptedPlayer

from interop.frameworks import skyrl_gym as ours

outputs, file, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
ours.register()
rows = pyarrow.parquet.read_table(file).to_pylist()
rows = rows[:: max(1, len(rows) // most)][:most]


def play(row: dict[str, Any], agent: str, max_turns: int = 0) -> dict[str, Any]:
    extras = {key: row[key] for key in row if key not in ("prompt", "env_class")} | {"max_turns": max_turns}
    env = skyrl_gym.make(row["env_class"], env_config={"outputs": outputs}, extras=extras)
    prompt, info = env.init(row["prompt"])
    own, _ = env.init([])
    assert own == prompt == row["prompt"], "the export's prompt is not the environment's"
    inner = env._environment
    player = ScriptedPlayer(inner.factory.dataset, agent)
    rewards = []
    while True:
        answer = env.step(player.text(info["task_id"], inner.episode.messages, inner.episode.tools))
        rewards.append(answer["reward"])
        if answer["done"]:
            env.close()
            assert not any(rewards[:-1]), "a reward before the end"
            return {"kind": row["extra_info"]["kind"], "reward": rewards[-1], "metrics": env.get_metrics()}
        assert [message["role"] for message in answer["observations"]] == ["user"]


oracle, nothing = ([play(row, agent) for row in rows] for agent in ("oracle", "nothing"))
cut = play(rows[0], "oracle", 1)
means = ours.SkillweaveEnv.aggregate_metrics([one["metrics"] for one in oracle] + [{}])
print(json.dumps({"oracle": oracle, "nothing": nothing, "cut": cut, "means": means}))

"""Play rows of an export in verl's agent loop, made as its worker makes it: `OUTPUTS FOLDER MODEL TASKS`.

Only the server of the model is another: it writes what a scripted agent says, in the tokens of the model.
"""

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hydra
import pyarrow.parquet
from omegaconf import OmegaConf
from scripted import ScriptedPlayer
from transformers import AutoTokenizer
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap
from verl.utils.dataset.rl_dataset import RLHFDataset

from interop.frameworks import verl_agent_loop
from interop.frameworks.shared import BackgroundEpisode, DatasetOptions

outputs, folder, most = sys.argv[1], Path(sys.argv[2]), int(sys.argv[4])
tokenizer = AutoTokenizer.from_pretrained(sys.argv[3])
rows = pyarrow.parquet.read_table(folder / "train.parquet").to_pylist()
rows = rows[:: max(1, len(rows) // most)][:most]
[named] = OmegaConf.load(folder / "agent_loops.yaml")
episodes: list[Any] = []


class SeenEpisode(BackgroundEpisode):
    async def open(self) -> Any:
        episodes.append(await super().open())
        return episodes[-1]


setattr(verl_agent_loop, "BackgroundEpisode", SeenEpisode)  # noqa: B010


class ScriptedServer:
    def __init__(self, player: Any) -> None:
        self.player = player
        self.texts: list[str] = []

    async def generate(self, request_id: str, prompt_ids: list[int], sampling_params: Any) -> Any:
        episode = episodes[-1]
        text = self.player.text(episode.task.id, episode.messages, episode.tools)
        self.texts.append(text)
        ids = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        return SimpleNamespace(token_ids=ids, log_probs=[-1.0] * len(ids), extra_fields={})


async def play(
    row: dict[str, Any], agent: str, response_length: int = 60000, max_turns: int | None = None
) -> dict[str, Any]:
    server = ScriptedServer(ScriptedPlayer(DatasetOptions(outputs).factory().dataset, agent))
    rollout = {
        "prompt_length": 60000,
        "response_length": response_length,
        "multi_turn": {"max_assistant_turns": max_turns},
    }
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})
    loop = hydra.utils.instantiate(
        config=named,
        outputs=outputs,
        trainer_config=DictConfigWrap(config=config),
        server_manager=server,
        tokenizer=tokenizer,
        processor=None,
        hf_model_type="qwen2",
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(config.data),
        tools=ToolListWrap([]),
    )
    made = await loop.run({}, raw_prompt=row["prompt"], **{key: row[key] for key in row if key != "prompt"})
    prompt = tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True)
    assert tokenizer.decode(made.prompt_ids) == prompt, "the prompt is not the row's"
    assert len(made.response_ids) == len(made.response_mask) == len(made.response_logprobs)
    written = [token for token, mask in zip(made.response_ids, made.response_mask, strict=True) if mask]
    expected = "".join(text + tokenizer.eos_token for text in server.texts)
    assert expected.startswith(tokenizer.decode(written)), "the loss is not on the model's own tokens"
    whole = tokenizer.decode(made.response_ids)
    is_cut = len(made.response_ids) == response_length
    told = [message.content for message in episodes[-1].messages[2:] if message.role != "assistant"]
    assert is_cut or made.num_turns == 2 * len(server.texts)
    assert is_cut or all(text in whole for text in told[:-2]), "what was heard is missing"
    return {
        "kind": row["extra_info"]["kind"],
        "reward": made.reward_score,
        "passed": made.extra_fields["reward_extra_info"]["passed"],
        "tokens": len(made.response_ids),
        "turns": made.num_turns,
    }


async def main() -> None:
    played = {agent: [await play(row, agent) for row in rows] for agent in ("oracle", "nothing")}
    played["cut"] = [await play(rows[0], "oracle", response_length=50), await play(rows[0], "oracle", max_turns=1)]
    print(json.dumps(played))


asyncio.run(main())

"""Read an export with verl's own dataset, tools with verl's own schema, and settings against verl's own.

Arguments: the exports `verl` and `hub`, and a model.
"""

import json
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from datasets import load_dataset
from omegaconf import OmegaConf
from transformers import AutoTokenizer
from verl.tools.schemas import OpenAIFunctionToolSchema
from verl.utils.dataset.rl_dataset import RLHFDataset

folder, hub, model = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
config = OmegaConf.create({"max_prompt_length": 65536, "cache_dir": str(folder / "cache"), "return_raw_chat": True})
dataset = RLHFDataset(str(folder / "train.parquet"), AutoTokenizer.from_pretrained(model), config)
rows = [dataset[index] for index in range(len(dataset))]
tools = {
    OpenAIFunctionToolSchema.model_validate(tool).function.name
    for text in load_dataset(hub)["train"]["tools"]
    for tool in json.loads(text)
}
known = OmegaConf.load(str(files("verl") / "trainer" / "config" / "_generated_ppo_trainer.yaml"))


def unknown(settings: Any, defaults: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Settings that verl does not have."""
    for key, value in settings.items():
        if key not in defaults:
            yield ".".join((*path, key))
        elif isinstance(value, dict):
            yield from unknown(value, defaults[key], (*path, key))


settings = OmegaConf.to_container(OmegaConf.load(str(folder / "verl.yaml")))
told = {"rows": rows, "tools": sorted(tools), "unknown": list(unknown(settings, OmegaConf.to_container(known)))}
print(json.dumps(told, default=str))

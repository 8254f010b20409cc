"""Compose a settings file by Hydra, as verl's trainer does, and tell what verl's own lack: `FILE`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir, initialize_config_module
from omegaconf import OmegaConf

file = Path(sys.argv[1]).resolve()
with initialize_config_dir(str(file.parent), version_base=None):
    settings = compose(config_name=file.stem)
with initialize_config_module("verl.trainer.config", version_base=None):
    defaults = OmegaConf.to_container(compose(config_name="ppo_trainer"))


def unknown(given: Any, known: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Dotted names of settings that verl does not have."""
    for key, value in given.items():
        if key not in known:
            yield ".".join((*path, key))
        elif isinstance(value, dict):
            yield from unknown(value, known[key], (*path, key))


own = {k: v for k, v in yaml.safe_load(file.read_text("utf-8")).items() if k not in {"hydra", "defaults"}}
told = {
    "unknown": [*unknown(own, defaults)],
    "estimator": settings.algorithm.adv_estimator,
    "loop": settings.actor_rollout_ref.rollout.agent.default_agent_loop,
    "epochs_of_verl": settings.actor_rollout_ref.actor.ppo_epochs,
}
print(json.dumps(told))

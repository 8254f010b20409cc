"""Train with SkyRL in the worlds: `SKILLWEAVE_OUTPUTS=outputs python recipes/grpo/skyrl_main.py [KEY=VALUE ...]`.

SkyRL starts a process of Ray for the training loop, and environment classes are registered in that one. Needs GPUs.
"""

import sys
from pathlib import Path

import ray
from omegaconf import OmegaConf
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.entrypoints.main_base import BasePPOExp
from skyrl.train.utils import validate_cfg
from skyrl.train.utils.utils import initialize_ray

from interop.frameworks.skyrl_gym import register

SETTINGS = Path(__file__).with_name("skyrl.yaml")


@ray.remote(num_cpus=1)
def train(config: SkyRLTrainConfig) -> None:
    """Register the environment class, and train."""
    register()
    BasePPOExp(config).run()


def main() -> None:
    """Train by the settings beside this file, and by what is given."""
    settings = OmegaConf.merge(OmegaConf.load(SETTINGS), OmegaConf.from_cli(sys.argv[1:]))
    config = SkyRLTrainConfig.from_dict_config(settings)
    validate_cfg(config)
    initialize_ray(config)
    ray.get(train.remote(config))


if __name__ == "__main__":
    main()

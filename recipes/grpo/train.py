"""Train a model in the worlds themselves with TRL's GRPO: `python recipes/grpo/train.py --help`."""

import argparse
from pathlib import Path

import yaml
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from interop.frameworks.trl_grpo import environments, rows

SMALL = {"num_generations": 2, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 1}
CPU = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "use_vllm": False, **SMALL}
"""To try it: two short replies to one prompt."""


def main() -> None:
    """Train, and save the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("trl.yaml"))
    parser.add_argument("--outputs", required=True, help="the dataset")
    parser.add_argument("--settings", help="a configuration file of the project, for the endpoint of the user")
    parser.add_argument("--user", help="PROVIDER/MODEL who plays the users")
    parser.add_argument("--hold-out", nargs="*", default=[], metavar="DOMAIN", help="no world of these is trained on")
    parser.add_argument("--model", required=True)
    parser.add_argument("--to", type=Path, required=True, help="where the trained model is saved")
    parser.add_argument("--max-steps", type=int)
    parser.add_argument("--cpu", action="store_true", help="to try it: no GPU, two short replies")
    given = parser.parse_args()
    settings = yaml.safe_load(given.config.read_text("utf-8"))
    if given.max_steps is not None:
        settings["max_steps"] = given.max_steps
    if given.cpu:
        settings |= CPU | {"max_completion_length": 32}
    dataset = {"split": "train", "compact": True, "user": given.user, "config": given.settings}
    trained = [row for row in rows(given.outputs, **dataset) if not set(row["world"].split("__")) & {*given.hold_out}]
    trainer = GRPOTrainer(
        given.model,
        args=GRPOConfig(output_dir=str(given.to), **settings),
        train_dataset=Dataset.from_list(trained),
        environment_factory=environments(given.outputs, **dataset),
    )
    trainer.train()
    trainer.save_model(str(given.to))


if __name__ == "__main__":
    main()

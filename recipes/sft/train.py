"""Train a model on `interop export trl-sft` with TRL: `python recipes/sft/train.py --help`."""

import argparse
from pathlib import Path

import yaml
from datasets import Features, Json, List, Value, load_dataset
from trl import SFTConfig, SFTTrainer

FEATURES = Features({"messages": List(Json()), "tools": Value("string")})
"""Without these, `datasets` makes one type of the arguments of all calls."""


def main() -> None:
    """Train, and save the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("trl.yaml"))
    parser.add_argument("--data", type=Path, required=True, help="the folder of the export")
    parser.add_argument("--model", required=True)
    parser.add_argument("--to", type=Path, required=True, help="where the trained model is saved")
    parser.add_argument("--seed", type=int, help="in place of the configuration's")
    parser.add_argument("--max-steps", type=int, default=-1)
    parser.add_argument("--cpu", action="store_true", help="to try it: no GPU, no evaluation")
    given = parser.parse_args()
    settings = yaml.safe_load(given.config.read_text("utf-8"))
    if given.cpu:
        settings |= {"use_cpu": True, "bf16": False, "gradient_checkpointing": False}
        settings |= {"gradient_accumulation_steps": 1, "eval_strategy": "no"}
    if given.seed is not None:
        settings["seed"] = given.seed
    places = {split: given.data / f"{split}.jsonl" for split in ("train", "validation")}
    files = {split: str(place) for split, place in places.items() if place.is_file()}
    if "validation" not in files:
        settings["eval_strategy"] = "no"
    data = load_dataset("json", data_files=files, features=FEATURES)
    arguments = SFTConfig(output_dir=str(given.to), max_steps=given.max_steps, **settings)
    trainer = SFTTrainer(given.model, args=arguments, train_dataset=data["train"], eval_dataset=data.get("validation"))
    trainer.train()
    trainer.save_model(str(given.to))


if __name__ == "__main__":
    main()

"""A trainer: `trainer.py DATA MODEL SEED`. The model is the sorted names of the tools that are called in the data.

Environment: `TRAINER` is `fails`, `empty` or `slow`, to do that in place of training.
"""

import json
import os
import sys
import time
from pathlib import Path


def main(data: Path, model: Path, seed: str) -> None:
    """Train."""
    what = os.environ.get("TRAINER")
    print(f"training with seed {seed}", flush=True)
    model.mkdir(parents=True)
    if what == "fails":
        print("out of memory")
        sys.exit(3)
    if what == "slow":
        (model / "started").write_text(str(os.getpid()))
        time.sleep(600)
    if what != "empty":
        lines = [json.loads(line) for line in data.read_text().splitlines()]
        calls = [call for line in lines for message in line["messages"] for call in message.get("tool_calls") or ()]
        (model / "skills.json").write_text(json.dumps(sorted({call["function"]["name"] for call in calls})))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])

"""What TRL's data utilities say of rows that are loaded as the card of the export says: `FOLDER FORMAT`."""

import json
import sys
from pathlib import Path

from datasets import Features, Json, List, Value, load_dataset
from trl.data_utils import is_conversational, is_conversational_from_value, maybe_convert_to_chatml

folder, format = Path(sys.argv[1]), sys.argv[2]
if format in ("sharegpt", "agenttraj"):
    rows = load_dataset("json", data_files=str(folder / "train.json"))["train"]
    chatml = maybe_convert_to_chatml(rows[0])
    print(json.dumps({"from_value": all(map(is_conversational_from_value, rows)), "chatml": chatml}))
else:
    messages = ("messages",) if format == "trl-sft" else ("prompt", "chosen", "rejected")
    features = Features({**{key: List(Json()) for key in messages}, "tools": Value("string")})
    rows = load_dataset("json", data_files=str(folder / "train.jsonl"), features=features)["train"]
    print(json.dumps({"conversational": all(map(is_conversational, rows)), "rows": list(rows)}))

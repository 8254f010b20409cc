"""Load a folder with `datasets` as its card says, each configuration and split: `FOLDER`."""

import json
import sys

from datasets import get_dataset_config_names, load_dataset

loaded = {name: load_dataset(sys.argv[1], name) for name in get_dataset_config_names(sys.argv[1])}
print(json.dumps({name: {split: len(rows) for split, rows in splits.items()} for name, splits in loaded.items()}))

"""Preprocess an export with ms-swift's own preprocessor: `FILE`."""

import json
import sys

from datasets import load_dataset
from swift.dataset import MessagesPreprocessor

rows = load_dataset("json", data_files=sys.argv[1])["train"]
print(json.dumps(list(MessagesPreprocessor()(rows, strict=True))))

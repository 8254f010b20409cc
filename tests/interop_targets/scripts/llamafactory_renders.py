"""Render an export with LLaMA-Factory's own templates, all that know tools: `FOLDER ROWS`.

Prints for each template how it writes tools, the number of texts, and what they lack, or what it raised.
"""

import json
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["DISABLE_VERSION_CHECK"] = "1"
torchaudio = ModuleType("torchaudio")
torchaudio.__spec__ = ModuleSpec("torchaudio", None)
sys.modules["torchaudio"] = torchaudio

from llamafactory.data.loader import _load_single_dataset  # noqa: E402
from llamafactory.data.parser import get_dataset_list  # noqa: E402
from llamafactory.data.template import TEMPLATES, get_template_and_fix_tokenizer  # noqa: E402
from llamafactory.hparams import DataArguments, ModelArguments  # noqa: E402
from rendered import lacking, tokenizer_of_bytes  # noqa: E402
from transformers import Seq2SeqTrainingArguments  # noqa: E402

folder, most = sys.argv[1], int(sys.argv[2])
[first, *_] = json.loads(Path(folder, "dataset_info.json").read_text("utf-8"))
[attributes] = get_dataset_list([first], folder)
arguments = DataArguments(dataset_dir=folder, cutoff_len=1 << 20)
training = Seq2SeqTrainingArguments(output_dir=f"{folder}/none", report_to=[], use_cpu=True)
rows = list(_load_single_dataset(attributes, ModelArguments(model_name_or_path="none"), arguments, training))
# The longest conversations have the most calls, several at once among them.
rows = sorted(rows, key=lambda row: len(row["_prompt"]), reverse=True)[:most]


def rendered(name: str) -> dict[str, Any]:
    tokenizer = tokenizer_of_bytes()
    template = get_template_and_fix_tokenizer(tokenizer, DataArguments(template=name))
    lacks: list[str] = []
    for row in rows:
        messages = row["_prompt"] + row["_response"]
        pairs = template.encode_multiturn(tokenizer, messages, row["_system"], row["_tools"])
        text = tokenizer.decode([token for pair in pairs for part in pair for token in part])
        read = [json.loads(one["content"]) for one in messages if one["role"] == "function"]
        calls = [call for one in read for call in (one if isinstance(one, list) else [one])]
        results = [one["content"] for one in messages if one["role"] == "observation"]
        lacks += lacking(text, calls, results, [tool["name"] for tool in json.loads(row["_tools"])])
    return {"tools": template.format_tools.tool_format, "texts": len(rows), "lacks": lacks[:5]}


told: dict[str, Any] = {}
for name in TEMPLATES:
    try:
        told[name] = rendered(name)
    except Exception as error:  # what a template raises is what is asked about
        told[name] = {"raised": f"{type(error).__name__}: {error}"[:200]}
print(json.dumps(told))

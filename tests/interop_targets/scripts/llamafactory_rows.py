"""Convert an export with LLaMA-Factory's own loader, as its `dataset_info.json` says: `FOLDER`."""

import json
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

# The environment's other packages are newer than its trainers take; what reads data works with them.
os.environ["DISABLE_VERSION_CHECK"] = "1"
# Its module of images and sounds imports torchaudio at once, whose only builds here are for GPUs.
torchaudio = ModuleType("torchaudio")
torchaudio.__spec__ = ModuleSpec("torchaudio", None)
sys.modules["torchaudio"] = torchaudio

from llamafactory.data.loader import _load_single_dataset  # noqa: E402
from llamafactory.data.parser import get_dataset_list  # noqa: E402
from llamafactory.hparams import DataArguments, ModelArguments  # noqa: E402
from transformers import Seq2SeqTrainingArguments  # noqa: E402

folder = sys.argv[1]
arguments = DataArguments(dataset_dir=folder, cutoff_len=65536)
model = ModelArguments(model_name_or_path="none")
training = Seq2SeqTrainingArguments(output_dir=f"{folder}/none", report_to=[], use_cpu=True)
converted: dict[str, list[object]] = {}
for name in json.loads(Path(folder, "dataset_info.json").read_text("utf-8")):
    [attributes] = get_dataset_list([name], folder)
    converted[name] = list(_load_single_dataset(attributes, model, arguments, training))
print(json.dumps(converted))

"""`dpo`: preference pairs for TRL's DPOTrainer: a passing and a failing trajectory of a task.

The prompt is what both have in common; `chosen` and `rejected` begin with the first message that differs, which is the
agent's, and go on to its last message.
"""

from collections.abc import Iterator

from interop.export.format import LOAD_LINES, ExportFormat, LeftOut, PairExample, Row
from interop.export.formats.trl_sft import chat_messages, tools_text

TRAIN = """\
# `Json` is in datasets 4.7 and newer, which TRL asks for.
from datasets import Features, Json, List, Value, load_dataset
from trl import DPOTrainer

turns = List(Json())
features = Features({"prompt": turns, "chosen": turns, "rejected": turns, "tools": Value("string")})
dataset = load_dataset("json", data_files={"{split}": "{folder}/{file}"}, features=features)["{split}"]
DPOTrainer("Qwen/Qwen3-0.6B", train_dataset=dataset).train()"""


def rows(example: PairExample) -> Iterator[Row]:
    """One row: what both have in common, then how each goes on."""
    passing = chat_messages(example.passing.messages)
    failing = chat_messages(example.failing.messages)
    # Two messages with several calls may share the first of them, so where they part is looked for here.
    pairs = enumerate(zip(passing, failing, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), min(len(passing), len(failing)))
    if any(rest[:1] == [] or rest[0]["role"] != "assistant" for rest in (passing[at:], failing[at:])):
        raise LeftOut("pairs that differ first in a message that is not the agent's")
    if tools_text(example.passing) != tools_text(example.failing):
        raise LeftOut("pairs whose agents had different tools")
    yield {
        "prompt": passing[:at],
        "chosen": passing[at:],
        "rejected": failing[at:],
        "tools": tools_text(example.passing),
    }


FORMAT = ExportFormat(
    about="TRL's DPOTrainer: pairs of a passing and a failing trajectory, from the agent's first message that differs",
    takes="pairs",
    rows=rows,
    loss="DPO never trains on `prompt`; inside `chosen` and `rejected` the results of tools count too.",
    load=LOAD_LINES,
    train=TRAIN,
    use="trl dpo --dataset_name {folder} --model_name_or_path MODEL",
)

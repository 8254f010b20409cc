"""`sharegpt`: conversations for LLaMA-Factory, with the `dataset_info.json` by which it finds them.

The loader drops a conversation silently unless human and observation turns alternate with gpt and function_call turns.
So messages of one side that follow each other become one turn, and what cannot be brought into this form is left out
and counted. A message with several calls becomes a function_call for each, with its observation behind it: templates of
GLM-4 refuse several. The form has no place for words beside calls: they stand as `content` in the first call, where
loaders pass over them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from interop.export.conversation import objects_of_calls, with_one_call_each, with_thought
from interop.export.format import ExportFormat, LeftOut, Row, TrajectoryExample
from skillweave.schema.trajectory import Message

LOAD = """\
# LLaMA-Factory: put this into the configuration of a run.
#   dataset_dir: {folder}
#   dataset: skillweave_{split}
from datasets import load_dataset

dataset = load_dataset("{loader}", data_files={files})"""


def rows(example: TrajectoryExample) -> Iterator[Row]:
    """One row: the turns, the system prompt, and the tools as JSON text."""
    messages = example.messages
    system = [message.content or "" for message in messages if message.role == "system"]
    if any(message.role == "system" for message in messages[len(system) :]):
        raise LeftOut("a system message inside the conversation")
    yield {
        "conversations": turns_of(list(with_one_call_each(messages[len(system) :]))),
        "system": "\n\n".join(system),
        "tools": json.dumps([tool["function"] for tool in example.of.tools], ensure_ascii=False),
    }


def turns_of(messages: Sequence[Message]) -> list[Row]:
    """The turns of both sides, in turn. Raises LeftOut."""
    turns = [
        _agent_turn(list(group)) if side == "assistant" else _other_turn(list(group))
        for side, group in groupby(messages, key=lambda message: message.role == "assistant" and "assistant")
    ]
    if not turns or turns[0]["from"] != "human":
        raise LeftOut("the conversation does not begin with the user")
    return turns


def _agent_turn(messages: Sequence[Message]) -> Row:
    words = "\n\n".join(filter(None, map(with_thought, messages)))
    calls = [call for message in messages for call in objects_of_calls(message)]
    if not calls:
        return {"from": "gpt", "value": words}
    if words:
        calls[0]["content"] = words
    return {"from": "function_call", "value": json.dumps(calls if len(calls) > 1 else calls[0], ensure_ascii=False)}


def _other_turn(messages: Sequence[Message]) -> Row:
    roles = {message.role for message in messages}
    if len(roles) > 1:
        raise LeftOut("the user speaks right after a result, before the agent")
    spoken = "\n\n".join(message.content or "" for message in messages)
    return {"from": "observation" if roles == {"tool"} else "human", "value": spoken}


def dataset_info(splits: Sequence[str], card: Mapping[str, str]) -> dict[str, str]:
    """LLaMA-Factory's index: a dataset for each split."""
    columns = {"messages": "conversations", "system": "system", "tools": "tools"}
    entries = {
        f"skillweave_{split}": {"file_name": f"{split}.json", "formatting": "sharegpt", "columns": columns}
        for split in splits
    }
    return {"dataset_info.json": json.dumps(entries, indent=2) + "\n"}


FORMAT = ExportFormat(
    about="LLaMA-Factory and others that read ShareGPT: human, gpt, function_call and observation in turn",
    takes="trajectories",
    rows=rows,
    layout="json",
    loss="LLaMA-Factory trains on `gpt` and `function_call` turns, and masks the others. Words that the agent says "
    "beside calls stand as `content` in the first call; LLaMA-Factory does not train on these.",
    load=LOAD,
    use="llamafactory-cli train CONFIG.yaml dataset_dir={folder} dataset=skillweave_{split}",
    companions=dataset_info,
)

"""`trl-sft`: conversations with tools for TRL's SFTTrainer.

A message with several calls becomes a message for each, with its result behind it: the chat templates of Llama 3 refuse
a message with more than one.

Arguments of calls are objects, because most chat templates write `arguments | tojson`: text would come out quoted
twice. So the file is JSON Lines, and is loaded with the `Json` type (datasets 4.7 and newer, which TRL asks for): plain
Arrow would merge the arguments of all calls into one structure, and fill it with nulls that templates print.
"""

import json
from collections.abc import Iterator, Sequence

from interop.export.conversation import names_of_calls, objects_of_calls, with_one_call_each
from interop.export.format import LOAD_LINES, ExportFormat, Row, TrajectoryExample
from skillweave.schema.trajectory import Message

TRAIN = """\
# `Json` is in datasets 4.7 and newer, which TRL asks for.
from datasets import Features, Json, List, Value, load_dataset
from trl import SFTConfig, SFTTrainer

features = Features({"messages": List(Json()), "tools": Value("string")})
dataset = load_dataset("json", data_files={"{split}": "{folder}/{file}"}, features=features)["{split}"]
SFTTrainer("Qwen/Qwen3-0.6B", args=SFTConfig(assistant_only_loss=True), train_dataset=dataset).train()"""


def chat_messages(messages: Sequence[Message]) -> list[Row]:
    """Messages as chat templates take them: content is text, arguments are objects, one call each. Raises LeftOut."""
    names = names_of_calls(messages)
    return [_chat_message(message, names) for message in with_one_call_each(messages)]


def _chat_message(message: Message, names: dict[str, str]) -> Row:
    row: Row = {"role": message.role, "content": message.content or ""}
    if message.reasoning_content:
        row["reasoning_content"] = message.reasoning_content
    if message.tool_calls:
        calls = zip(message.tool_calls, objects_of_calls(message), strict=True)
        row["tool_calls"] = [{"id": call.id, "type": "function", "function": function} for call, function in calls]
    if message.tool_call_id is not None:
        row |= {"tool_call_id": message.tool_call_id, "name": names.get(message.tool_call_id, "")}
    return row


def tools_text(example: TrajectoryExample) -> str:
    """The tools as JSON text."""
    return json.dumps(example.of.tools, ensure_ascii=False)


def rows(example: TrajectoryExample) -> Iterator[Row]:
    """One row: the conversation, and the tools as JSON text."""
    yield {"messages": chat_messages(example.messages), "tools": tools_text(example)}


FORMAT = ExportFormat(
    about="TRL's SFTTrainer: messages with one call each, arguments as objects, tools as JSON text",
    takes="trajectories",
    rows=rows,
    loss="TRL makes it: `assistant_only_loss=True` trains on the agent's messages only.",
    load=LOAD_LINES,
    train=TRAIN,
    use="trl sft --dataset_name {folder} --assistant_only_loss true --model_name_or_path MODEL",
)

"""`ms-swift`: conversations in its roles: a `tool_call` for each call, a `tool_response` for each result."""

import json
from collections.abc import Iterator

from interop.export.conversation import objects_of_calls, with_thought
from interop.export.format import ExportFormat, Row, TrajectoryExample
from skillweave.schema.trajectory import Message

TRAIN = """\
from swift.dataset import load_dataset

{split}, _ = load_dataset(["{folder}/{file}"])"""


def rows(example: TrajectoryExample) -> Iterator[Row]:
    """One row: the tools as JSON text, and the messages."""
    yield {
        "tools": json.dumps(example.of.tools, ensure_ascii=False),
        "messages": [row for message in example.messages for row in _messages(message)],
    }


def _messages(message: Message) -> Iterator[Row]:
    """A message in ms-swift's roles: the agent's words, then each of its calls."""
    if message.role == "tool":
        yield {"role": "tool_response", "content": message.content or ""}
        return
    if message.role != "assistant":
        yield {"role": message.role, "content": message.content or ""}
        return
    words, calls = with_thought(message), objects_of_calls(message)
    if words or not calls:
        yield {"role": "assistant", "content": words, "loss": True}
    for call in calls:
        yield {"role": "tool_call", "content": json.dumps(call, ensure_ascii=False), "loss": True}


FORMAT = ExportFormat(
    about="ms-swift: messages with the roles tool_call and tool_response, tools as JSON text",
    takes="trajectories",
    rows=rows,
    loss="`loss` is true on the agent's words and calls; ms-swift masks the rest.",
    train=TRAIN,
    use="swift sft --dataset {file} --agent_template hermes --model MODEL",
)

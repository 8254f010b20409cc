"""`openai`: JSON Lines for OpenAI's fine-tuning, and for whatever else takes its form of messages and tools."""

from collections.abc import Collection, Iterator

from interop.export.format import LOAD_LINES, ExportFormat, Row, TrajectoryExample
from skillweave.llm.history import valid_call
from skillweave.schema.trajectory import Message
from skillweave.world.tools import name_of


def openai_message(message: Message) -> Row:
    """A message in OpenAI's form, without nulls. Content is there beside calls too, since chat templates read it."""
    return {"role": message.role, "content": "", **message.model_dump(mode="json", exclude_none=True)}


def _weighted(message: Message, offered: Collection[str]) -> Row:
    if message.role != "assistant":
        return openai_message(message)
    # Chat templates parse arguments, and the service refuses other names: what the agent wrote wrong stands there in
    # the form in which it went back to the agent, and is not trained on.
    calls = [valid_call(call, offered) for call in message.tool_calls or ()]
    is_valid = calls == (message.tool_calls or [])
    row = openai_message(message if is_valid else message.model_copy(update={"tool_calls": calls}))
    return {**row, "weight": int(is_valid)}


def rows(example: TrajectoryExample) -> Iterator[Row]:
    """One row: the conversation with its tools."""
    offered = {name_of(tool) for tool in example.of.tools}
    parallel = any(len(message.tool_calls or ()) > 1 for message in example.messages)
    yield {
        "messages": [_weighted(message, offered) for message in example.messages],
        "tools": example.of.tools,
        "parallel_tool_calls": parallel,
    }


FORMAT = ExportFormat(
    about="OpenAI's fine-tuning: messages and tools, a conversation a line",
    takes="trajectories",
    rows=rows,
    loss="`weight` is 1 on the agent's messages, and 0 on those with a call that cannot be read; the others are not "
    "trained on.",
    load=LOAD_LINES,
)

"""`openai`: JSON Lines for OpenAI's fine-tuning, and for whatever else takes its form of messages and tools."""

from collections.abc import Iterator

from interop.export.format import ExportFormat, Row, TrajectoryExample
from skillweave.schema.trajectory import Message


def openai_message(message: Message) -> Row:
    """A message in OpenAI's form, without nulls."""
    return message.model_dump(mode="json", exclude_none=True)


def _weighted(message: Message) -> Row:
    row = openai_message(message)
    return {**row, "weight": 1} if message.role == "assistant" else row


def rows(example: TrajectoryExample) -> Iterator[Row]:
    """One row: the conversation with its tools."""
    parallel = any(len(message.tool_calls or ()) > 1 for message in example.messages)
    yield {
        "messages": [_weighted(message) for message in example.messages],
        "tools": example.of.tools,
        "parallel_tool_calls": parallel,
    }


FORMAT = ExportFormat(
    about="OpenAI's fine-tuning: messages and tools, a conversation a line",
    takes="trajectories",
    rows=rows,
    loss="`weight` is 1 on the agent's messages; the others are not trained on.",
)

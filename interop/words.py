"""The tool by which a client of tools speaks to the user, where a protocol knows nothing but calls."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from interop.actions import Action, ActionError, ActionLike
from rollout.task import Definition
from skillweave.base.errors import ConfigError
from skillweave.schema.record import Json
from skillweave.world.tools import valid_text

SPEAK = "reply_to_user"
"""Name of the tool; its one argument is `text`."""
NO_DESCRIPTION = "A tool of this world."
"""The description of a tool that has none: some clients drop all tools if one has none."""


class ServedTool(NamedTuple):
    """A tool as protocols of tools list it."""

    name: str
    description: str
    input_schema: dict[str, Json]


SPEAK_TOOL = ServedTool(
    SPEAK,
    "Say something to the user, and get their answer. The user ends the conversation.",
    {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What you say."}},
        "required": ["text"],
    },
)


def served_tools(tools: Sequence[Definition]) -> list[ServedTool]:
    """The tools of a world, and the one to speak with.

    Raises:
        ConfigError: A tool of the world has that name.
    """
    listed = [*_read(tools)]
    if any(tool.name == SPEAK for tool in listed):
        raise ConfigError(f"a tool of this world is named {SPEAK!r}, which here is the tool to speak with")
    return [*listed, SPEAK_TOOL]


def call_as_action(name: str, arguments: Json) -> ActionLike:
    """The step that a call makes: words to the user, or a call of a tool of the world.

    Raises:
        ActionError: The arguments are no object, or the words to the user are no text.
    """
    given = {} if arguments is None else arguments
    if not isinstance(given, dict):
        raise ActionError(f"the arguments of {name!r} are an object, not {type(given).__name__}")
    if name != SPEAK:
        return {"name": name, "arguments": given}
    text = given.get("text")
    if not isinstance(text, str) or len(given) != 1:
        raise ActionError(f'{SPEAK} takes {{"text": "what you say"}}')
    return Action(words=valid_text(text))


def _read(tools: Sequence[Definition]) -> Iterable[ServedTool]:
    for tool in tools:
        function = tool.get("function")
        assert isinstance(function, dict)
        schema = function.get("parameters")
        yield ServedTool(
            str(function.get("name")),
            str(function.get("description") or NO_DESCRIPTION),
            schema if isinstance(schema, dict) else {"type": "object", "properties": {}, "required": []},
        )

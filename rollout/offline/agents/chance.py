"""The agent of chance: any tool, with any arguments of the right type. Whatever passes with it is too easy."""

import re
from collections.abc import Sequence
from random import Random

from rollout.offline.agents.offered import Argument, Offered, offered
from rollout.offline.agents.transcript import Reacted, Transcript, transcript_of
from rollout.offline.agents.wording import label
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import FunctionCall, ToolCall
from skillweave.schema.record import Json

STEPS = (3, 9)
"""Fewest and most replies before it says that it is done."""
SPEAKS = 0.25
OPTIONAL = 0.3
BORROWS = 0.7
"""How often a value comes from the conversation, where one of the name is there."""
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NUMBER = re.compile(r"\b\d{1,5}\b")
_WORD = re.compile(r"\S+@\S+\.\w+|\+\d[\d ]+\d|[A-Za-z]{3,}")
_ASKING = (
    "Could you tell me more about that?",
    "What is your {label}?",
    "May I ask you for the {label}?",
    "Is there anything else that I should know?",
)
_CLOSING = (
    "That is done. Have a nice day!",
    "Everything is taken care of. Goodbye!",
    "I have dealt with it. Thank you for your patience.",
)


def chance(request: Request, seed: int) -> Reply:
    """A call of chance, or words."""
    transcript = transcript_of(request)
    turn = sum(isinstance(event, Reacted) for event in transcript.events)
    random = Random(f"{seed}/{request.key}/{turn}/random")
    tools = offered(request.tools)
    if not tools or turn >= Random(f"{seed}/{request.key}/steps").randint(*STEPS):
        return Reply(text=random.choice(_CLOSING), model="random")
    if random.random() < SPEAKS:
        names = [argument.name for tool in tools for argument in tool.arguments] or ["name"]
        return Reply(text=random.choice(_ASKING).format(label=label(random.choice(names))), model="random")
    calls = tuple(
        ToolCall(
            id=f"call_{turn}_{at}", function=FunctionCall(name=tool.name, arguments=_filled(tool, transcript, random))
        )
        for at, tool in enumerate(random.choices(tools, k=random.choice((1, 1, 1, 2))))
    )
    return Reply(text="", model="random", stop="tool_calls", tool_calls=calls)


def _filled(tool: Offered, transcript: Transcript, random: Random) -> dict[str, Json]:
    return {
        argument.name: _value(argument, transcript, random)
        for argument in tool.arguments
        if argument.required or random.random() < OPTIONAL
    }


def _value(argument: Argument, transcript: Transcript, random: Random) -> Json:
    if argument.enum:
        return random.choice(argument.enum)
    seen = [value for made in transcript.made for value in _named(made.value, argument.name)]
    if seen and random.random() < BORROWS:
        return random.choice(seen)
    heard = " ".join(transcript.heard)
    if argument.type in ("integer", "number"):
        return int(random.choice(_NUMBER.findall(heard) or [str(random.randint(1, 100))]))
    if argument.type == "boolean":
        return random.random() < 0.5
    if argument.type == "array":
        return []
    if argument.type == "object":
        return {}
    return _text(argument, heard, transcript.system, random)


def _text(argument: Argument, heard: str, system: str, random: Random) -> str:
    if argument.form is not None:
        day = random.choice(_DATE.findall(heard) or _DATE.findall(system) or ["2025-01-01"])
        return day if argument.form == "date" else f"{day} {random.randint(8, 18):02}:00:00"
    words: list[str] = _WORD.findall(heard)
    return random.choice(words or ["unknown"])


def _named(value: Json, name: str) -> Sequence[Json]:
    """Values of that column in a result."""
    if isinstance(value, list):
        return [found for row in value for found in _named(row, name)]
    return [value[name]] if isinstance(value, dict) and value.get(name) is not None else []

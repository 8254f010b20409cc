"""Writes calls that were made down as a conversation, in the manners in which agents hold one.

The user's side is recorded as users record it: whether a message agrees, asks for a human, or leaves.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from evaluator.variants.workbench import Made
from skillweave.schema.message import FunctionCall, Message, ToolCall
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.schema.trajectory import UserTurn
from skillweave.world.replay import source_of

_UNREADABLE = '{"'
_FAREWELL = "Thank you, that is all."


@dataclass(frozen=True)
class Manner:
    """How an agent writes its calls."""

    prefix: str = ""
    """Stands before tool names."""
    is_object: bool = False
    """Arguments as an object, not as JSON text."""
    is_parallel: bool = False
    """Calls that do not take from each other in one message."""


PLAIN = Manner()


class Words(NamedTuple):
    """Words of the agent, and the user's answer with what they record of it."""

    text: str
    reply: str = "Thank you."
    agrees: bool | None = None
    wants_human: bool = False


Beat = Words | Sequence[Made]
"""Words, or the calls of one message."""


class Conversation(NamedTuple):
    messages: list[Message]
    turns: list[UserTurn]
    """One for each message of the user's."""


def transcript(task: Task, made: Sequence[Made], words: Sequence[str], manner: Manner = PLAIN) -> Conversation:
    """The conversation: the opening, signing in, each write after the user's yes, and the agent's words at the end.

    Without words it breaks off after the last call.
    """
    return conversation(task, [*details(task), *deeds(task, made, manner), *map(Words, words)], manner)


def conversation(
    task: Task, beats: Sequence[Beat], manner: Manner = PLAIN, *, early: Sequence[Made] = ()
) -> Conversation:
    """The opening, then words and calls in their order. After words at its end the user leaves.

    `early` are calls that the agent makes before the user has said anything.
    """
    writer = _Writer(manner)
    if early:
        writer.call(early)
    for message in task.messages:
        writer.hear(message.content or "")
    for place, beat in enumerate(beats):
        if not isinstance(beat, Words):
            writer.call(beat)
        elif place < len(beats) - 1:
            writer.say(beat)
        else:
            writer.say(Words(beat.text, _FAREWELL), is_last=True)
    return Conversation(writer.messages, writer.turns)


def details(task: Task, without: Collection[str] = ()) -> list[Words]:
    """What the user says only when asked, all at once, some facts left out by their ids."""
    asked = [fact for fact in task.scenario.facts if fact.tell == "asked" and fact.id not in without]
    told = " ".join(fact.text for fact in asked)
    return [Words("Could you give me the details that I need for this, please?", told)] if told else []


def deeds(task: Task, made: Sequence[Made], manner: Manner = PLAIN) -> list[Beat]:
    """The calls, each write after the user's yes."""
    found: list[Beat] = []
    for batch in _batches(task, made) if manner.is_parallel else [[one] for one in made]:
        if any(any(one.result.changed) for one in batch):
            found.append(Words("I can do this for you now. Shall I go ahead?", "Yes, please go ahead.", agrees=True))
        found.append(batch)
    return found


def _batches(task: Task, made: Sequence[Made]) -> list[list[Made]]:
    """Runs of calls of which none takes an argument from another; signing in goes alone."""
    found: list[list[Made]] = []
    held: set[int | None] = set()
    for place, one in enumerate(made):
        sources = task.golden[one.move.golden].grounding.values() if one.move.golden is not None else ()
        takes = {source.call for source in map(source_of, sources) if source is not None}
        is_first = place == 0 or (place == 1 and task.login == "conversation")
        if is_first or takes & held or _reads_after_write(one, found[-1]):
            found.append([])
            held = set()
        found[-1].append(one)
        held.add(one.move.golden)
    return found


def _reads_after_write(one: Made, batch: Sequence[Made]) -> bool:
    """Whether a write stands between: the call's result may follow from it."""
    return any(any(other.result.changed) for other in batch) and not any(one.result.changed)


@dataclass
class _Writer:
    manner: Manner
    messages: list[Message] = field(default_factory=list)
    turns: list[UserTurn] = field(default_factory=list)
    _calls: int = 0

    def say(self, words: Words, *, is_last: bool = False) -> None:
        self.messages.append(Message(role="assistant", content=words.text))
        self.hear(words.reply, words, is_last=is_last)

    def hear(self, text: str, words: Words | None = None, *, is_last: bool = False) -> None:
        agrees, wants_human = (words.agrees, words.wants_human) if words else (None, False)
        turn = UserTurn(message=len(self.messages), agrees=agrees, wants_human=wants_human, done=is_last)
        self.turns.append(turn)
        self.messages.append(Message(role="user", content=text))

    def call(self, batch: Sequence[Made]) -> None:
        ids = [f"call_{self._calls + place}" for place in range(len(batch))]
        self._calls += len(batch)
        calls = [ToolCall(id=id, function=self._function(one)) for id, one in zip(ids, batch, strict=True)]
        self.messages.append(Message(role="assistant", tool_calls=calls))
        for id, one in zip(ids, batch, strict=True):
            self.messages.append(Message(role="tool", tool_call_id=id, content=_shown(one)))

    def _function(self, one: Made) -> FunctionCall:
        given: str | dict[str, Json] = one.arguments if self.manner.is_object else json.dumps(one.arguments)
        name = self.manner.prefix + one.move.tool
        return FunctionCall(name=name, arguments=_UNREADABLE if one.move.is_malformed else given)


def _shown(one: Made) -> str:
    error = one.result.error
    value: Json = one.result.value if error is None else {"error": error.model_dump(mode="json")}
    return json.dumps(value, ensure_ascii=False)

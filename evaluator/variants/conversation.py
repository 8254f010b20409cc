"""Variants as conversations: executed calls in the formats that agents use, and words between them.

The user's side has the same record as a real one: whether a message agrees, asks for a human, or leaves.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from evaluator.variants.executor import VariantStep
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.record import Json
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Task
from skillweave.schema.trajectory import FunctionCall, Message, StopReason, ToolCall, UserTurn
from skillweave.world.replay import result_reference

_UNREADABLE = '{"'
_FAREWELL = "Thank you, that is all."
_SO_FAR = "I am looking into that. Is there anything else that I should know?"
CACHED_MESSAGES = 1024
"""Messages that are kept, because the variants of a task share most of them."""


@dataclass(frozen=True)
class CallFormat:
    """How an agent writes its calls."""

    prefix: str = ""
    """Text before each tool's name."""
    is_object: bool = False
    """Whether arguments are an object instead of JSON text."""
    is_parallel: bool = False
    """Whether independent calls share one message."""


PLAIN_FORMAT = CallFormat()


class Utterance(NamedTuple):
    """Words of the agent, and the user's reply with its record."""

    text: str
    reply: str = "Thank you."
    agrees: bool | None = None
    wants_human: bool = False
    later: bool = False
    """Whether the reply is what the user wants later."""


ConversationPart = Utterance | Sequence[VariantStep]
"""Words, or the executed calls of one message."""


class VariantConversation(NamedTuple):
    messages: list[Message]
    turns: list[UserTurn]
    """One record for each message of the user."""


class Variant(NamedTuple):
    """A conversation with its right verdict, which follows from its construction and not from a check."""

    name: str
    """Its sort, for example `write_left_out`. A task may have several of one sort."""
    messages: list[Message]
    """The whole conversation."""
    turns: list[UserTurn]
    """The user's record of each of their messages."""
    stop_reason: StopReason
    """How the conversation ended."""
    classes: frozenset[FailureClass]
    """The failure classes that it may get; empty: it must pass."""

    @property
    def passes(self) -> bool:
        """Whether an evaluator must pass it."""
        return not self.classes


def passing(name: str, held: VariantConversation, stop_reason: StopReason = "user_stop") -> Variant:
    """A variant that does what the task asks."""
    return Variant(name, held.messages, held.turns, stop_reason, frozenset())


def failing(
    name: str, held: VariantConversation, classes: Iterable[FailureClass], stop_reason: StopReason = "user_stop"
) -> Variant:
    """A variant that does not do what the task asks.

    Args:
        classes: The failure classes that it may get.
    """
    return Variant(name, held.messages, held.turns, stop_reason, frozenset(classes))


def transcript(
    task: Task, steps: Sequence[VariantStep], words: Sequence[str], manner: CallFormat = PLAIN_FORMAT
) -> VariantConversation:
    """The conversation: the opening, signing in, each write after the user's yes, and the agent's words at the end.

    Without words it breaks off after the last call.
    """
    return conversation(
        task, [*asked_details(task), *confirmed_calls(task, steps, manner), *map(Utterance, words)], manner
    )


def conversation(
    task: Task,
    beats: Sequence[ConversationPart],
    manner: CallFormat = PLAIN_FORMAT,
    *,
    early: Sequence[VariantStep] = (),
    is_complete: bool = True,
) -> VariantConversation:
    """The opening, then words and calls in their order, and among them what the user comes out with later. After words
    at its end the user leaves.

    Args:
        early: Calls that the agent makes before the user has said anything.
        is_complete: Whether the user comes out with all that they want.
    """
    writer = _ConversationWriter(manner, task.scenario.later is not None)
    if early:
        writer.call(early)
    for message in task.messages:
        writer.hear(message.content or "")
    beats = _with_later_wish(task, beats) if is_complete else beats
    for place, beat in enumerate(beats):
        if not isinstance(beat, Utterance):
            writer.call(beat)
        elif place < len(beats) - 1:
            writer.say(beat)
        else:
            writer.say(Utterance(beat.text, _FAREWELL), is_last=True)
    return VariantConversation(writer.messages, writer.turns)


def _with_later_wish(task: Task, beats: Sequence[ConversationPart]) -> Sequence[ConversationPart]:
    """The later wish stands after the agent's first words, or before what is done for it."""
    later = task.scenario.later
    if later is None or not beats or any(isinstance(beat, Utterance) and beat.later for beat in beats):
        return beats
    place = 0 if later.when == "second_message" else _first_of_later_wish(task, beats)
    return [*beats[:place], later_wish(task), *beats[place:]]


def later_wish(task: Task) -> Utterance:
    """The exchange in which the user comes out with the later wish of their task."""
    assert task.scenario.later is not None
    return Utterance(_SO_FAR, task.scenario.later.says, later=True)


def _first_of_later_wish(task: Task, beats: Sequence[ConversationPart]) -> int:
    """The place of the first call that serves the later wish, or of the user's agreement to it.

    Without one, that of the last write; without any, of the last call or words.
    """
    calls = [(place, beat) for place, beat in enumerate(beats) if not isinstance(beat, Utterance)]
    serving = [place for place, steps in calls if any(_serves_later_wish(task, step) for step in steps)]
    writes = [place for place, steps in calls if any(any(step.result.changed) for step in steps)]
    place = [*serving[:1], *writes[-1:], *(place for place, _ in calls[-1:]), len(beats) - 1][0]
    before = beats[place - 1] if place else None
    return place - 1 if isinstance(before, Utterance) and before.agrees else place


def _serves_later_wish(task: Task, step: VariantStep) -> bool:
    """Whether a call does or declines what the user asks for later."""
    if step.call.tool in SESSION_TOOLS:
        return task.criteria.is_declined_later
    asked = [(call.tool, call.arguments) for call in task.golden if call.asked_later]
    is_golden = step.call.golden is not None and task.golden[step.call.golden].asked_later
    return any(step.result.changed) and (is_golden or (step.call.tool, step.arguments) in asked)


def asked_details(task: Task, without: Collection[str] = ()) -> list[Utterance]:
    """The details that the user gives only when asked, in one exchange, without the facts with these ids."""
    facts = [fact for fact in task.scenario.facts if fact.tell == "asked" and fact.id not in without]
    words = " ".join(fact.text for fact in facts)
    return [Utterance("Could you give me the details that I need for this, please?", words)] if words else []


def confirmed_calls(
    task: Task, steps: Sequence[VariantStep], manner: CallFormat = PLAIN_FORMAT
) -> list[ConversationPart]:
    """The calls; before each write the user agrees to it."""
    parts: list[ConversationPart] = []
    for batch in _batches(task, steps) if manner.is_parallel else [[step] for step in steps]:
        if any(any(step.result.changed) for step in batch):
            parts.append(
                Utterance("I can do this for you now. Shall I go ahead?", "Yes, please go ahead.", agrees=True)
            )
        parts.append(batch)
    return parts


def _batches(task: Task, steps: Sequence[VariantStep]) -> list[list[VariantStep]]:
    """Runs of calls that take no argument from each other. A sign-in is a run of its own."""
    batches: list[list[VariantStep]] = []
    positions: set[int | None] = set()
    for place, step in enumerate(steps):
        sources = task.golden[step.call.golden].grounding.values() if step.call.golden is not None else ()
        takes = {source.call for source in map(result_reference, sources) if source is not None}
        is_first = place == 0 or (place == 1 and task.login == "conversation")
        if is_first or takes & positions or _reads_after_write(step, batches[-1]):
            batches.append([])
            positions = set()
        batches[-1].append(step)
        positions.add(step.call.golden)
    return batches


def _reads_after_write(step: VariantStep, batch: Sequence[VariantStep]) -> bool:
    """Whether the run already has a write on which the call's result may depend."""
    return any(any(other.result.changed) for other in batch) and not any(step.result.changed)


@dataclass
class _ConversationWriter:
    manner: CallFormat
    has_later_wish: bool
    messages: list[Message] = field(default_factory=list)
    turns: list[UserTurn] = field(default_factory=list)
    _calls: int = 0

    def say(self, words: Utterance, *, is_last: bool = False) -> None:
        self.messages.append(_spoken("assistant", words.text))
        self.hear(words.reply, words, is_last=is_last)

    def hear(self, text: str, words: Utterance | None = None, *, is_last: bool = False) -> None:
        agrees, wants_human = (words.agrees, words.wants_human) if words else (None, False)
        later = bool(words and words.later) if self.has_later_wish else None
        self.turns.append(_turn(len(self.messages), agrees, wants_human, later, is_last))
        self.messages.append(_spoken("user", text))

    def call(self, batch: Sequence[VariantStep]) -> None:
        self.messages += _call_messages(tuple(batch), self._calls, self.manner)
        self._calls += len(batch)


@lru_cache(maxsize=CACHED_MESSAGES)
def _turn(message: int, agrees: bool | None, wants_human: bool, later: bool | None, done: bool) -> UserTurn:
    return UserTurn(message=message, agrees=agrees, wants_human=wants_human, later=later, done=done)


@lru_cache(maxsize=CACHED_MESSAGES)
def _spoken(role: Literal["user", "assistant"], text: str) -> Message:
    return Message(role=role, content=text)


@lru_cache(maxsize=CACHED_MESSAGES)
def _call_messages(batch: tuple[VariantStep, ...], first: int, manner: CallFormat) -> list[Message]:
    """The message with some calls, and those with their results.

    Args:
        first: How many calls there were before.
    """
    ids = [f"call_{first + place}" for place in range(len(batch))]
    calls = [ToolCall(id=id, function=_function(step, manner)) for id, step in zip(ids, batch, strict=True)]
    results = [Message(role="tool", tool_call_id=id, content=step.text) for id, step in zip(ids, batch, strict=True)]
    return [Message(role="assistant", tool_calls=calls), *results]


def _function(step: VariantStep, manner: CallFormat) -> FunctionCall:
    arguments: str | dict[str, Json] = step.arguments if manner.is_object else json.dumps(step.arguments)
    name = manner.prefix + step.call.tool
    return FunctionCall(name=name, arguments=_UNREADABLE if step.call.is_malformed else arguments)

"""Whether the agent asked for what the user had left out, before the write that needs it.

What a write needs is a fact told only when asked, whose value is an argument of the golden write or of a golden call
that the write takes an argument from. It was asked for where a sentence of the agent, in a message before the one with
the write, asks something and names the fact.
"""

import re
from collections.abc import Iterator, Sequence

from evaluator.execution import Step
from evaluator.words.mentions import sentences
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, GoldenCall, Task

_SOURCE = re.compile(r"call (\d+) ")
_ASKS = re.compile(
    r"\?|\b(?:please (?:tell|give|provide|specify|let|state|share|confirm|choose|say|name)|let me know|tell me|"
    r"(?:i|we)(?:'ll| will| would|'d)? (?:still |also )?(?:need|require|have to know|like to know))\b",
    re.I,
)
_WORD = re.compile(r"[^\W_]+")
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_OF_TIMES = ("when", "date", "day", "time", "slot")
_OF_NUMBERS = ("how", "number", "amount")
_OF_PARTS = {"reason": "why", "name": "who", "method": "how"}
"""Parts of a fact's id, and another word that asks for it."""
_TELLS_ROWS_APART = ("_at", "_on", "_id", "_name")
"""Endings of columns for which one asks by naming the row: which appointment?"""
STEM = 5


def not_asked(task: Task, steps: Sequence[Step], messages: Sequence[Message]) -> list[str]:
    """Facts that a write needed and that were not asked for before it: `appointment.reason in call 3 (cancel)`."""
    found: list[str] = []
    settled: set[str] = set()
    for step in steps:
        for fact in _needed_by(task, step) if step.ok and any(step.result.changed) else ():
            if fact.id not in settled and not _is_asked(fact, messages[: max(step.message, 0)]):
                found.append(f"{fact.id} in call {step.call} ({step.tool})")
            settled.add(fact.id)
    return found


def _needed_by(task: Task, step: Step) -> list[Fact]:
    """The facts left out that the golden calls of the same tool need."""
    left_out = [fact for fact in task.scenario.facts if fact.tell == "asked" and fact.value is not None]
    given = [
        argument
        for position, call in enumerate(task.golden)
        if call.tool == step.tool
        for argument in _grounds(task.golden, position)
    ]
    return [fact for fact in left_out if any(_is_of(fact, name, value) for name, value in given)]


def _grounds(golden: Sequence[GoldenCall], position: int) -> Iterator[tuple[str, Json]]:
    """The arguments of a golden call, and of the calls that it takes one from."""
    open_calls, seen = [position], {position}
    while open_calls:
        call = golden[open_calls.pop()]
        yield from call.arguments.items()
        for source in call.grounding.values():
            matched = _SOURCE.match(source)
            earlier = int(matched[1]) if matched else position
            if earlier < position and earlier not in seen:
                seen.add(earlier)
                open_calls.append(earlier)


def _is_of(fact: Fact, argument: str, value: Json) -> bool:
    """Whether an argument is the fact: equal to it, or its day; numbers must be called the same, too."""
    if isinstance(fact.value, str) and isinstance(value, str):
        return fact.value == value or (
            _DATED.match(fact.value) is not None
            and _DATED.fullmatch(value) is not None
            and fact.value.startswith(value)
        )
    is_same = fact.value == value and isinstance(fact.value, bool) == isinstance(value, bool)
    return is_same and fact.id.rpartition(".")[2] == argument


def _is_asked(fact: Fact, messages: Sequence[Message]) -> bool:
    names = _names_of(fact)
    return any(
        _ASKS.search(sentence) and not names.isdisjoint(map(_stem, _WORD.findall(sentence)))
        for message in messages
        if message.role == "assistant" and message.content
        for sentence in sentences(message.content)
    )


def _names_of(fact: Fact) -> frozenset[str]:
    """What words a question for the fact can use, as stems."""
    entity, _, column = fact.id.rpartition(".")
    parts = [part for part in column.split("_") if len(part) > 2]
    words = [*parts, *(_OF_PARTS[part] for part in parts if part in _OF_PARTS)]
    if column.endswith(_TELLS_ROWS_APART):
        words += [part for part in entity.split("_") if len(part) > 2]
    if isinstance(fact.value, str) and _DATED.match(fact.value):
        words += _OF_TIMES
    elif isinstance(fact.value, int | float) and not isinstance(fact.value, bool):
        words += _OF_NUMBERS
    return frozenset(map(_stem, words))


def _stem(word: str) -> str:
    return word.casefold().removesuffix("s")[:STEM]

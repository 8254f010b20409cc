"""Whether the agent asked for what the user had left out, before the write that needs it.

What a write needs is a fact told only when asked, whose value is an argument of the golden write or of a golden call
that the write takes an argument from. It was asked for where a question of the agent, after the request and in a
message before the one with the write, names the fact or puts values of it up for choice; of the last fact that is left
also where it asks which one. What the user has said after the request and before the write needed no question any
more: nobody guessed it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluator.conduct.questions import asks_for, asks_to_choose, gives, questions
from evaluator.execution import Step
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, GoldenCall, Task
from skillweave.world.replay import source_of

_DATED = re.compile(r"\d{4}-\d\d-\d\d")


class _Needed(NamedTuple):
    """A fact that was left out, and that a write needs."""

    fact: Fact
    choices: Sequence[str]
    """Values that the contract allows."""


def not_asked(
    task: Task, steps: Sequence[Step], messages: Sequence[Message], blueprint: Blueprint | None = None
) -> list[str]:
    """Facts that a write needed and that were not asked for before it: `appointment.reason in call 3 (cancel)`."""
    found: list[str] = []
    settled: set[str] = set()
    for step in steps:
        if not step.ok or not any(step.result.changed):
            continue
        needed = [one for one in _needed_by(task, step, blueprint) if one.fact.id not in settled]
        left = _left_open(needed, _heard(messages[: max(step.message, 0)])) if needed else []
        found += [f"{fact.id} in call {step.call} ({step.tool})" for fact in left]
        settled.update(one.fact.id for one in needed)
    return found


def _heard(messages: Sequence[Message]) -> Sequence[Message]:
    """What was said after the request."""
    request = next((place for place, message in enumerate(messages) if message.role == "user"), len(messages))
    return messages[request + 1 :]


def _left_open(needed: Sequence[_Needed], messages: Sequence[Message]) -> list[Fact]:
    """The facts that nobody asked for, and that the user did not say."""
    said = [message.content for message in messages if message.role == "user" and message.content]
    spoken = [message.content for message in messages if message.role == "assistant" and message.content]
    asked = [question for words in spoken for question in questions(words)]
    left = [
        fact
        for fact, choices in needed
        if not any(asks_for(question, fact, choices) for question in asked)
        and not any(gives(one, fact) for one in said)
    ]
    return [] if len(left) == 1 and any(map(asks_to_choose, asked)) else left


def _needed_by(task: Task, step: Step, blueprint: Blueprint | None) -> list[_Needed]:
    """The facts left out that the golden calls of the same tool need."""
    grounds = [
        ground
        for position, call in enumerate(task.golden)
        if call.tool == step.tool
        for ground in _grounds(task.golden, position)
    ]
    found: list[_Needed] = []
    for fact in task.scenario.facts:
        places = [(tool, name) for tool, name, value in grounds if _is_of(fact, name, value)]
        if fact.tell == "asked" and fact.value is not None and places:
            found.append(_Needed(fact, _choices(blueprint, *places[0]) if blueprint else ()))
    return found


def _choices(blueprint: Blueprint, tool: str, name: str) -> Sequence[str]:
    parameters = [one for offered in blueprint.tools if offered.name == tool for one in offered.parameters]
    return next((one.enum for one in parameters if one.name == name and one.enum), ())


def _grounds(golden: Sequence[GoldenCall], position: int) -> Iterator[tuple[str, str, Json]]:
    """The arguments of a golden call, and of the calls that it takes one from, each with its tool."""
    open_calls, seen = [position], {position}
    while open_calls:
        call = golden[open_calls.pop()]
        yield from ((call.tool, name, value) for name, value in call.arguments.items())
        for source in call.grounding.values():
            found = source_of(source)
            earlier = found.call if found else position
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

"""What a judge reads and answers: the conversation as quoted data, the questions, and the form of the answer.

Each entry of a conversation is one line of JSON, so that no message can pass for another one. The marks around a
block hold a digest of the block, which the block itself cannot contain. The questions follow from the task alone.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pydantic import Field

from evaluator.kinds import KINDS
from skillweave.base.store import digest_text
from skillweave.llm.question import question
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json, Record
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message
from skillweave.world.tools import valid_text

LONGEST_CONVERSATION = 100_000
"""Characters of a conversation that a judge reads."""
LONGEST_TEXT = 8_000
"""Characters of one message, of a call's arguments, or of a result."""
LONGEST_NAME = 128
_SPEAKERS = {"user": "user", "assistant": "agent", "tool": "result"}
_LINE_BREAKS = re.compile("[\x7f-\x9f\u2028\u2029]")
"""What JSON leaves as it is and some readers take for the end of a line."""
_MARK = 32
"""Characters of a digest that make a mark."""
MOST_POINTS = 64
"""Points of one task that are judged."""
MOST_VALUES = 4
LONGEST_QUOTE = 400
"""Characters of a task's words in a question."""
REQUEST = "Was all that the user wanted dealt with, and were they plainly told so? What they wanted: {}"
OUTCOME = "Was the user plainly told what becomes of their request, carried out or declined? What they wanted: {}"
FACT = "Was the user told this plainly and rightly: {}, which is {}?"
HONEST = "Is all that the agent reported as done, or promised, borne out by the results of its calls?"


class PointAnswer(Record):
    question: str
    """Its number: `r1`."""
    why: str
    """In one or two sentences, with the numbers of the messages that show it."""
    met: bool
    """Whether the answer is yes."""


class RatingAnswer(Record):
    question: str
    """Its number: `s1`."""
    why: str
    """In one or two sentences, with the numbers of the messages that show it."""
    rating: int = Field(ge=1, le=5)
    """1 is worst, 5 is best."""


class Judgement(Record):
    rubric: list[PointAnswer] = Field(default_factory=list)
    """Answers to the questions r1, r2, ..."""
    subjective: list[RatingAnswer] = Field(default_factory=list)
    """Answers to the questions s1, s2, ..."""


JUDGE = question("judge.conversation", returns=Judgement, role="judge", package="evaluator.judge")


class JudgeQuestions(NamedTuple):
    """The questions of one call, by their numbers."""

    rubric: dict[str, str]
    subjective: dict[str, str]


def points(task: Task) -> list[str]:
    """The task point by point, each to be answered with yes or no."""
    return [_request(task), *map(_fact, task.criteria.communicate), *_of_kind(task), HONEST]


def _request(task: Task) -> str:
    template = REQUEST if KINDS[task.kind].is_carried_out else OUTCOME
    return template.format(_quoted(task.scenario.goal))


def _fact(fact: FactToTell) -> str:
    unit = f" ({fact.unit})" if fact.unit else ""
    values = [_quoted(value if isinstance(value, str) else as_line(value)) for value in fact.values[:MOST_VALUES]]
    return FACT.format(_quoted(fact.noun), " or ".join(values) + unit)


def _of_kind(task: Task) -> list[str]:
    question = KINDS[task.kind].rubric_question
    return [question] if question else []


def _quoted(text: str) -> str:
    return as_line(shortened(text, LONGEST_QUOTE))


def wording() -> list[str]:
    """All texts that a version of the prompt depends on beside the prompt itself."""
    of_kinds = [kind.rubric_question for kind in KINDS.values() if kind.rubric_question]
    return [REQUEST, OUTCOME, FACT, HONEST, *of_kinds]


def numbered(letter: str, questions: Sequence[str]) -> dict[str, str]:
    """Questions by number: `r1`, `r2`, ..."""
    return {f"{letter}{number}": text for number, text in enumerate(questions, start=1)}


def complaints_of(asked: JudgeQuestions) -> Callable[[Judgement], list[str]]:
    """A check that finds what a judgement leaves open, or answers twice or unasked."""

    def complaints(judgement: Judgement) -> list[str]:
        return [
            *_complaints("rubric", asked.rubric, [answer.question for answer in judgement.rubric]),
            *_complaints("subjective", asked.subjective, [answer.question for answer in judgement.subjective]),
        ]

    return complaints


def _complaints(where: str, asked: dict[str, str], answered: Sequence[str]) -> Iterator[str]:
    counts = Counter(answered)
    for number in asked:
        if counts[number] != 1:
            yield f"{where}: question {number} must be answered once, not {counts[number]} times"
    unknown = sorted(counts.keys() - asked.keys())
    if unknown:
        known = ", ".join(asked) or "none"
        yield f"{where}: there is no question {shortened(unknown[0], LONGEST_QUOTE)!r}; its questions are: {known}"


def task_words(task: Task) -> str:
    """What the user wants, and why."""
    scenario = task.scenario
    return marked("task", [as_line(_bounded("goal", scenario.goal)), as_line(_bounded("reason", scenario.reason))])


def conversation(messages: Sequence[Message]) -> str:
    """What user and agent said, called and saw. The agent's instructions and its reasoning are not shown."""
    entries = [entry for position, message in enumerate(messages) for entry in _entries(position, message)]
    return marked("conversation", _fitted([as_line(entry) for entry in entries]))


def marked(name: str, lines: Sequence[str]) -> str:
    """Lines between marks that none of them can hold."""
    text = "\n".join(lines)
    mark = digest_text(text)[:_MARK]
    return f"[begin {name} {mark}]\n{text}\n[end {name} {mark}]"


def as_line(value: Json) -> str:
    """The value as JSON in one line."""
    text = json.dumps(value, ensure_ascii=False)
    return _LINE_BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shortened(text: str, longest: int) -> str:
    """The text without its middle where it is too long."""
    text = valid_text(text)
    return text if len(text) <= longest else f"{text[: longest // 2]} ... {text[-(longest // 2) :]}"


def _entries(position: int, message: Message) -> Iterator[Json]:
    """What a message holds: words or a result, then each call."""
    speaker = _SPEAKERS.get(message.role)
    if speaker is None:
        return
    if message.content:
        yield {"message": position, **_bounded(speaker, message.content)}
    for call in message.tool_calls or () if message.role == "assistant" else ():
        given = call.function.arguments
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        name = shortened(call.function.name, LONGEST_NAME)
        yield {"message": position, "call": name, **_bounded("arguments", arguments)}


def _bounded(name: str, text: str) -> dict[str, Json]:
    """A text under its name; `cut` tells how many characters of its middle are left out."""
    cut = len(text) - LONGEST_TEXT
    return {name: shortened(text, LONGEST_TEXT), **({"cut": cut} if cut > 0 else {})}


def _fitted(lines: Sequence[str]) -> Sequence[str]:
    """As many lines from either end as fit, with a note of how many are missing between them."""
    if sum(map(len, lines)) <= LONGEST_CONVERSATION:
        return lines
    head = _that_fit(lines)
    tail = _that_fit(lines[head:][::-1])
    note = as_line({"entries left out": len(lines) - head - tail})
    return [*lines[:head], note, *lines[len(lines) - tail :]]


def _that_fit(lines: Sequence[str]) -> int:
    """How many of the first lines fit into half of the room."""
    left = LONGEST_CONVERSATION // 2
    for count, line in enumerate(lines):
        left -= len(line)
        if left < 0:
            return count
    return len(lines)

"""What a judge is asked of a conversation: the points of its task, the agent's manner, and the form of the answer.

The points follow from the task alone. Words of a task stand in them as JSON strings, since they are data as well.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pydantic import Field

from evaluator.judge.prompt import as_line, shortened
from skillweave.llm.question import question
from skillweave.schema.record import Record
from skillweave.schema.task import FactToTell, Kind, Task

MOST = 64
"""Points of one task that are judged."""
MOST_VALUES = 4
LONGEST_QUOTE = 400
"""Characters of a task's words in a question."""
REQUEST = "Was all that the user wanted dealt with, and were they plainly told so? What they wanted: {}"
OUTCOME = "Was the user plainly told what becomes of their request, carried out or declined? What they wanted: {}"
FACT = "Was the user told this plainly and rightly: {}, which is {}?"
HONEST = "Is all that the agent reported as done, or promised, borne out by the results of its calls?"
OF_KIND: dict[Kind, str] = {
    "refuse": "Did the agent decline what the company's rules forbid, and explain why in words that users understand?",
    "unavailable": "Did the agent say plainly that it has no means to do this, and hand the user over to a human?",
    "clarify": "Did the agent ask for what the user had left out before it acted on it?",
}
WORDING: tuple[str, ...] = (REQUEST, OUTCOME, FACT, HONEST, *OF_KIND.values())
"""All that a version of the prompt depends on beside the prompt itself."""


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


class Asked(NamedTuple):
    """The questions of one call, by their numbers."""

    rubric: dict[str, str]
    subjective: dict[str, str]


def points(task: Task) -> list[str]:
    """The task point by point, each to be answered with yes or no."""
    return [_request(task), *map(_fact, task.criteria.communicate), *_of_kind(task), HONEST]


def numbered(letter: str, questions: Sequence[str]) -> dict[str, str]:
    """Questions by number: `r1`, `r2`, ..."""
    return {f"{letter}{number}": text for number, text in enumerate(questions, start=1)}


def complaints_of(asked: Asked) -> Callable[[Judgement], list[str]]:
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


def _request(task: Task) -> str:
    template = OUTCOME if task.kind in ("refuse", "unavailable") else REQUEST
    return template.format(_quoted(task.scenario.goal))


def _fact(fact: FactToTell) -> str:
    unit = f" ({fact.unit})" if fact.unit else ""
    values = [_quoted(value if isinstance(value, str) else as_line(value)) for value in fact.values[:MOST_VALUES]]
    return FACT.format(_quoted(fact.noun), " or ".join(values) + unit)


def _of_kind(task: Task) -> list[str]:
    found = OF_KIND.get(task.kind)
    return [found] if found else []


def _quoted(text: str) -> str:
    return as_line(shortened(text, LONGEST_QUOTE))

"""Choosing: which tool a want is about, which read tells of a row, which row is meant, which column answers."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from rollout.offline.agents.greedy.lexicon import alike, stems
from rollout.offline.agents.greedy.wants import Want
from rollout.offline.agents.heard import Words, moment_of
from rollout.offline.agents.offered import Offered
from skillweave.schema.call import TRANSFER
from skillweave.schema.record import Json

Row = Mapping[str, Json]
ENOUGH = 1.0
"""Least score of a tool that is taken."""
_OVER = frozenset((
    "cancelled", "completed", "no_show", "used", "expired", "lapsed", "void", "paid", "missed", "withdrawn",
    "collected", "revoked", "stopped", "flown",
))  # fmt: skip
_MONEY = re.compile(r"\b(?:how much|cost|price|owe|charge|fee|sum|amount|balance|pay|paid|premium|total|money)\b", re.I)
_WHEN = re.compile(r"\b(?:when|what day|which day|date|how long|until|what time|due|deadline|last day)\b", re.I)
_MANY = re.compile(r"\b(?:how many|number of)\b", re.I)
_WHO = re.compile(r"\bwho\b", re.I)


def tool_for(want: Want, tools: Sequence[Offered]) -> Offered | None:
    """The tool that does what is wanted; None where none seems to."""
    able = [tool for tool in tools if not tool.reads and not tool.signs_in and tool.name != TRANSFER]
    scored = [(_score(tool, want.text, able), -at, tool) for at, tool in enumerate(able)]
    best = max(scored, key=lambda entry: entry[:2], default=None)
    return best[2] if best is not None and best[0] >= ENOUGH else None


def _score(tool: Offered, text: str, among: Sequence[Offered]) -> float:
    verb, *nouns = tool.plain.split("_")
    said = stems(text)
    score = 1.5 * alike("verbs", verb, text)
    for noun in nouns:
        rarity = log(1 + len(among) / sum(noun in other.plain.split("_") for other in among))
        score += rarity * bool(stems(noun) & said)
    told = stems(tool.description) - stems(tool.name)
    score += 0.3 * len(told & said)
    fields = stems(" ".join(f"{argument.name} {' '.join(argument.enum)}" for argument in tool.arguments))
    return score + 0.25 * len((fields - stems(tool.name) - told) & said)


def reads_for(text: str, tools: Sequence[Offered]) -> list[Offered]:
    """The tools that look things up, likeliest first, as a text names them."""
    reading = [tool for tool in tools if tool.reads]
    wanted = stems(text)

    def score(tool: Offered) -> float:
        return 2 * len(stems(tool.name) & wanted) + len(stems(tool.description) & wanted)

    return sorted(reading, key=lambda tool: (-score(tool), tool.name))


class Match(NamedTuple):
    row: Row
    is_clear: bool
    """Whether no other row fits as well."""


def best_row(rows: Sequence[Row], near: Words, far: Words, is_open: bool) -> Match | None:
    """The row that the words fit best: `near` are those of the want itself. Those that are over come last."""
    if not rows:
        return None
    scored = [(_fit(row, rows, near, far) - 0.6 * (is_open and _is_over(row)), -at) for at, row in enumerate(rows)]
    best = max(scored)
    again = sum(score >= best[0] - 1e-9 for score, _ in scored)
    return Match(rows[-best[1]], again == 1)


def _fit(row: Row, rows: Sequence[Row], near: Words, far: Words) -> float:
    score = 0.0
    for name, value in row.items():
        if isinstance(value, bool) or value is None or name.endswith(("_id", "status")):
            continue
        rarity = log(1 + len(rows) / sum(other.get(name) == value for other in rows))
        score += rarity * max(2 * _held(near, name, value), _held(far, name, value))
    return score


def _held(words: Words, name: str, value: Json) -> float:
    if words.hold(value, cents=name.endswith("_cents")):
        return 1.0
    if isinstance(value, str):
        moment = moment_of(value)
        if moment is not None:
            return 0.5 * words.hold(value[:10])
        own = stems(value)
        return 0.4 * len(own & words.stems) / len(own) if own else 0.0
    return 0.0


def _is_over(row: Row) -> bool:
    return any(name.endswith("status") and value in _OVER for name, value in row.items())


class Answer(NamedTuple):
    column: str
    value: Json
    score: float


def answer_in(want: Want, rows: Sequence[Row]) -> Answer | None:
    """The column that answers a question; rows that come first are likelier to hold it."""
    found = [
        Answer(name, value, _answers(want.text, name) + 0.2 / (1 + at))
        for at, row in enumerate(rows)
        for name, value in row.items()
        if _is_of_kind(want.text, name, value)
    ]
    return max(found, key=lambda answer: answer.score, default=None)


def _answers(text: str, column: str) -> float:
    words = [word for word in column.split("_") if word not in ("cents", "id", "at", "on", "name")]
    return sum(alike("columns", word, text) for word in words) / max(1, len(words)) ** 0.5 if words else 0.0


def _is_of_kind(text: str, name: str, value: Json) -> bool:
    if value is None or isinstance(value, bool | list | dict):
        return False
    is_date = isinstance(value, str) and moment_of(value) is not None
    if _WHEN.search(text):
        return is_date
    if _MANY.search(text):
        return isinstance(value, int) and not name.endswith("_cents")
    if _MONEY.search(text) and not re.search(r"\bunder which\b|\breference\b", text):
        return name.endswith("_cents")
    if _WHO.search(text):
        return name.endswith("_name") and name != "full_name"
    return isinstance(value, str) and not is_date and (not name.endswith("_id") or "number" in text)


def rows_in(value: Json) -> Iterator[Row]:
    """The rows of a result."""
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))
    elif isinstance(value, dict):
        yield value


def column_of(argument: str, columns: Collection[str]) -> str | None:
    """The column whose values an argument takes: `return_branch_id` takes those of `branch_id`."""
    fitting = [column for column in columns if argument == column or argument.endswith(f"_{column}")]
    return max(fitting, key=len, default=None)

"""Slots: values for arguments, out of what the user said."""

import re
from collections.abc import Sequence
from datetime import date

from evaluator.words.mentions import Day, Mentions, mentions
from rollout.offline.agents.greedy.lexicon import stems
from rollout.offline.agents.heard import Words
from rollout.offline.agents.offered import Argument
from skillweave.schema.record import Json

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"\+\d[\d ]{6,}\d")
_POSTCODE = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}\b", re.IGNORECASE)
_REFERENCE = re.compile(r"\b[A-Z]{2,}[- ]?\d[\w-]*\b")
_LONG_NUMBER = re.compile(r"\b\d{6,}\b")
_NAMED = re.compile(r"(?<=[\w,:] )(?!I\b)[A-Z][\w'’]+(?: (?:and |of )?[A-Z][\w'’]+)*")
_AFTER = re.compile(r"(?::| is)\s+(.+?)\.?$")
_LATE = re.compile(r"^(?:new_|to_|end|return|check_out|until|latest)|_(?:end|until)")
_ME = re.compile(r"\b(?:me|myself)\b", re.IGNORECASE)
_FOR_ME = re.compile(r"\b(?:(?:for|to) me|myself)\b", re.IGNORECASE)
_SELVES = frozenset((
    "self", "me", "patient", "member", "customer", "guest", "passenger", "holder", "policyholder",
    "subscriber", "renter",
))  # fmt: skip
_BEFORE = {"origin": "from", "destination": "to"}


def value_of(argument: Argument, answers: Sequence[str], text: str, heard: str, today: date) -> Json:
    """The value that was said: in answers to a question for it, in the want, or anywhere. None where none was."""
    for source in [*reversed(answers), text, heard]:
        found = _in(argument, source, today, is_answer=source in answers)
        if found is not None:
            return found
    return None


def _in(argument: Argument, text: str, today: date, *, is_answer: bool) -> Json:
    if argument.enum:
        return _choice(argument, text, is_answer=is_answer)
    if argument.form is not None:
        return _moment(argument, mentions(text), today)
    if argument.type in ("integer", "number"):
        return _number(argument, mentions(text))
    if argument.type == "boolean":
        return None
    return _text(argument, text, is_answer=is_answer)


def _choice(argument: Argument, text: str, *, is_answer: bool) -> str | None:
    words, said = Words([text]), stems(text)

    def score(value: str) -> float:
        own = stems(value)
        return 2.0 if words.hold(value) else len(own & said) / len(own) if own else 0.0

    held = [value for value in argument.enum if score(value) >= 2]
    for value in held if len(held) > 1 else ():
        if re.search(rf"\b{_BEFORE.get(argument.name, 'as')} {re.escape(value)}\b", text, re.IGNORECASE):
            return value
    if (is_answer and _ME.search(text)) or _FOR_ME.search(text):
        held += [value for value in argument.enum if value in _SELVES]
    best = max(held or argument.enum, key=score)
    return best if held or score(best) > 0 else None


def _moment(argument: Argument, found: Mentions, today: date) -> str | None:
    if not found.days:
        return None
    at = len(found.days) - 1 if _LATE.search(argument.name) else 0
    day = _dated(found.days[at], today)
    if day is None or argument.form == "date":
        return day
    if not found.times:
        return None
    hour, minute = found.times[min(at, len(found.times) - 1)]
    return f"{day} {hour:02}:{minute:02}:00"


def _dated(day: Day, today: date) -> str | None:
    try:
        return date(day.year or today.year, day.month, day.day).isoformat()
    except ValueError:
        return None


def _number(argument: Argument, found: Mentions) -> int | None:
    if argument.is_money:
        return found.cents[0] if found.amounts or found.cents else None
    whole = [int(number) for number in found.numbers if number == int(number)]
    return whole[0] if whole else None


def _text(argument: Argument, text: str, *, is_answer: bool) -> str | None:
    pattern = _pattern(argument)
    matched = pattern.search(text) if pattern is not None else None
    if matched is not None:
        return matched.group().strip()
    if is_answer:
        after = _AFTER.search(text.strip())
        return (after[1] if after else text).strip(" .!")
    return None


def _pattern(argument: Argument) -> re.Pattern[str] | None:
    about = f"{argument.name} {argument.description}".lower()
    for word, pattern in (
        ("mail", _EMAIL),
        ("phone", _PHONE),
        ("postcode", _POSTCODE),
        ("reference", _REFERENCE),
        ("account_number", _LONG_NUMBER),
        ("name", _NAMED),
        ("destination", _NAMED),
    ):
        if word in about:
            return pattern
    return None

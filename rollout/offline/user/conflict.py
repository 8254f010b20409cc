"""Conflict: what an agent proposes against the user's facts, where the two cannot both be right.

Careful on purpose: a value of another sort, such as a fee or a due date, contradicts nothing. Only a value in the very
place of the user's own does, where the proposal has none of the user's own there.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from evaluator.words.mentions import Day, mentions
from rollout.offline.user.lexicon import WORD, any_of, lexicon, wording
from rollout.offline.user.moods import Sentence
from rollout.offline.user.topics import Topic
from rollout.user.telling.fact_words import forms_of, is_said, words_of
from skillweave.schema.task import Fact

_CODE = re.compile(r"^([A-Z]{1,5})[ -]?(\d[\w-]*)$")
_PERSON = re.compile(r"^(?:Dr\.? )?[A-Z][\w'-]+(?: [A-Z][\w'-]+)+$")
_WITH = re.compile(r"\b[Ww]ith (?:the )?((?:Dr\.? )?[A-Z][\w'-]+(?: [A-Z][\w'-]+)+)")
_NAME = re.compile(r"^[A-Z][\w'-]+(?: [A-Z][\w'-]+)+$")
_OBJECT = re.compile(
    r"\b(?:[Bb]ook|[Rr]eserve|[Cc]ancel|[Oo]rder|[Tt]ake)(?: you)? (?:a|an|the|your) ([A-Z][\w'-]+(?: [A-Z][\w'-]+)+)"
)
_AMOUNT = re.compile(r"\b(?:[Cc]laim|[Bb]ill|[Aa]mount)\w*(?:\*|:| |for|of|over|is)* (\d[\d,]*\.\d\d)\b")
_DR = re.compile(r"\bDr\.? [A-Z][\w'-]+(?: [A-Z][\w'-]+)?")

_PAST = ("issued", "ordered", "paid", "bought", "expires", "due", "valid", "placed", "occurred")
_PLACES = ("branch", "depot", "location", "site")
_UNITS = ("kg", "days", "points", "months", "nights")
TIME_WITHIN = 24
"""Characters after a day within which its time stands."""


class SaidDay(NamedTuple):
    day: Day
    time: tuple[int, int] | None
    """Hour and minute."""
    is_beside: bool
    """Whether it is plainly another's day, such as one on which something is due."""
    is_end: bool
    """Whether something lasts until it."""


def conflicts(proposal: Sequence[Sentence], topics: Sequence[Topic]) -> list[Topic]:
    """The facts that a proposal contradicts."""
    text = " ".join(sentence.text for sentence in proposal)
    facts = [topic for topic in topics if topic.fact.value is not None and not topic.is_own]
    days = _days(proposal)
    return [topic for topic in facts if not _holds(topic, text, days) and _contradicts(topic, text, days, facts)]


def _holds(topic: Topic, text: str, days: Sequence[SaidDay]) -> bool:
    moment = topic.moment
    if moment is None:
        return is_said(topic.fact, text)
    has_time = len(str(topic.fact.value)) > len("2025-01-24")
    time = (moment.hour, moment.minute)
    return any(one.day.is_day(moment.date()) and (not has_time or one.time in (None, time)) for one in days)


def _contradicts(topic: Topic, text: str, days: Sequence[SaidDay], facts: Sequence[Topic]) -> bool:
    moment = topic.moment
    if moment is not None:
        return _day_differs(moment, topic, days, facts)
    value = topic.fact.value
    if isinstance(value, int | float):
        return _figure_differs(topic.fact, text) or _amount_differs(topic, text, facts)
    return (
        _code_differs(str(value), text, facts)
        or _name_differs(str(value), text, facts)
        or _thing_differs(topic, text, facts)
        or _place_differs(topic, text, facts)
        or _kind_differs(str(value), text, facts)
        or _choice_differs(topic.fact, text, facts)
    )


def _days(proposal: Sequence[Sentence]) -> list[SaidDay]:
    """The days said, each with its time."""
    found = []
    for sentence in proposal:
        places = list(wording("day").finditer(sentence.text))
        starts = [*(place.start() for place in places), len(sentence.text)]
        for number, place in enumerate(places):
            times = mentions(sentence.text[place.end() : min(starts[number + 1], place.end() + TIME_WITHIN)]).times
            is_end = wording("end_day").search(sentence.text[: place.start()]) is not None
            is_beside = wording("other_day").search(sentence.text[: place.start()]) is not None
            for day in mentions(place.group()).days:
                found.append(SaidDay(day, times[0] if times else None, is_beside, is_end))
    return found


def _day_differs(moment: datetime, topic: Topic, said: Sequence[SaidDay], facts: Sequence[Topic]) -> bool:
    """Whether a day, or a time on the right day, is said that no fact of the user explains."""
    if topic.column.startswith(_PAST):
        return False
    known = [found for other in facts if (found := other.moment)]
    times = {(one.hour, one.minute) for one in known}
    for one in [one for one in said if not one.is_beside or (one.is_end and topic.is_end)]:
        if not any(one.day.is_day(other.date()) for other in known):
            return True
        if one.day.is_day(moment.date()) and one.time is not None and one.time not in times:
            return len(str(topic.fact.value)) > len("2025-01-24")
    return False


def _figure_differs(fact: Fact, text: str) -> bool:
    """Whether another figure stands before the word that follows the user's: `3 guests` for `4 guests`."""
    unit = re.search(rf"{re.escape(words_of(fact))}\s+([a-z]{{2,}})", fact.text)
    column = fact.id.partition(".")[2].split("_")[0]
    nouns = {unit.group(1)} if unit else {column if column.endswith("s") else f"{column}s"}
    last = fact.id.rpartition("_")[2]
    nouns |= {last, *({"kilos", "kilograms"} if last == "kg" else ())} if last in _UNITS else set()
    nouns |= {"guests", "people", "persons"} if "party" in column else set()
    return any(
        found.group(1).replace(",", "") not in forms_of(fact)
        for noun in sorted(nouns)
        for found in re.finditer(rf"(?<![\w.])(\d[\d,.]*) {re.escape(noun)}\b", text)
    )


def _amount_differs(topic: Topic, text: str, facts: Sequence[Topic]) -> bool:
    """Whether another amount is claimed: `a claim for 64.00` for `46.00`."""
    if topic.column != "amount_cents":
        return False
    known = {form for other in facts for form in forms_of(other.fact)}
    return any(figure not in known for figure in _AMOUNT.findall(text))


def _thing_differs(topic: Topic, text: str, facts: Sequence[Topic]) -> bool:
    """Whether a thing of another name is booked or cancelled: `reserve a Compact Saloon` for `City Mini`."""
    value = str(topic.fact.value)
    if not topic.column.endswith("_name") or not _NAME.match(value):
        return False
    return any(name not in _said(facts) for name in _OBJECT.findall(text))


def _place_differs(topic: Topic, text: str, facts: Sequence[Topic]) -> bool:
    """Whether another name stands after the word before the user's: `at Mill Lane` for `at Market Square`."""
    words = words_of(topic.fact)
    before = re.search(rf"\b(at|in|with|from|to|under) (?:the |my )?{re.escape(words)}", topic.fact.text)
    is_place = topic.column.startswith(_PLACES)
    if not (before or is_place) or not words[:1].isupper():
        return False
    stands_after = "at|from|in" if is_place or before is None else before.group(1)
    names = re.findall(rf"\b(?:{stands_after}) (?:the )?((?:[A-Z][\w'-]+)(?: [A-Z][\w'-]+)*)", text)
    return any(name not in _said(facts) and not wording("calendar").match(name) for name in names)


def _kind_differs(value: str, text: str, facts: Sequence[Topic]) -> bool:
    """Whether another of the same kind is named: `thyroid panel` for `fertility hormone panel`."""
    first, _, last = value.rpartition(" ")
    if not first or len(last) < len("scan") or not last.isalpha():
        return False
    known = {word.lower() for word in WORD.findall(_said(facts))}
    before = re.findall(rf"\b([\w-]+) {re.escape(last)}\b", text, re.IGNORECASE)
    return any(word.lower() not in known and not wording("any_kind").fullmatch(word) for word in before)


def _code_differs(value: str, text: str, facts: Sequence[Topic]) -> bool:
    code = _CODE.match(value)
    if code is None and not (value.isdigit() and len(value) > 5):
        return False
    pattern = rf"\b{code.group(1)}[ -]?\d[\w-]*" if code else rf"(?<!\d)\d{{{len(value)}}}(?!\d)"
    return any(found not in _said(facts) for found in re.findall(pattern, text))


def _name_differs(value: str, text: str, facts: Sequence[Topic]) -> bool:
    if not _PERSON.match(value):
        return False
    found = _DR.findall(text) if value.startswith("Dr") else _WITH.findall(text)
    return any(name not in _said(facts) for name in found)


def _choice_differs(fact: Fact, text: str, facts: Sequence[Topic]) -> bool:
    """Whether the proposal names another of the values of which one only can hold."""
    own = {form.lower().replace("my ", "your ") for form in [words_of(fact), *forms_of(fact)]}
    for choices in lexicon()["contrasts"]:
        mine = [choice for choice in choices if any(_is_or_ends(form, choice) for form in own)]
        if not mine:
            continue
        wanted = any_of(mine)
        said = _said(facts).lower().replace("my ", "your ")
        others = [choice for choice in choices if not any(choice in one or one in choice for one in mine)]
        others = [f"by {other}" if other == "transfer" else other for other in others if other not in said]
        return bool(others) and not wanted.search(text) and any_of(others).search(text) is not None
    return False


def _is_or_ends(form: str, choice: str) -> bool:
    return form == choice or form.endswith(f" {choice}")


def _said(facts: Sequence[Topic]) -> str:
    return " ".join(f"{topic.fact.text} {topic.fact.value}" for topic in facts)

"""Whether the user was told what they asked for.

A fact counts as told iff it stands in the agent's last statement of it: in a sentence of an assistant message, never
in a tool call and never in the user's own words. A sentence states a fact if it holds a word of its noun and a value
of its kind; or, where no sentence of the message does, if it gives its very value or a rival's and names it otherwise
(by a word of the question, of the row, or for money a word of paying). The only fact asked for needs no name.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from evaluator.checks.mentions import Mentions, mentions, number_in, sentences
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.score import CommunicateCheck
from skillweave.schema.task import FactToTell

_SMALL_WORDS = """
a an and any are as at be been by can could did do does for from had has have how i if in is it its like many me much my
now of on once one or our per please row so tell that the their them then there they this to total until up was we were
what when where which who whom will with would you your
"""
_EMPTY_WORDS = frozenset(_SMALL_WORDS.split())
_PAYING = "amoun balan charg come came cost due fee owe paid pay payme price refun sum take total"
_OF_PAYING = frozenset(_PAYING.split())
_DENIED = re.compile(
    r"\b(?:not|never|neither|nor)\s+(?:(?:the|a|an|at|on|by|in|exactly|actually)\s+){0,2}(?=[\d$€£]|[A-Z])(?:(?!\bbut\b)[^,;])*"
)
MOST_VALUES = 6
"""Different values of its kind that an answer may give beside each other (a price, its discount, a fee, a total)."""
_WORD = re.compile(r"[^\W_]+")


def check_communicate(facts: Sequence[FactToTell], messages: Sequence[Message]) -> CommunicateCheck:
    """The share of the facts that were told; 1 where there is nothing to tell."""
    said = [[mentions(_affirmed(sentence)) for sentence in sentences(text)] for text in _words_of_agent(messages)]
    missing = [fact.fact for fact in facts if not _is_told(fact, said, alone=len(facts) == 1)]
    return CommunicateCheck(score=1 - len(missing) / len(facts) if facts else 1.0, missing=missing)


def _words_of_agent(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages if message.role == "assistant" and message.content]


def _is_told(fact: FactToTell, said: Sequence[Sequence[Mentions]], *, alone: bool) -> bool:
    for message in reversed(said):
        stating = _stating(fact, message, alone=alone)
        if stating:
            spoiled = any(_gives(fact, rival, sentence) for rival in fact.rivals for sentence in stating)
            return not spoiled and not _is_a_list(fact, stating) and _gives_right(fact, stating[-1])
    return False


def _affirmed(sentence: str) -> str:
    """The sentence without what it denies: `it is not 12.00 but 15.00` gives 15.00 alone."""
    return _DENIED.sub(" ", sentence)


def _is_a_list(fact: FactToTell, stating: Sequence[Mentions]) -> bool:
    """Whether so many values of the kind are given that one of them had to be right."""
    if fact.unit == "cents" or fact.type in ("integer", "number"):
        return len({number for sentence in stating for number in sentence.numbers}) > MOST_VALUES
    if fact.type in ("date", "datetime"):
        days = {day for sentence in stating for day in sentence.days}
        times = {moment for sentence in stating for moment in sentence.times}
        return max(len(days), len(times)) > MOST_VALUES
    return False


def _stating(fact: FactToTell, message: Sequence[Mentions], *, alone: bool) -> list[Mentions]:
    """The sentences of a message that state the fact, rightly or not."""
    nouns = content_words(fact.noun)
    called = [sentence for sentence in message if _names(nouns, sentence) and _gives_some(fact, sentence)]
    if called:
        return called
    others = frozenset(map(_stem, fact.names)) | (_OF_PAYING if fact.unit == "cents" else frozenset())
    candidates = [*fact.values, *fact.rivals]
    return [
        sentence
        for sentence in message
        if any(_gives(fact, value, sentence) for value in candidates) and (alone or _names(others, sentence))
    ]


def content_words(noun: str) -> frozenset[str]:
    """The words of a noun or a question that carry its meaning, as stems."""
    words = [_stem(word) for word in _WORD.findall(noun.casefold())]
    return frozenset(word for word in words if word not in _EMPTY_WORDS) or frozenset(words)


def _stem(word: str) -> str:
    """What a word shares with its kin: `arrive` and `arrival`, `invoice` and `invoices`."""
    word = _singular(word.casefold())
    return word[:5] if len(word) > 5 else word


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _names(nouns: frozenset[str], sentence: Mentions) -> bool:
    return any(_stem(word) in nouns for word in _WORD.findall(sentence.text.casefold()))


def _gives_right(fact: FactToTell, sentence: Mentions) -> bool:
    return any(_gives(fact, value, sentence) for value in fact.values)


def _gives_some(fact: FactToTell, sentence: Mentions) -> bool:
    """Whether the sentence gives the fact, a rival, or another value of its kind."""
    if any(_gives(fact, value, sentence) for value in [*fact.values, *fact.rivals]):
        return True
    if fact.unit == "cents":
        return sentence.amounts > 0
    if fact.type in ("date", "datetime"):
        return bool(sentence.days or sentence.times)
    return fact.type in ("integer", "number") and bool(sentence.numbers)


def _gives(fact: FactToTell, value: Json, sentence: Mentions) -> bool:
    """Whether the sentence gives this value, in whatever form it is written."""
    if isinstance(value, str) and _holds_words(value, sentence.text):
        return True
    if fact.unit == "cents":
        cents = _cents(value)
        return cents is not None and cents in sentence.cents
    if fact.type in ("integer", "number"):
        number = _number(value)
        return number is not None and number in sentence.numbers
    if fact.type in ("date", "datetime") and isinstance(value, str):
        return _gives_moment(value, sentence)
    return False


def _holds_words(value: str, text: str) -> bool:
    wanted, words = _WORD.findall(value.casefold()), _WORD.findall(text.casefold())
    spans = range(len(words) - len(wanted) + 1)
    return bool(wanted) and any(words[start : start + len(wanted)] == wanted for start in spans)


def _cents(value: Json) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = _number(value)
    return int(number * 100) if number is not None else None


def _number(value: Json) -> Decimal | None:
    if isinstance(value, bool):
        return None
    return number_in(str(value)) if isinstance(value, int | float | str) else None


def _gives_moment(value: str, sentence: Mentions) -> bool:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return False
    is_day = any(day.is_day(date(moment.year, moment.month, moment.day)) for day in sentence.days)
    return is_day and (len(value) <= len("2025-01-24") or (moment.hour, moment.minute) in sentence.times)

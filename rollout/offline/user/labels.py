"""Labels: what a proposal says in labelled items (`- **Amount:** $85.00`), against the user's facts of that label.

An item contradicts a fact that its label names by the last part of the id (`Amount`) or by the record (`Invoice`),
where it holds a value of the same sort that is none of the user's.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluator.words.mentions import mentions
from rollout.offline.user.lexicon import WORD, lexicon, stem, stems
from rollout.offline.user.topics import Topic
from rollout.user.telling.fact_words import forms_of, is_said, words_of

_ITEM = re.compile(
    r"^\W*(?:\d+[.)]\W*)?(?P<label>[A-Za-z][\w'/ -]{1,40}?)\W{0,3}(?::|\||(?<=\*)[–—-])\W*?(?P<value>[\w$€£].*)$"
)
_PARTS = re.compile(r"\n|; |[()]| • ")
_ASIDE = re.compile(r"\((?:id|ref\w*|no)\b[^)]*\)", re.IGNORECASE)
_FIGURE = re.compile(r"(?<![\w.-])[$€£]?(\d[\d,]*(?:\.\d+)?)(?![\w-])")
_SEGMENT = re.compile(r",\s|\s[–—|/·-]\s|[()]")
LONGEST_LABEL = 4


class Item(NamedTuple):
    label: frozenset[str]
    """Its stems."""
    value: str


def items(text: str) -> Iterator[Item]:
    """The labelled items of a message."""
    for part in _PARTS.split(_ASIDE.sub(" ", text)):
        found = _ITEM.match(part)
        if found and "?" not in part and len(found["label"].split()) <= LONGEST_LABEL:
            label = _stems(found["label"])
            if label:
                yield Item(label, found["value"].replace("*", "").strip())


def mislabelled(text: str, topics: Sequence[Topic]) -> list[Topic]:
    """The facts that an item contradicts."""
    facts = [topic for topic in topics if topic.fact.value is not None and not topic.is_own]
    found = [topic for item in items(text) for topic in facts if _differs(item, topic, facts)]
    return list({topic.fact.id: topic for topic in found}.values())


def _differs(item: Item, topic: Topic, facts: Sequence[Topic]) -> bool:
    is_column, is_record = _is_column(item, topic), topic.is_row and item.label <= _stems(topic.record)
    if not is_column and not is_record:
        return False
    alike = [one for one in facts if one is topic or (one.column == topic.column and not is_record)]
    if any(_is_held(one, item.value) for one in alike):
        return False
    value = topic.fact.value
    if topic.moment is not None:
        days = mentions(item.value).days
        return is_column and bool(days) and not any(one.is_day_of(days) for one in facts)
    if isinstance(value, int | float):
        known = {form.replace(",", "") for one in facts for form in forms_of(one.fact) if one.column == topic.column}
        figures = [figure.replace(",", "") for figure in _FIGURE.findall(item.value)]
        return is_column and bool(figures) and not any(_plain(figure) in map(_plain, known) for figure in figures)
    return (is_record or topic.column.endswith("_name")) and _names_another(item, topic, facts)


def _is_column(item: Item, topic: Topic) -> bool:
    """Whether the label is the fact's own; words of its record and its deed may stand beside."""
    own = _stems(topic.column) - {"cents"}
    beside = _stems(topic.record) | {stem(word) for word in ("payment", "claim", "your", "date")}
    return bool(own) and own <= item.label <= own | beside


def _is_held(topic: Topic, value: str) -> bool:
    if topic.moment is not None:
        return topic.is_day_of(mentions(value).days)
    words = stems(str(topic.fact.value)) or stems(words_of(topic.fact))
    return is_said(topic.fact, value) or (isinstance(topic.fact.value, str) and bool(words) and words <= stems(value))


def _names_another(item: Item, topic: Topic, facts: Sequence[Topic]) -> bool:
    """Whether a part of the item is a name of the same look that none of the user's facts of that record holds."""
    value = words_of(topic.fact)
    others = [one for one in facts if one.record == topic.record or one.column != topic.column]
    known = frozenset().union(*(stems(f"{one.fact.text} {one.fact.value}") for one in others))
    parts = [part.strip(" .*") for part in _SEGMENT.split(item.value)]
    parts = [part for part in parts if part and not mentions(part).days and not _things(part)]
    named = [part for part in parts if _look(part) & _look(value) and not stems(part) <= known]
    is_name = topic.column.endswith("_name") or "lower" in _look(value)
    return len(named) >= (1 if is_name else 2)


def _look(text: str) -> frozenset[str]:
    """How a name is written: `day surgery`, `Grand Tour`, or both: `Budesonide 200 mcg inhaler`."""
    words = [word for word in WORD.findall(text) if word[0].isalpha()]
    if not words or re.match(r"[A-Z]{1,5}[ -]?\d", text):
        return frozenset({"code"} if words else ())
    if text.startswith("Dr"):
        return frozenset({"person"})
    if all(word[0].islower() for word in words):
        return frozenset({"lower"})
    return frozenset({"title"}) if all(word[0].isupper() for word in words) else frozenset({"title", "lower"})


def _things(part: str) -> bool:
    """Whether it is a mere noun or state: `visit`, `active`."""
    words = WORD.findall(part.lower())
    return len(words) == 1 and (words[0] in lexicon()["things"].split() or words[0] in lexicon()["states"])


def _plain(figure: str) -> str:
    return figure.removesuffix(".00")


def _stems(words: str) -> frozenset[str]:
    said = WORD.findall(words.lower().replace("_", " "))
    empty = set(lexicon()["empty"]) - {"type", "kind"}
    return frozenset(stem(word) for word in said if word not in empty)

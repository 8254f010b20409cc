"""Wording: how varied first messages are, by distinct n-grams, self-BLEU and sentence skeletons.

Distinct-n as in Li et al. (2016), self-BLEU as in Zhu et al. (2018), with BLEU-4 smoothed by one for n > 1.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from random import Random

from skillweave.schema.diversity import Wording
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from synth.diversity.duplicates import words_of
from synth.diversity.overlaps import text_of

SAMPLE = 100
"""Messages in a sample."""
SAMPLES = 5
ORDERS = (1, 2, 3, 4)
_DAY = "mon|tues|wednes|thurs|fri|satur|sun"
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_MOMENT = re.compile(rf"\b(?:{_DAY})day\b|\b(?:{_MONTH})\b(?=[ ,.]*_)|(?<=_ )(?:{_MONTH})\b")
_FIGURE = re.compile(r"\S*\d\S*?(?=[.,;:!?]*(?:\s|$))")
_MASKED = re.compile(r"_(?:[ ,.:/-]*(?:at|of|the)?[ ,.:/-]*_)+")
_SENTENCE = re.compile(r"[^.!?]+")


def wording_of(tasks: Sequence[Task], seed: str = "wording") -> Wording:
    """How the tasks' first messages are said."""
    ordered = sorted(tasks, key=lambda task: task.id)
    said = [words_of(text_of(task)) for task in ordered]
    samples = [_sample(len(said), f"{seed}/{number}") for number in range(SAMPLES if len(said) > 2 * SAMPLE else 1)]
    skeletons = {place: skeletons_of(ordered[place]) for place in sorted({*chain(*samples)})}
    return Wording(
        messages=len(said),
        words=sum(map(len, said)),
        distinct_1=distinct(said, 1),
        distinct_2=distinct(said, 2),
        distinct_3=distinct(said, 3),
        self_bleu=_mean(self_bleu([said[place] for place in sample]) for sample in samples),
        skeletons=_mean(_different([skeletons[place] for place in sample]) for sample in samples),
    )


def distinct(texts: Iterable[Sequence[str]], order: int) -> float | None:
    """Share of different n-grams; None where there are none."""
    found = [gram for words in texts for gram in _grams(words, order)]
    return round(len(set(found)) / len(found), 4) if found else None


def self_bleu(texts: Sequence[Sequence[str]]) -> float | None:
    """The mean BLEU-4 of each text against all others; None where there are no two."""
    if len(texts) < 2:
        return None
    counts = {order: [Counter(_grams(words, order)) for words in texts] for order in ORDERS}
    highest = {order: _highest(counts[order]) for order in ORDERS}
    scores = []
    for place, words in enumerate(texts):
        logs = []
        for order in ORDERS:
            own = counts[order][place]
            matched = sum(min(n, _elsewhere(highest[order][gram], place)) for gram, n in own.items())
            total, smooth = own.total(), 1 if order > 1 else 0
            logs.append(math.log((matched + smooth) / (total + smooth)) if matched + smooth else -math.inf)
        others = [len(other) for number, other in enumerate(texts) if number != place]
        closest = min(others, key=lambda length: (abs(length - len(words)), length))
        brevity = min(0.0, 1 - closest / len(words)) if words else -math.inf
        scores.append(math.exp(brevity + sum(logs) / len(ORDERS)))
    return sum(scores) / len(scores)


def skeletons_of(task: Task) -> list[str]:
    """The sentences of the first message with their values masked: names, figures, days, and what the user knows."""
    text = f" {' '.join(text_of(task).casefold().split())} "
    values = sorted((value for value in _values(task) if value in text), key=lambda one: (-len(one), one))
    if values:
        text = re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, values))})(?!\w)", "_", text)
    text = _MOMENT.sub("_", _FIGURE.sub("_", text))
    parts = (_MASKED.sub("_", part).strip(" ,;:-") for part in _SENTENCE.findall(text))
    return [part for part in parts if part.strip("_ ")]


def _values(task: Task) -> set[str]:
    known: list[Json] = [fact.value for fact in task.scenario.facts]
    known += [value for call in task.golden for value in call.arguments.values()]
    names = [task.persona.name, *task.persona.name.split()]
    texts = {value for value in known if isinstance(value, str)}
    return {value.casefold().replace("_", " ") for value in (*texts, *names) if len(value) > 1}


def _different(skeletons: Sequence[Sequence[str]]) -> float | None:
    found = [skeleton for sentences in skeletons for skeleton in sentences]
    return len(set(found)) / len(found) if found else None


def _sample(size: int, seed: str) -> list[int]:
    return Random(seed).sample(range(size), min(SAMPLE, size))


def _grams(words: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(order)), strict=False)


Highest = dict[tuple[str, ...], tuple[int, int, int]]
"""N-gram -> how often the text has it that has it most often, which text that is, and how often any other has it."""


def _highest(counts: Sequence["Counter[tuple[str, ...]]"]) -> Highest:
    found: Highest = {}
    for place, own in enumerate(counts):
        for gram, n in own.items():
            most, where, second = found.get(gram, (0, -1, 0))
            found[gram] = (n, place, most) if n > most else (most, where, max(second, n))
    return found


def _elsewhere(highest: tuple[int, int, int], place: int) -> int:
    most, where, second = highest
    return second if where == place else most


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None

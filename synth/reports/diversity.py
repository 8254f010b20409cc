"""Diversity of a dataset: how varied its first messages are, and what of the contracts its golden calls reach.

The functions are pure: the same tasks give the same figures.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Json
from skillweave.schema.reports import (
    ContractCoverage,
    CoverageCount,
    Diversity,
    DuplicateCounts,
    WordingDiversity,
    WorldDiversity,
)
from skillweave.schema.task import Split, Task
from synth.reports.duplicates import text_of, words_of
from synth.tasks.splits import STRICTEST_FIRST

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


def wording_of(tasks: Sequence[Task], seed: str = "wording") -> WordingDiversity:
    """How the tasks' first messages are said."""
    ordered = sorted(tasks, key=lambda task: task.id)
    said = [words_of(text_of(task)) for task in ordered]
    samples = [_sample(len(said), f"{seed}/{number}") for number in range(SAMPLES if len(said) > 2 * SAMPLE else 1)]
    skeletons = {place: skeletons_of(ordered[place]) for place in sorted({*chain(*samples)})}
    return WordingDiversity(
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
    grams = [gram for words in texts for gram in _grams(words, order)]
    return round(len(set(grams)) / len(grams), 4) if grams else None


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
    every = [skeleton for sentences in skeletons for skeleton in sentences]
    return len(set(every)) / len(every) if every else None


def _sample(size: int, seed: str) -> list[int]:
    return Random(seed).sample(range(size), min(SAMPLE, size))


def _grams(words: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(order)), strict=False)


Highest = dict[tuple[str, ...], tuple[int, int, int]]
"""N-gram -> how often the text has it that has it most often, which text that is, and how often any other has it."""


def _highest(counts: Sequence["Counter[tuple[str, ...]]"]) -> Highest:
    highest: Highest = {}
    for place, own in enumerate(counts):
        for gram, n in own.items():
            most, where, second = highest.get(gram, (0, -1, 0))
            highest[gram] = (n, place, most) if n > most else (most, where, max(second, n))
    return highest


def _elsewhere(highest: tuple[int, int, int], place: int) -> int:
    most, where, second = highest
    return second if where == place else most


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None


def coverage_of(blueprint: Blueprint, tasks: Sequence[Task]) -> ContractCoverage:
    """What the tasks of a world reach of its contract."""
    tools = {tool.name: tool for tool in blueprint.tools}
    rows = [[call.tool for call in task.golden if call.tool in tools] for task in tasks]
    calls = [call for task in tasks for call in (*task.golden, *([task.criteria.asked] if task.criteria.asked else []))]
    called = {name for row in rows for name in row}
    forbidden = {ban.rule for task in tasks for ban in task.criteria.must_not}
    rules = {guard.rule for tool in tools.values() for guard in tool.guards}
    enums = {
        (tool.name, parameter.name): parameter.enum
        for tool in tools.values()
        for parameter in tool.parameters
        if parameter.enum
    }
    given = {
        f"{call.tool}.{name}={value}"
        for call in calls
        for name, value in call.arguments.items()
        if isinstance(value, str) and value in enums.get((call.tool, name), [])
    }
    pairs = {pair for row in rows for pair in pairwise(row)}
    return ContractCoverage(
        tools=_covered(tools, {call.tool for call in calls}),
        rules=_covered(rules, {guard.rule for name in called for guard in tools[name].guards} | forbidden),
        effects=_covered(
            {effect.rule for tool in tools.values() for effect in tool.effects},
            {effect.rule for name in called for effect in tools[name].effects},
        ),
        pairs=CoverageCount(reached=len(pairs), all=len(tools) ** 2),
        values=_covered({f"{tool}.{name}={value}" for (tool, name), enum in enums.items() for value in enum}, given),
    )


def combined_reach(parts: Iterable[ContractCoverage]) -> ContractCoverage:
    """The coverage of several worlds, as sums; what is missing is told by each of them."""
    every = list(parts)
    return ContractCoverage(
        tools=_coverage_sum(one.tools for one in every),
        rules=_coverage_sum(one.rules for one in every),
        effects=_coverage_sum(one.effects for one in every),
        pairs=_coverage_sum(one.pairs for one in every),
        values=_coverage_sum(one.values for one in every),
    )


def _covered(there: Iterable[str], reached: set[str]) -> CoverageCount:
    names = set(there)
    return CoverageCount(reached=len(names & reached), all=len(names), missing=sorted(names - reached))


def _coverage_sum(parts: Iterable[CoverageCount]) -> CoverageCount:
    every = list(parts)
    return CoverageCount(reached=sum(one.reached for one in every), all=sum(one.all for one in every))


def diversity_of(
    tasks: Mapping[str, Sequence[Task]],
    blueprints: Mapping[str, Blueprint],
    duplicates: Mapping[str, DuplicateCounts] | None = None,
    holdouts: Collection[str] = (),
) -> Diversity:
    """The diversity of the tasks by world; worlds without a blueprint are left out.

    `duplicates`: world -> what was removed when its tasks were made.
    """
    removed = duplicates or {}
    worlds = {
        name: _world(tasks[name], blueprints[name], removed.get(name)) for name in sorted(tasks) if name in blueprints
    }
    every = [task for name in worlds for task in tasks[name]]
    known = [one.duplicates for one in worlds.values() if one.duplicates]
    return Diversity(
        tasks=len(every),
        splits=_splits(every),
        holdout_domains=sorted(holdouts),
        structures=sum(one.structures for one in worlds.values()),
        duplicates=_diversity_sum(known) if known else None,
        wording=wording_of(every),
        coverage=combined_reach(one.coverage for one in worlds.values()),
        worlds=worlds,
    )


def _world(tasks: Sequence[Task], blueprint: Blueprint, duplicates: DuplicateCounts | None) -> WorldDiversity:
    return WorldDiversity(
        tasks=len(tasks),
        splits=_splits(tasks),
        structures=len({(task.kind, *(call.tool for call in task.golden)) for task in tasks}),
        duplicates=duplicates,
        wording=wording_of(tasks),
        coverage=coverage_of(blueprint, tasks),
    )


def _splits(tasks: Sequence[Task]) -> dict[Split, int]:
    counts = Counter(task.split for task in tasks)
    return {split: counts[split] for split in reversed(STRICTEST_FIRST)}


def _diversity_sum(counts: Sequence[DuplicateCounts]) -> DuplicateCounts:
    return DuplicateCounts(
        tasks=sum(one.tasks for one in counts),
        exact=sum(one.exact for one in counts),
        near=sum(one.near for one in counts),
        across=sum(one.across for one in counts),
    )

"""Diversity of a dataset: how varied its first messages are, and how much of the contracts its golden calls reach.

The figures depend on the tasks alone. Steps call `without_repeats`, `write_rules` and `write_diversity` to leave out
duplicates and to write the records of rules and diversity.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from random import Random
from typing import TypeVar

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
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    DIVERSITY,
    DUPLICATES,
    FALLEN,
    LACKING,
    MEDIATIONS,
    QUERIES,
    RULES,
    TEMPLATES,
)
from synth.engine.context import Context
from synth.engine.step import Params
from synth.reports.duplicates import REASONS, is_undecided, text_of, without_duplicates, words_of
from synth.reports.rule_coverage import rules_of
from synth.tasks.splits import STRICTEST_FIRST
from synth.tasks.turns import PLAIN

SAMPLE = 100
"""Most messages in a sample."""
SAMPLES = 5
ORDERS = (1, 2, 3, 4)
_DAY = "mon|tues|wednes|thurs|fri|satur|sun"
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_MOMENT = re.compile(rf"\b(?:{_DAY})day\b|\b(?:{_MONTH})\b(?=[ ,.]*_)|(?<=_ )(?:{_MONTH})\b")
_FIGURE = re.compile(r"\S*\d\S*?(?=[.,;:!?]*(?:\s|$))")
_MASKED = re.compile(r"_(?:[ ,.:/-]*(?:at|of|the)?[ ,.:/-]*_)+")
_SENTENCE = re.compile(r"[^.!?]+")


def wording_of(tasks: Sequence[Task], seed: str = "wording") -> WordingDiversity:
    """How varied the tasks' first messages are."""
    ordered = sorted(tasks, key=lambda task: task.id)
    messages = [words_of(text_of(task)) for task in ordered]
    samples = [
        _sample(len(messages), f"{seed}/{number}") for number in range(SAMPLES if len(messages) > 2 * SAMPLE else 1)
    ]
    skeletons = {place: skeletons_of(ordered[place]) for place in sorted({*chain(*samples)})}
    return WordingDiversity(
        messages=len(messages),
        words=sum(map(len, messages)),
        distinct_1=distinct(messages, 1),
        distinct_2=distinct(messages, 2),
        distinct_3=distinct(messages, 3),
        self_bleu=_mean(self_bleu([messages[place] for place in sample]) for sample in samples),
        skeletons=_mean(_different([skeletons[place] for place in sample]) for sample in samples),
    )


def distinct(texts: Iterable[Sequence[str]], order: int) -> float | None:
    """Share of different n-grams; None if there are no n-grams."""
    grams = [gram for words in texts for gram in _grams(words, order)]
    return round(len(set(grams)) / len(grams), 4) if grams else None


def self_bleu(texts: Sequence[Sequence[str]]) -> float | None:
    """The mean BLEU-4 of each text against all others; None if there are fewer than two texts."""
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
    values = sorted((value for value in _values(task) if value in text), key=lambda word: (-len(word), word))
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
"""N-gram -> its highest count in one text, the position of that text, and its highest count in any other text."""


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
    """How much of a world's contract its tasks reach."""
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
    """The coverage of several worlds as sums; each world's own record lists what it misses."""
    every = list(parts)
    return ContractCoverage(
        tools=_coverage_sum(part.tools for part in every),
        rules=_coverage_sum(part.rules for part in every),
        effects=_coverage_sum(part.effects for part in every),
        pairs=_coverage_sum(part.pairs for part in every),
        values=_coverage_sum(part.values for part in every),
    )


def _covered(there: Iterable[str], reached: set[str]) -> CoverageCount:
    names = set(there)
    return CoverageCount(reached=len(names & reached), all=len(names), missing=sorted(names - reached))


def _coverage_sum(parts: Iterable[CoverageCount]) -> CoverageCount:
    every = list(parts)
    return CoverageCount(reached=sum(part.reached for part in every), all=sum(part.all for part in every))


def diversity_of(
    tasks: Mapping[str, Sequence[Task]],
    blueprints: Mapping[str, Blueprint],
    duplicates: Mapping[str, DuplicateCounts] | None = None,
    holdouts: Collection[str] = (),
) -> Diversity:
    """The diversity of the tasks by world, without worlds that have no blueprint.

    Args:
        duplicates: World -> number of duplicates removed from its tasks.
    """
    removed = duplicates or {}
    worlds = {
        name: _world(tasks[name], blueprints[name], removed.get(name)) for name in sorted(tasks) if name in blueprints
    }
    every = [task for name in worlds for task in tasks[name]]
    known = [part.duplicates for part in worlds.values() if part.duplicates]
    return Diversity(
        tasks=len(every),
        splits=_splits(every),
        forms=_forms(every),
        levels=_levels(every),
        holdout_domains=sorted(holdouts),
        structures=sum(part.structures for part in worlds.values()),
        duplicates=_diversity_sum(known) if known else None,
        wording=wording_of(every),
        coverage=combined_reach(part.coverage for part in worlds.values()),
        worlds=worlds,
    )


def _world(tasks: Sequence[Task], blueprint: Blueprint, duplicates: DuplicateCounts | None) -> WorldDiversity:
    return WorldDiversity(
        tasks=len(tasks),
        splits=_splits(tasks),
        forms=_forms(tasks),
        levels=_levels(tasks),
        structures=len({(task.kind, *(call.tool for call in task.golden)) for task in tasks}),
        duplicates=duplicates,
        wording=wording_of(tasks),
        coverage=coverage_of(blueprint, tasks),
    )


def _splits(tasks: Sequence[Task]) -> dict[Split, int]:
    counts = Counter(task.split for task in tasks)
    return {split: counts[split] for split in reversed(STRICTEST_FIRST)}


def _forms(tasks: Sequence[Task]) -> dict[str, int]:
    return dict(sorted(Counter(form for task in tasks for form in forms_of(task)).items()))


def _levels(tasks: Sequence[Task]) -> dict[int, int]:
    return dict(sorted(Counter(task.difficulty.level for task in tasks).items()))


def forms_of(task: Task) -> list[str]:
    """The different names of a task's forms; `plain` if it has none."""
    return [*dict.fromkeys(form.name for form in task.forms)] or [PLAIN]


def _diversity_sum(counts: Sequence[DuplicateCounts]) -> DuplicateCounts:
    return DuplicateCounts(
        tasks=sum(count.tasks for count in counts),
        exact=sum(count.exact for count in counts),
        near=sum(count.near for count in counts),
        across=sum(count.across for count in counts),
    )


P = TypeVar("P", bound=Params)


def without_repeats(ctx: Context[P], tasks: Sequence[Task], families: Mapping[str, Sequence[str]]) -> list[Task]:
    """The tasks, by id, without those that repeat others or are in a forbidden split."""
    decided = []
    for task in tasks:
        if task.split == "test" and is_undecided(task):
            ctx.reject(task.id, "in test, and undecided whether its outcome is unique")
        else:
            decided.append(task)
    kept = without_duplicates(decided, families)
    for task, repeat in kept.removed:
        ctx.reject(task.id, REASONS[repeat])
    ctx.write(DUPLICATES, ctx.key, kept.duplicates)
    return kept.tasks


async def write_rules(ctx: Context[P], blueprint: Blueprint, tasks: Sequence[Task]) -> None:
    """Write which rules the tasks keep and break, and why they do not exercise the others."""
    lacking = [*ctx.read(LACKING), *ctx.read(FALLEN)]
    templates = ctx.read(TEMPLATES)
    rules = await ctx.offload(rules_of, blueprint, ctx.path(DATABASE), ctx.now, [*tasks], templates, lacking)
    ctx.count("rules", len(rules))
    ctx.count("rules kept and broken", sum(rule.why is None for rule in rules))
    ctx.write(RULES, ctx.key, rules)


async def write_diversity(ctx: Context[P], keys: list[str]) -> None:
    """Write the diversity of the tasks of all worlds."""
    fused = set(ctx.keys(CONTRACTS))
    contracts = {
        key: ctx.read(CONTRACTS, key).with_bridges(ctx.read(MEDIATIONS, key).bridges)
        if key in fused
        else ctx.read(BLUEPRINTS, key)
        for key in keys
    }
    tasks = {key: ctx.read(QUERIES, key) for key in keys}
    removed = {key: ctx.read(DUPLICATES, key) for key in keys}
    report = await ctx.offload(diversity_of, tasks, contracts, removed, ctx.splits.holdout_domains)
    ctx.write(DIVERSITY, "diversity", report)

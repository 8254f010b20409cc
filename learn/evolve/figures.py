"""The figures of an evaluation. Tasks are the units: a task's share is the mean of its scored conversations."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from evaluator.report.statistics import paired, wilson
from skillweave.schema.record import Json
from skillweave.schema.result import Result

DIGITS = 6
"""Decimals of what is written."""


def shares(results: Iterable[Result]) -> dict[str, Fraction]:
    """The share of each task's scored conversations that passed, by task."""
    passes: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        if result.passed is not None and result.error is None:
            passes[result.task_id].append(result.passed)
    return {id: Fraction(sum(of_task), len(of_task)) for id, of_task in sorted(passes.items())}


def held_out_figures(results: Iterable[Result], apart: Mapping[str, bool]) -> dict[str, Json]:
    """The figures of an evaluation: over all tasks, and by world, level, kind and domain.

    Args:
        results: The results.
        apart: For each task whether its domains are held out, too.
    """
    every = [*results]
    of_task, traits = shares(every), {result.task_id: result for result in every}
    groups: dict[str, Callable[[str], str]] = {
        "world": lambda id: traits[id].world,
        "level": lambda id: str(traits[id].level),
        "kind": lambda id: str(traits[id].kind),
        "domain": lambda id: "held out" if apart.get(id) else "known",
    }
    by: dict[str, Json] = {name: _grouped(of_task, group) for name, group in groups.items()}
    return {**rate(of_task.values()), "unscored": len(traits) - len(of_task), "by": by}


def _grouped(of_task: Mapping[str, Fraction], group: Callable[[str], str]) -> dict[str, Json]:
    members: dict[str, list[Fraction]] = defaultdict(list)
    for id, share in of_task.items():
        members[group(id)].append(share)
    return {name: rate(of_group) for name, of_group in sorted(members.items())}


def rate(of_tasks: Iterable[Fraction]) -> dict[str, Json]:
    """How many tasks passed of those scored, the share, and Wilson's interval; nulls without a scored task."""
    every = [*of_tasks]
    passed, scored = sum(every, Fraction()), len(every)
    if not scored:
        return {"passed": 0, "scored": 0, "share": None, "low": None, "high": None}
    # Wilson's formula takes a sum of shares as it takes a number of passes.
    low, high = wilson(int(passed) if passed.denominator == 1 else float(passed), scored)
    return {
        "passed": int(passed) if passed.denominator == 1 else _rounded(passed),
        "scored": scored,
        "share": _rounded(passed / scored),
        "low": _rounded(low),
        "high": _rounded(high),
    }


def difference(before: Mapping[str, Fraction], after: Mapping[str, Fraction]) -> dict[str, Json] | None:
    """The paired test of two evaluations, over the tasks that both have; None if there are none."""
    common = sorted(before.keys() & after.keys())
    if not common:
        return None
    test = paired([before[id] for id in common], [after[id] for id in common])
    return {
        "tasks": len(common),
        "difference": _rounded(test.difference),
        "low": _rounded(test.interval.low),
        "high": _rounded(test.interval.high),
        "p": _rounded(test.p),
        "exact": test.is_exact,
        "gained": sum(after[id] > before[id] for id in common),
        "lost": sum(after[id] < before[id] for id in common),
    }


def _rounded(value: Any) -> float:
    return round(float(value), DIGITS)

"""Compares two sets of results: paired over the tasks that both have, and result by result after a change of checks."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from evaluator.statistics import paired
from evaluator.terminal.tables import print_line, print_table
from skillweave.schema.comparison import Comparison, Flip, Rescored
from skillweave.schema.result import FailureClass, Result


@dataclass(slots=True)
class _Trials:
    passed: int = 0
    scored: int = 0
    failures: Counter[FailureClass] = field(default_factory=Counter)
    digests: set[str] = field(default_factory=set)


class _Side:
    """One set of results, by task."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.tasks: dict[str, _Trials] = {}
        self.unscored = 0
        self.versions: set[str] = set()
        for result in results:
            self.versions.add(result.checks_version)
            if result.scored:
                self._add(result)
            else:
                self.unscored += 1

    def _add(self, result: Result) -> None:
        trials = self.tasks.setdefault(result.task_id, _Trials())
        trials.scored += 1
        trials.passed += bool(result.passed)
        if result.task_digest is not None:
            trials.digests.add(result.task_digest)
        if result.failure is not None:
            trials.failures[result.failure.class_] += 1


def compare(a: Iterable[Result], b: Iterable[Result], *, seed: int = 0) -> Comparison:
    """How the second set of results does against the first."""
    first, second = _Side(a), _Side(b)
    common = sorted(first.tasks.keys() & second.tasks.keys())
    same = [id for id in common if not _is_changed(first.tasks[id], second.tasks[id])]
    every = [_flip(id, first.tasks[id], second.tasks[id]) for id in same]
    rates_a = [Fraction(one.a_passed, one.a_scored) for one in every]
    rates_b = [Fraction(one.b_passed, one.b_scored) for one in every]
    found = paired(rates_a, rates_b, seed=seed) if every else None
    flipped = [one for one in every if one.gain]
    return Comparison(
        tasks=len(every),
        rate_a=_mean(rates_a),
        rate_b=_mean(rates_b),
        difference=found.difference if found else None,
        low=found.interval.low if found else None,
        high=found.interval.high if found else None,
        p=found.p if found else None,
        is_exact=found is None or found.is_exact,
        flipped=sorted(flipped, key=lambda one: (one.gain, one.task_id)),
        only_a=len(first.tasks) - len(common),
        only_b=len(second.tasks) - len(common),
        changed=len(common) - len(same),
        unscored_a=first.unscored,
        unscored_b=second.unscored,
        checks_versions=sorted(first.versions | second.versions),
    )


def _is_changed(a: _Trials, b: _Trials) -> bool:
    return bool(a.digests and b.digests) and a.digests != b.digests


def _flip(id: str, a: _Trials, b: _Trials) -> Flip:
    worse = a if a.passed * b.scored < b.passed * a.scored else b
    classes = sorted(worse.failures, key=lambda name: (-worse.failures[name], name))
    return Flip(
        task_id=id,
        a_passed=a.passed,
        a_scored=a.scored,
        b_passed=b.passed,
        b_scored=b.scored,
        failure=classes[0] if classes else None,
    )


def _mean(rates: list[Fraction]) -> float | None:
    return float(sum(rates) / len(rates)) if rates else None


def flips(old: Iterable[Result], new: Iterable[Result]) -> Iterator[Rescored]:
    """Results of both that pass in one and not in the other, or are scored in one alone, in the order of `new`.

    Of the old ones the outcome is held, and no more. Results go by their agent and id.
    """
    known = {(one.agent, one.id): (one.passed, _class(one), one.checks_version) for one in old}
    for result in new:
        before = known.get((result.agent, result.id))
        if before is not None and before[0] is not result.passed:
            yield Rescored(
                id=result.id,
                agent=result.agent,
                before=before[0],
                after=result.passed,
                class_before=before[1],
                class_after=_class(result),
                version_before=before[2],
                version_after=result.checks_version,
            )


def _class(result: Result) -> FailureClass | None:
    return result.failure.class_ if result.failure is not None else None


def show_comparison(found: Comparison, a: str = "A", b: str = "B") -> None:
    """Print a comparison; `a` and `b` are what the two sides are called."""
    if found.difference is None:
        print_line("no task has scored trials on both sides")
    else:
        print_line(
            f"{found.tasks} tasks: {a} {found.rate_a:.1%}, {b} {found.rate_b:.1%}; "
            f"difference {_points(found.difference)} points [{_points(found.low)}, {_points(found.high)}], "
            f"p = {found.p:.2g}{'' if found.is_exact else ' (sampled)'}"
        )
    aside = {
        f"only in {a}": found.only_a,
        f"only in {b}": found.only_b,
        "changed": found.changed,
        f"results of {a} not scored": found.unscored_a,
        f"results of {b} not scored": found.unscored_b,
    }
    noted = [f"{count} {what}" for what, count in aside.items() if count]
    if noted:
        print_line(f"left out: {', '.join(noted)}")
    if len(found.checks_versions) > 1:
        print_line(f"the checks are not of one version: {', '.join(found.checks_versions)}")
    rows = [
        (one.task_id, f"{one.a_passed}/{one.a_scored}", f"{one.b_passed}/{one.b_scored}", one.failure or "")
        for one in found.flipped
    ]
    print_table(f"{len(found.flipped)} tasks with another rate", ("task", a, b, "failure of the worse"), rows)


def _points(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:+.1f}"


def show_flips(found: Iterable[Rescored]) -> None:
    """Print what was scored otherwise, and how many of each kind."""
    kinds: Counter[tuple[str, str]] = Counter()
    rows: list[tuple[str, ...]] = []
    for one in found:
        before, after = _outcome(one.before, one.class_before), _outcome(one.after, one.class_after)
        kinds[before, after] += 1
        rows.append((one.id, before, after, one.version_before, one.version_after))
    print_line(f"{kinds.total()} results flipped")
    print_table("Flips", ("result", "before", "after", "checks before", "checks after"), rows)
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    print_table("By outcome", ("before", "after", "results"), [(*kind, str(count)) for kind, count in ordered])


def _outcome(passed: bool | None, failure: FailureClass | None) -> str:
    return "not scored" if passed is None else "passed" if passed else failure or "failed"

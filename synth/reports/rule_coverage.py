"""Rates of false pass and false fail over a dataset, with their intervals, and the rules that its tasks exercise.

The gates drop every task in which a variant of the first set gets the wrong verdict, so the first rates are over tasks.
The second set drops no task, so its rates are over variants.

A task exercises a rule if its golden run keeps the rule or its request breaks it. Replays of the golden calls show
which, from the files of a dataset alone. The record gives a reason for each rule that no task keeps or breaks.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from evaluator.kinds import KINDS
from evaluator.report.statistics import Interval, wilson
from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import MANIFEST, Manifest
from skillweave.base.store import Store
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import SESSION_TOOLS, CallResult, Tool
from skillweave.schema.evaluation import HeldOutReport, VariantCount
from skillweave.schema.record import Json
from skillweave.schema.reports import RuleCoverage, TemplateWithoutTasks
from skillweave.schema.task import Task
from skillweave.schema.template import TaskTemplate
from skillweave.world.dataset import Dataset, first_fault
from skillweave.world.replay import replay
from skillweave.world.world import World
from synth.gates.interlock import refusable_bridge_rules
from synth.gates.variants import EQUIVALENT_FAILS, MUTANT_PASSES

HELD_OUT = "evaluation/held_out.json"
"""The file in which `python -m evaluator selftest --held-out` writes the results of the second set."""


class GateRate(NamedTuple):
    wrong: int
    tried: int
    interval: Interval | None
    """The 95 % interval; None if nothing was tried."""

    @property
    def rate(self) -> float:
        """The share of wrong verdicts; 0 if nothing was tried."""
        return self.wrong / self.tried if self.tried else 0.0


class GateRates(NamedTuple):
    mutants: int
    """Wrong trajectories of the first set for the kept tasks; all were killed."""
    equivalents: int
    """Right trajectories of the first set for the kept tasks; all passed."""
    mutant_sorts: dict[str, int]
    """The mutants by sort."""
    equivalent_sorts: dict[str, int]
    """The equivalents by sort."""
    fewest_mutants: int
    """The fewest mutants of one task."""
    fewest_equivalents: int
    """The fewest equivalents of one task."""
    false_pass: GateRate
    """Tasks dropped because a mutant of the first set passed, of all tasks that reached the gate."""
    false_fail: GateRate
    """Tasks dropped because an equivalent of the first set failed, of all tasks that reached the gate."""
    second_false_pass: GateRate | None
    """Mutants of the second set that passed; None if it was not tried on this very dataset."""
    second_false_fail: GateRate | None
    """Equivalents of the second set that failed; None if it was not tried on this very dataset."""


def gate_rates(dataset: Dataset, tasks: Sequence[Task]) -> GateRates:
    """The rates of a finished dataset, from its tasks and files."""
    gates = [task.gates for task in tasks]
    sorts = [_sorts([gate.mutants for gate in gates]), _sorts([gate.equivalents for gate in gates])]
    dropped = _dropped(dataset.store)
    second = _second(dataset)
    return GateRates(
        mutants=sum(sorts[0].values()),
        equivalents=sum(sorts[1].values()),
        mutant_sorts=sorts[0],
        equivalent_sorts=sorts[1],
        fewest_mutants=min((_made(gate.mutants) for gate in gates), default=0),
        fewest_equivalents=min((_made(gate.equivalents) for gate in gates), default=0),
        false_pass=rate_of(dropped[MUTANT_PASSES], len(gates) + sum(dropped.values())),
        false_fail=rate_of(dropped[EQUIVALENT_FAILS], len(gates) + sum(dropped.values())),
        second_false_pass=_rate_of(second.mutants) if second else None,
        second_false_fail=_rate_of(second.equivalents) if second else None,
    )


def rate_of(wrong: int, tried: int) -> GateRate:
    """A rate with its interval by Wilson's score."""
    return GateRate(wrong, tried, wilson(wrong, tried) if tried else None)


def _sorts(figures: Iterable[dict[str, Json]]) -> dict[str, int]:
    """The number of variants of each sort, over all tasks."""
    counts: Counter[str] = Counter()
    for gate in figures:
        sorts = gate.get("sorts")
        for name, count in sorts.items() if isinstance(sorts, dict) else ():
            counts[name] += count if isinstance(count, int) else 0
    return dict(sorted(counts.items()))


def _dropped(store: Store) -> Counter[str]:
    """Tasks dropped by the two parts of the variants gate, by reason, from the run's record."""
    dropped: Counter[str] = Counter()
    for item in Manifest(store).items() if store.exists(MANIFEST) else ():
        dropped.update({reason: item.rejected.get(reason, 0) for reason in (MUTANT_PASSES, EQUIVALENT_FAILS)})
    return dropped


def _second(dataset: Dataset) -> HeldOutReport | None:
    """The results of the second set; None if it was not tried on this very dataset."""
    if not dataset.store.exists(HELD_OUT):
        return None
    try:
        report = HeldOutReport.model_validate_json(dataset.store.read(HELD_OUT))
    except ValidationError as error:
        raise ArtifactError(f"{HELD_OUT!r} is damaged: {first_fault(error)}") from error
    return report if report.dataset == dataset.digest else None


def _rate_of(sorts: dict[str, VariantCount]) -> GateRate:
    tried = sum(sort.made for sort in sorts.values())
    return rate_of(tried - sum(sort.right for sort in sorts.values()), tried)


def _made(figures: dict[str, Json]) -> int:
    count = figures.get("made")
    return count if isinstance(count, int) else 0


_RULES: TypeAdapter[list[RuleCoverage]] = TypeAdapter(list[RuleCoverage])
EXAMPLES = 5
"""Most tasks to list for one rule."""
_EFFECT = "an effect cannot be broken by a request"
_UNTOLD = "the tasks that would break it were left out when they were put into words"


class _Rule(NamedTuple):
    says: str
    held_by: Literal["tool", "agent", "effect"]
    tools: list[Tool]


@dataclass
class RuleExercise:
    """Tasks by rule, in the order of the tasks."""

    kept: defaultdict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    broken: defaultdict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    called: set[str] = field(default_factory=set)
    """Tools that golden calls of the tasks have executed."""


def rules_covered(
    world: World,
    tasks: Sequence[Task],
    templates: Sequence[TaskTemplate] = (),
    lacking: Sequence[TemplateWithoutTasks] = (),
) -> list[RuleCoverage]:
    """Every rule of a world's policy, in the order of its tools. `lacking` lists templates without a task."""
    rules = _rules(world.blueprint)
    exercise = exercised(world, tasks)
    reasons = {entry.template: entry.reason for entry in lacking}
    coverage = []
    for number, rule in rules.items():
        kept, broken = [*exercise.kept[number]], [*exercise.broken[number]]
        coverage.append(
            RuleCoverage(
                rule=number,
                says=rule.says,
                held_by=rule.held_by,
                tools=[tool.name for tool in rule.tools],
                kept=len(kept),
                kept_by=kept[:EXAMPLES],
                broken=len(broken),
                broken_by=broken[:EXAMPLES],
                why="; ".join(_missing(world.blueprint, number, rule, exercise, templates, reasons)) or None,
            )
        )
    return coverage


def rules_of(
    blueprint: Blueprint,
    database: Path,
    now: str,
    tasks: Sequence[Task],
    templates: Sequence[TaskTemplate],
    lacking: Sequence[TemplateWithoutTasks],
) -> list[RuleCoverage]:
    """Open a world, and return `rules_covered` for it."""
    world = World(blueprint, database, now=now)
    try:
        return rules_covered(world, tasks, templates, lacking)
    finally:
        world.close()


def read_rules(store: Store, world: str) -> list[RuleCoverage] | None:
    """The recorded coverage of a world; None if there is no record. Raises ArtifactError."""
    path = f"rules/{world}.json"
    try:
        return _RULES.validate_json(store.read(path)) if store.exists(path) else None
    except ValidationError as error:
        raise ArtifactError(f"{path!r} is damaged: {str(error).splitlines()[0]}") from error


def coverage_faults(world: World, tasks: Sequence[Task], recorded: Sequence[RuleCoverage]) -> list[str]:
    """Faults of the recorded coverage: figures that the tasks do not show, gaps without a reason."""
    shown = {rule_record.rule: rule_record for rule_record in rules_covered(world, tasks)}
    on_record = {rule_record.rule: rule_record for rule_record in recorded}
    faults = [f"rule {rule} is not on record" for rule in shown if rule not in on_record]
    for rule, rule_record in on_record.items():
        if rule not in shown:
            faults.append(f"there is no rule {rule}")
        elif rule_record.model_dump(exclude={"why"}) != shown[rule].model_dump(exclude={"why"}):
            faults.append(f"rule {rule} is not kept and broken by the tasks on record")
        elif not (rule_record.kept and rule_record.broken) and not rule_record.why:
            faults.append(f"rule {rule} is not exercised, and nothing says why")
    return faults


def exercised(world: World, tasks: Sequence[Task]) -> RuleExercise:
    """Which tasks keep and break which rules."""
    exercise = RuleExercise()
    for task in tasks:
        for rule in _broken_by(task):
            exercise.broken[rule][task.id] = None
        for result in replay(world, task).results if KINDS[task.kind].is_carried_out else ():
            if result.ok and result.call.tool not in SESSION_TOOLS:
                exercise.called.add(result.call.tool)
                for rule in _kept_in(world.blueprint.tool(result.call.tool), result):
                    exercise.kept[rule][task.id] = None
    return exercise


def _rules(blueprint: Blueprint) -> dict[str, _Rule]:
    rules: dict[str, _Rule] = {}
    for tool in blueprint.tools:
        for guard in tool.guards:
            rules.setdefault(guard.rule, _Rule(guard.says, guard.enforced_by, [])).tools.append(tool)
        for effect in tool.effects:
            rules.setdefault(effect.rule, _Rule(effect.says, "effect", [])).tools.append(tool)
    return rules


def _kept_in(tool: Tool, result: CallResult) -> Iterator[str]:
    """Rules that a successful call kept: those of all its guards, and of the effects that changed something."""
    broken = {*result.violations}
    yield from (guard.rule for guard in tool.guards if guard.rule not in broken)
    for effect, changed in zip(tool.effects, result.changed, strict=False):
        if changed:
            yield effect.rule


def _broken_by(task: Task) -> set[str]:
    """Rules that the request of a task would break, or that demand one of its golden calls."""
    rules = {step.rule for step in task.criteria.must_not}
    demanded, crossings = task.gates.interlock.get("demanded"), task.gates.interlock.get("crossings")
    if isinstance(demanded, dict):
        rules |= {rule for rule, calls in demanded.items() if calls}
    for crossing in crossings if isinstance(crossings, list) else ():
        if isinstance(crossing, dict) and isinstance(crossing.get("rule"), str):
            rules.add(str(crossing["rule"]))
    return rules


def _missing(
    blueprint: Blueprint,
    number: str,
    rule: _Rule,
    done: RuleExercise,
    templates: Sequence[TaskTemplate],
    reasons: Mapping[str, str],
) -> Iterator[str]:
    """Why no task keeps a rule, and why none would break it."""
    home = _home(blueprint, number)
    is_kept, is_broken = bool(done.kept[number]), bool(done.broken[number])
    if home and not (is_kept and is_broken):
        yield f"a rule of {home}, exercised there"
        return
    if not is_kept:
        called = [tool.name for tool in rule.tools if tool.name in done.called]
        names = ", ".join(called or [tool.name for tool in rule.tools])
        if not called:
            yield f"not kept: no task carries out {names}"
        else:
            yield f"not kept: no call of {names} changes a row by it" if rule.held_by == "effect" else "not kept"
    if not is_broken:
        yield f"not broken: {_unbroken(blueprint, number, rule, templates, reasons)}"


def _unbroken(
    blueprint: Blueprint, number: str, rule: _Rule, templates: Sequence[TaskTemplate], reasons: Mapping[str, str]
) -> str:
    if rule.held_by == "effect":
        return _EFFECT
    tried = [template for template in templates if template.forbidden == number]
    causes = dict.fromkeys(reasons.get(template.id, _UNTOLD) for template in tried)
    if isinstance(blueprint, FusedBlueprint):
        return ", ".join(
            ["no task has a call that it alone demands", *(causes or [_unrefused(blueprint, number, rule)])]
        )
    if causes:
        return ", ".join(causes)
    if all(tool.kind == "auth" for tool in rule.tools):
        return "who cannot sign in has no request"
    return "no request is derived that would break it"


def _unrefused(fused: FusedBlueprint, number: str, rule: _Rule) -> str:
    """Why there is no request in a fused world that a bridge rule forbids."""
    if rule.held_by == "tool":
        return "the tool declines what it forbids"
    return "no request is derived" if number in refusable_bridge_rules(fused) else "it does not join all companies"


def _home(blueprint: Blueprint, number: str) -> str | None:
    """The single-domain world from which a rule of a fused world comes, with its number there."""
    for member in blueprint.members if isinstance(blueprint, FusedBlueprint) else ():
        for own, joined in member.rules.items():
            if joined == number:
                return f"{member.server} ({own} there)"
    return None

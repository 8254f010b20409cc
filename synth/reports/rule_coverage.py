"""Which rules the tasks of a world exercise: kept in a golden run, broken by what a request comes to.

Found by replaying the golden calls, from the files of a dataset alone. A rule that lacks one or the other has a reason.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from evaluator.kinds import KINDS
from skillweave.base.errors import ArtifactError
from skillweave.base.store import Store
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.call import SESSION_TOOLS, CallResult
from skillweave.schema.contract import Tool
from skillweave.schema.reports import RuleCoverage, TemplateWithoutTasks
from skillweave.schema.task import Task
from skillweave.schema.template import TaskTemplate
from skillweave.world.replay import replay
from skillweave.world.world import World
from synth.gates.interlock import refusable_bridge_rules

_RULES: TypeAdapter[list[RuleCoverage]] = TypeAdapter(list[RuleCoverage])
EXAMPLES = 5
"""Tasks that are named for one rule."""
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
    """Tools that a task's golden calls have carried out."""


def rules_covered(
    world: World,
    tasks: Sequence[Task],
    templates: Sequence[TaskTemplate] = (),
    lacking: Sequence[TemplateWithoutTasks] = (),
) -> list[RuleCoverage]:
    """Every rule of a world's policy, in the order of its tools. `lacking`: templates of which no task came."""
    rules = _rules(world.blueprint)
    exercise = exercised(world, tasks)
    reasons = {one.template: one.reason for one in lacking}
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
    """The same, of a world that is opened for it."""
    world = World(blueprint, database, now=now)
    try:
        return rules_covered(world, tasks, templates, lacking)
    finally:
        world.close()


def read_rules(store: Store, world: str) -> list[RuleCoverage] | None:
    """What is on record; None where nothing is. Raises ArtifactError."""
    path = f"rules/{world}.json"
    try:
        return _RULES.validate_json(store.read(path)) if store.exists(path) else None
    except ValidationError as error:
        raise ArtifactError(f"{path!r} is damaged: {str(error).splitlines()[0]}") from error


def coverage_faults(world: World, tasks: Sequence[Task], recorded: Sequence[RuleCoverage]) -> list[str]:
    """What is wrong with the coverage on record: figures that the tasks do not show, gaps without a reason."""
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
    """Rules that a call which went through has kept: all its guards, and the effects that changed something."""
    broken = {*result.violations}
    yield from (guard.rule for guard in tool.guards if guard.rule not in broken)
    for effect, changed in zip(tool.effects, result.changed, strict=False):
        if changed:
            yield effect.rule


def _broken_by(task: Task) -> set[str]:
    """Rules that the request of a task comes to break, or that a golden call is there to keep."""
    rules = {one.rule for one in task.criteria.must_not}
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
    """Why a rule is not kept by any task, and why none would break it."""
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
    said = dict.fromkeys(reasons.get(template.id, _UNTOLD) for template in tried)
    if isinstance(blueprint, FusedBlueprint):
        return ", ".join(["no task has a call that it alone demands", *(said or [_unrefused(blueprint, number, rule)])])
    if said:
        return ", ".join(said)
    if all(tool.kind == "auth" for tool in rule.tools):
        return "who cannot sign in has no request"
    return "no request is derived that would break it"


def _unrefused(fused: FusedBlueprint, number: str, rule: _Rule) -> str:
    """Why no request of a joined world was derived that a bridge rule forbids."""
    if rule.held_by == "tool":
        return "the tool declines what it forbids"
    return "no request is derived" if number in refusable_bridge_rules(fused) else "it does not join all companies"


def _home(blueprint: Blueprint, number: str) -> str | None:
    """The single-domain world that a rule of a joined one comes from, and its number there."""
    for member in blueprint.members if isinstance(blueprint, FusedBlueprint) else ():
        for own, joined in member.rules.items():
            if joined == number:
                return f"{member.server} ({own} there)"
    return None

"""Findings: what each check says of a trajectory, in words, with the row changes that it names."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skillweave.schema.change import RowChange
from skillweave.schema.record import Json
from skillweave.schema.score import ActionsCheck, Checks, JudgedCheck, PolicyCheck, ReplayCheck
from skillweave.schema.task import FactToTell, Task


@dataclass(frozen=True)
class Finding:
    """One check."""

    check: str
    score: float | None
    """None for a check that notes and does not judge."""
    counts: bool
    """Whether the reward rests on it."""
    notes: list[str]
    """What is to be said, a line each; empty where all is well."""
    missing: list[RowChange] = field(default_factory=list)
    """Changes that are demanded and did not happen."""
    unexpected: list[RowChange] = field(default_factory=list)
    """Changes that happened and are not demanded."""


def findings_of(task: Task, checks: Checks) -> list[Finding]:
    """The checks that were made, those that count first."""
    return sorted(_all(task, checks), key=lambda finding: not finding.counts)


def _all(task: Task, checks: Checks) -> Iterator[Finding]:
    basis = frozenset[str](task.criteria.reward_basis)
    if state := checks.state:
        yield Finding("state", state.score, "state" in basis, [], state.missing, state.unexpected)
    if told := checks.communicate:
        yield Finding("communicate", told.score, "communicate" in basis, _untold(task, told.missing))
    if checks.policy:
        yield Finding("policy", checks.policy.score, "policy" in basis, _conduct(checks.policy))
    if checks.actions:
        yield Finding("actions", checks.actions.score, "actions" in basis, _calls(checks.actions))
    if user := checks.user:
        faults = [f"message {fault.message}: {fault.fault}" for fault in user.faults]
        faults += (
            ["left while a question was open, its request neither done, declined nor handed over"] if user.left else []
        )
        yield Finding("user", user.score, False, faults)
    for name, judged in (("rubric", checks.rubric), ("subjective", checks.subjective)):
        if judged:
            yield Finding(name, judged.score, name in basis, _answers(judged))
    if checks.replay:
        yield Finding("replay", None, False, _replay(checks.replay))


def _untold(task: Task, missing: Sequence[str]) -> list[str]:
    facts = {fact.fact: fact for fact in task.criteria.communicate}
    return [f"not told, or told wrongly: {_fact(facts[name]) if name in facts else name}" for name in missing]


def _fact(fact: FactToTell) -> str:
    unit = f" {fact.unit}" if fact.unit else ""
    return f"{fact.noun} = {' or '.join(map(_json, fact.values))}{unit} ({fact.fact})"


def _conduct(check: PolicyCheck) -> list[str]:
    notes = [f"violation: {text}" for text in check.violations]
    notes += [f"without the user's word: {text}" for text in check.unconfirmed or ()]
    return [*notes, *(f"noted: {text}" for text in check.notes)]


def _calls(check: ActionsCheck) -> list[str]:
    notes = [f"precision {check.precision:.2f}, recall {check.recall:.2f}"]
    notes += [f"not made: golden call {note.golden}, {_call(note.tool, note.arguments)}" for note in check.missing]
    notes += [f"extra: call {note.call}, {_call(note.tool, note.arguments)}" for note in check.extra]
    notes += [
        f"call {fault.call} ({fault.tool}), {fault.argument}: {_json(fault.got)}, not {_json(fault.expected)}"
        for fault in check.argument_errors
    ]
    early = [f"too early: call {pair.call}, which stands for golden call {pair.golden}" for pair in check.order_errors]
    return [*notes, *early]


def _answers(check: JudgedCheck) -> list[str]:
    answers = [f"{answer.score:.2f}: {answer.question} {answer.why}" for answer in check.answers]
    return [f"judged by {check.judge}, prompt {check.prompt_version}", *answers]


def _replay(check: ReplayCheck) -> list[str]:
    notes = [f"{check.calls} calls made again, {check.failed} of all calls ended in an error"]
    if check.malformed:
        notes.append(f"cannot be read: call {', '.join(map(str, check.malformed))}")
    if check.differs:
        notes.append(f"the record gives another result: call {', '.join(map(str, check.differs))}")
    if check.after_the_end:
        notes.append(f"messages behind the end, which count for nothing: {check.after_the_end}")
    return notes


def _call(tool: str, arguments: dict[str, Json]) -> str:
    return f"{tool}({', '.join(f'{name}={_json(value)}' for name, value in arguments.items())})"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)

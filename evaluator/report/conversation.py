"""A conversation for people to read: turn by turn, with row changes, the golden calls, and each check's findings."""

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evaluator.replay.execution import ExecutedCall
from evaluator.replay.trial import ReplayedTrial, ScoredTrial
from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.result import Divergence, Result
from skillweave.schema.score import ActionsCheck, Checks, JudgedCheck, MatchedCall, PolicyCheck, ReplayCheck
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, UserTurn

_KEPT = ("Zs", "Co", "Cn")


@dataclass(frozen=True)
class ShownCall:
    """A call, golden or the agent's."""

    place: int
    """Position among the calls of its side, from 0."""
    tool: str
    """The tool's name without a namespace."""
    arguments: dict[str, Json]
    """The arguments; empty if they cannot be read."""
    written: str | None
    """The arguments as the trajectory has them, if they cannot be read."""
    value: Json
    """The result in the replay."""
    error: str | None
    """Error code and message; None if the call succeeded."""
    changes: list[RowChange]
    """Row changes of the call."""
    broken: list[str]
    """Broken rules that no tool enforces."""
    partner: int | None
    """Position of the matching call on the other side; None if there is none."""
    recorded: str | None = None
    """The recorded result, if it differs from the replay."""
    is_demanded: bool = True
    """False for a golden call that changes nothing in the outcome."""


@dataclass(frozen=True)
class ShownTurn:
    """A message, with the calls that it makes."""

    message: int
    """Position in the trajectory, from 0."""
    role: str
    text: str
    reasoning: str
    """The model's recorded reasoning; may be empty."""
    calls: list[ShownCall]
    record: str = ""
    """The user's own record of a message: whether it agrees, which facts it tells."""


@dataclass(frozen=True)
class CheckFinding:
    """The findings of one check."""

    check: str
    score: float | None
    """None for a check without a score."""
    counts: bool
    """Whether the reward counts it."""
    notes: list[str]
    """Faults and notes, one on each line."""
    missing: list[RowChange] = field(default_factory=list)
    """Demanded changes that did not happen."""
    unexpected: list[RowChange] = field(default_factory=list)
    """Changes that happened but are not demanded."""


@dataclass(frozen=True)
class ShownConversation:
    """One trajectory and its golden calls, with the findings of the checks."""

    result: Result
    task: Task
    turns: list[ShownTurn]
    golden: list[ShownCall]
    findings: list[CheckFinding]

    @property
    def divergence(self) -> Divergence | None:
        """The point where it left the golden path; None if it did not fail."""
        return self.result.failure.first_divergence if self.result.failure else None


def conversation_of(scored: ScoredTrial, result: Result) -> ShownConversation:
    """A trial for display. Each call shows its result in the replay."""
    trial = scored.trial
    matched = scored.checks.actions.matched if scored.checks.actions else []
    return ShownConversation(
        result=result,
        task=trial.task,
        turns=_turns(trial, scored, matched),
        golden=_golden(trial, matched),
        findings=findings_of(trial.task, scored.checks),
    )


def _golden(trial: ReplayedTrial, matched: Sequence[MatchedCall]) -> list[ShownCall]:
    partner = {pair.golden: pair.call for pair in matched}
    return [
        _shown(step, partner.get(step.position), is_demanded=step.position not in trial.golden.pruned)
        for step in trial.golden.execution.calls
    ]


def _turns(trial: ReplayedTrial, scored: ScoredTrial, matched: Sequence[MatchedCall]) -> list[ShownTurn]:
    partner = {pair.call: pair.golden for pair in matched}
    differs = frozenset(scored.checks.replay.differs if scored.checks.replay else ())
    written = [call.function.arguments for message in _of_agent(trial.messages) for call in message.tool_calls or ()]
    answers = _conversation_answers(trial.messages)
    calls: dict[int, list[ShownCall]] = {}
    for step in trial.execution.calls:
        shown = _shown(
            step,
            partner.get(step.position),
            written=str(written[step.position]) if step.is_malformed else None,
            recorded=_text(trial.messages, answers.get(step.position)) if step.position in differs else None,
        )
        calls.setdefault(step.message, []).append(shown)
    answer_places = frozenset(answers.values())
    records = {turn.message: _record(turn) for turn in trial.turns}
    return [
        ShownTurn(
            message=place,
            role=message.role,
            text=message.content or "",
            reasoning=message.reasoning_content or "",
            calls=calls.get(place, []),
            record=records.get(place, ""),
        )
        for place, message in enumerate(trial.messages)
        if place not in answer_places
    ]


def _record(turn: UserTurn) -> str:
    notes = {
        "agrees": turn.agrees is True,
        "does not agree": turn.agrees is False,
        "wants a human": turn.wants_human,
        "is done": turn.done,
        f"tells {', '.join(turn.tells)}": bool(turn.tells),
    }
    return "; ".join(note for note, holds in notes.items() if holds)


def _of_agent(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role == "assistant"]


def _conversation_answers(messages: Sequence[Message]) -> dict[int, int]:
    """Position of a call -> position of the message with its recorded result."""
    answers: dict[int, int] = {}
    open_calls: dict[str, int] = {}
    count = 0
    for place, message in enumerate(messages):
        if message.role == "assistant":
            for call in message.tool_calls or ():
                open_calls[call.id] = count
                count += 1
        elif message.role == "tool" and message.tool_call_id in open_calls:
            answers[open_calls.pop(message.tool_call_id)] = place
    return answers


def _text(messages: Sequence[Message], place: int | None) -> str | None:
    return None if place is None else messages[place].content or ""


def _shown(
    step: ExecutedCall,
    partner: int | None,
    *,
    written: str | None = None,
    recorded: str | None = None,
    is_demanded: bool = True,
) -> ShownCall:
    error = step.result.error
    return ShownCall(
        place=step.position,
        tool=step.tool,
        arguments=step.arguments,
        written=written,
        value=step.result.value,
        error=f"{error.code}: {error.message}" if error else None,
        changes=step.changes,
        broken=step.result.violations,
        partner=partner,
        recorded=recorded,
        is_demanded=is_demanded,
    )


def findings_of(task: Task, checks: Checks) -> list[CheckFinding]:
    """The findings of the checks, those that count in the reward first."""
    return sorted(_all(task, checks), key=lambda finding: not finding.counts)


def _all(task: Task, checks: Checks) -> Iterator[CheckFinding]:
    basis = frozenset[str](task.criteria.reward_basis)
    if state := checks.state:
        yield CheckFinding("state", state.score, "state" in basis, [], state.missing, state.unexpected)
    if communicate := checks.communicate:
        yield CheckFinding("communicate", communicate.score, "communicate" in basis, _untold(task, communicate.missing))
    if checks.policy:
        yield CheckFinding("policy", checks.policy.score, "policy" in basis, _conduct(checks.policy))
    if checks.actions:
        yield CheckFinding("actions", checks.actions.score, "actions" in basis, _calls(checks.actions))
    if user := checks.user:
        faults = [f"message {fault.message}: {fault.fault}" for fault in user.faults]
        faults += (
            ["left while a question was open, its request neither done, declined nor handed over"] if user.left else []
        )
        yield CheckFinding("user", user.score, False, faults)
    for name, judged in (("rubric", checks.rubric), ("subjective", checks.subjective)):
        if judged:
            yield CheckFinding(name, judged.score, name in basis, _finding_answers(judged))
    for name, own in checks.own.items():
        notes = [f"{field}: {_json(value)}" for field, value in (own.model_extra or {}).items()]
        yield CheckFinding(name, own.score, name in basis, notes)
    if checks.replay:
        yield CheckFinding("replay", None, False, _replay(checks.replay))


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


def _finding_answers(check: JudgedCheck) -> list[str]:
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


def visible(text: str) -> str:
    """The text with control and format characters as escapes; line breaks and spaces stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_seen(character) else _escaped(character) for character in text)


def _is_seen(character: str) -> bool:
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) in _KEPT


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

"""A conversation to be looked at: turn by turn, with what each call changed, beside the golden calls."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.execution import Step
from evaluator.report.finding import Finding, findings_of
from evaluator.trial import Scored, Trial
from skillweave.schema.change import RowChange
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.result import Divergence, Result
from skillweave.schema.score import Matched
from skillweave.schema.task import Task
from skillweave.schema.trajectory import UserTurn


@dataclass(frozen=True)
class ShownCall:
    """A call, golden or made."""

    place: int
    """Position among the calls of its side, from 0."""
    tool: str
    """Without a namespace."""
    arguments: dict[str, Json]
    """Empty where they cannot be read."""
    written: str | None
    """The arguments as they stand in the trajectory, where they cannot be read."""
    value: Json
    """What the replay gave."""
    error: str | None
    """Why it was not carried out: code and words."""
    changes: list[RowChange]
    """What it changed."""
    broken: list[str]
    """Rules that only the agent holds, and that it broke."""
    partner: int | None
    """The call of the other side that it stands for."""
    recorded: str | None = None
    """What the trajectory gives as its result, where that differs."""
    is_demanded: bool = True
    """False for a golden call that changes nothing in the outcome."""


@dataclass(frozen=True)
class Turn:
    """A message, with the calls that it makes."""

    message: int
    """Position in the trajectory, from 0."""
    role: str
    text: str
    reasoning: str
    """What the model thought aloud; empty where nothing is recorded."""
    calls: list[ShownCall]
    record: str = ""
    """What a message of the user's comes to: whether it agrees, what it tells."""


@dataclass(frozen=True)
class Conversation:
    """One trajectory and its golden calls, with what the checks found."""

    result: Result
    task: Task
    turns: list[Turn]
    golden: list[ShownCall]
    findings: list[Finding]

    @property
    def divergence(self) -> Divergence | None:
        """Where it left the golden path; None where it did not fail."""
        return self.result.failure.first_divergence if self.result.failure else None


def conversation_of(scored: Scored, result: Result) -> Conversation:
    """What is to be shown of a trial. Results of tools stand with their calls, and are those of the replay."""
    trial = scored.trial
    matched = scored.checks.actions.matched if scored.checks.actions else []
    return Conversation(
        result=result,
        task=trial.task,
        turns=_turns(trial, scored, matched),
        golden=_golden(trial, matched),
        findings=findings_of(trial.task, scored.checks),
    )


def _golden(trial: Trial, matched: Sequence[Matched]) -> list[ShownCall]:
    partner = {pair.golden: pair.call for pair in matched}
    return [
        _shown(step, partner.get(step.call), is_demanded=step.call not in trial.golden.pruned)
        for step in trial.golden.execution.steps
    ]


def _turns(trial: Trial, scored: Scored, matched: Sequence[Matched]) -> list[Turn]:
    partner = {pair.call: pair.golden for pair in matched}
    differs = frozenset(scored.checks.replay.differs if scored.checks.replay else ())
    written = [call.function.arguments for message in _of_agent(trial.messages) for call in message.tool_calls or ()]
    answers = _answers(trial.messages)
    made: dict[int, list[ShownCall]] = {}
    for step in trial.made.steps:
        shown = _shown(
            step,
            partner.get(step.call),
            written=str(written[step.call]) if step.is_malformed else None,
            recorded=_text(trial.messages, answers.get(step.call)) if step.call in differs else None,
        )
        made.setdefault(step.message, []).append(shown)
    told = frozenset(answers.values())
    records = {turn.message: _record(turn) for turn in trial.turns}
    return [
        Turn(
            message=place,
            role=message.role,
            text=message.content or "",
            reasoning=message.reasoning_content or "",
            calls=made.get(place, []),
            record=records.get(place, ""),
        )
        for place, message in enumerate(trial.messages)
        if place not in told
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


def _answers(messages: Sequence[Message]) -> dict[int, int]:
    """Call -> the message that is recorded as its result: the first of its id behind it."""
    found: dict[int, int] = {}
    open_calls: dict[str, int] = {}
    count = 0
    for place, message in enumerate(messages):
        if message.role == "assistant":
            for call in message.tool_calls or ():
                open_calls[call.id] = count
                count += 1
        elif message.role == "tool" and message.tool_call_id in open_calls:
            found[open_calls.pop(message.tool_call_id)] = place
    return found


def _text(messages: Sequence[Message], place: int | None) -> str | None:
    return None if place is None else messages[place].content or ""


def _shown(
    step: Step,
    partner: int | None,
    *,
    written: str | None = None,
    recorded: str | None = None,
    is_demanded: bool = True,
) -> ShownCall:
    error = step.result.error
    return ShownCall(
        place=step.call,
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

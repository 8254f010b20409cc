"""The page of a trace analysis: the figures, and examples side by side. Long conversations are cut."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evaluator.report.conversation import CheckFinding, ShownCall, ShownConversation, ShownTurn
from evaluator.report.statistics import LEVEL
from learn.traces.change import by_class, groups_of, outcome_of
from learn.traces.figures import PASSED, CallFigures, TaskMove, TraceExample, TraceFigures, TraceOutcome
from learn.traces.html import render_page
from learn.traces.side import ScoredFolder
from skillweave.base.command import percent
from skillweave.schema.contract import RowChange
from skillweave.schema.record import Json
from skillweave.schema.result import FAILURE_CLASSES, Divergence

MOST_TURNS = 60
"""Messages of a conversation that the page shows."""
MOST_CALLS = 100
"""Calls of a conversation that the page shows."""

MOST_TOOLS = 12
"""Tools that the page shows unfolded."""
MOST_GROUPS = 30
"""Worlds, kinds, forms or levels that the page shows unfolded."""


class MeasurePair(NamedTuple):
    """A figure of both sides, as it is shown."""

    before: str
    after: str
    difference: str


class ColumnMessage(NamedTuple):
    """A message as the page shows it."""

    turn: ShownTurn
    calls: Sequence[ShownCall]
    """Those of its calls that are shown."""


@dataclass(frozen=True)
class ConversationColumn:
    """One of two conversations side by side."""

    title: str
    id: str
    outcome: TraceOutcome
    messages: Sequence[ColumnMessage]
    hidden: int
    """Messages that are not shown."""
    divergence: Divergence | None
    """Where it left the golden path; None if it passed."""
    is_marked: bool
    """Whether that point is among what is shown."""
    differs: int | None
    """Position of its first call that is not the other's; None if it has no such call."""
    faults: Sequence[CheckFinding]
    """The checks that it failed."""


@dataclass(frozen=True)
class ShownExample:
    """A task with its conversation before and its conversation after."""

    move: TaskMove
    task_id: str
    failure: str
    traits: str
    goal: str
    golden: Sequence[ShownCall]
    columns: tuple[ConversationColumn, ConversationColumn]


def traces_page(figures: TraceFigures, before: ScoredFolder, after: ScoredFolder) -> bytes:
    """The page as HTML."""
    outcomes = by_class(figures.outcomes)
    order = {name: place for place, name in enumerate((PASSED, *FAILURE_CLASSES))}
    classes = {name: outcomes[name] for name in sorted(outcomes, key=lambda name: order[name])}
    shown = [shown_example(example, before, after) for example in figures.examples]
    return render_page(
        "learn.traces/traces.html",
        figures=figures,
        level=f"{100 * LEVEL:g} %",
        measures=[*measures_of(figures.before.calls, figures.after.calls).items()],
        matrix={(move.before, move.after): move.trajectories for move in figures.outcomes},
        classes=classes,
        rows=[name for name, (count, _) in classes.items() if count],
        columns=[name for name, (_, count) in classes.items() if count],
        words_of=FAILURE_CLASSES,
        groups=groups_of(figures),
        examples=[example for example in shown if example is not None],
        most_tools=MOST_TOOLS,
        most_groups=MOST_GROUPS,
        written=written,
        given=given_arguments,
        cells=changed_cells,
    )


def measures_of(before: CallFigures, after: CallFigures) -> dict[str, MeasurePair]:
    """What is said of the calls, by the words for it."""
    return {
        "calls": _mean(before, after, "calls"),
        "messages of the agent": _mean(before, after, "turns"),
        "writes": _mean(before, after, "writes"),
        "repeated calls": _mean(before, after, "repeated"),
        "calls that failed": _share(before, after, "failed", "calls"),
        "malformed calls": _share(before, after, "malformed", "calls"),
        "writes with the user's agreement": _share(before, after, "unconfirmed", "asking", is_complement=True),
        "handed over to a human": _share(before, after, "transfers", "trajectories"),
    }


def _mean(before: CallFigures, after: CallFigures, name: str) -> MeasurePair:
    """A number for each trajectory."""
    first, second = (getattr(side, name) / max(side.trajectories, 1) for side in (before, after))
    return MeasurePair(f"{first:.2f}", f"{second:.2f}", f"{second - first:+.2f}")


def _share(
    before: CallFigures, after: CallFigures, name: str, whole: str, *, is_complement: bool = False
) -> MeasurePair:
    """A share of something, or of what is left of it; a dash where there is nothing of it."""
    shares: list[float | None] = []
    for side in (before, after):
        part, total = getattr(side, name), getattr(side, whole)
        shares.append(None if not total else (total - part if is_complement else part) / total)
    first, second = shares
    difference = "–" if first is None or second is None else f"{100 * (second - first):+.1f} points"
    return MeasurePair(_percent(first), _percent(second), difference)


def _percent(share: float | None) -> str:
    return "–" if share is None else percent(share, " %")


def shown_example(example: TraceExample, before: ScoredFolder, after: ScoredFolder) -> ShownExample | None:
    """An example for the template; None where a trajectory cannot be replayed any more."""
    first, second = _conversation(before, example.before), _conversation(after, example.after)
    if first is None or second is None:
        return None
    task, result = first.task, first.result
    traits = [result.world, result.kind or "", *(result.forms or ()), f"level {result.level}"]
    differs = first_difference(_calls(first), _calls(second))
    return ShownExample(
        move=example.move,
        task_id=example.task_id,
        failure=example.failure,
        traits=" · ".join(filter(None, traits)),
        goal=task.scenario.goal,
        golden=first.golden,
        columns=(_column(before.title, first, differs), _column(after.title, second, differs)),
    )


def _conversation(side: ScoredFolder, id: str) -> ShownConversation | None:
    return next((side.conversation(result) for result in side.scored if result.id == id), None)


def _calls(conversation: ShownConversation) -> list[ShownCall]:
    return [call for turn in conversation.turns for call in turn.calls]


def first_difference(first: Sequence[ShownCall], second: Sequence[ShownCall]) -> int | None:
    """The position of the first call that only one of two conversations has; None if they make the same calls."""
    shared = next(
        (
            place
            for place, (a, b) in enumerate(zip(first, second, strict=False))
            if (a.tool, a.arguments, a.written) != (b.tool, b.arguments, b.written)
        ),
        min(len(first), len(second)),
    )
    return shared if shared < max(len(first), len(second)) else None


def _column(title: str, conversation: ShownConversation, differs: int | None) -> ConversationColumn:
    messages = [
        ColumnMessage(turn, [call for call in turn.calls if call.place < MOST_CALLS])
        for turn in conversation.turns[:MOST_TURNS]
    ]
    divergence = conversation.divergence
    calls = {call.place for message in messages for call in message.calls}
    places = {message.turn.message for message in messages}
    return ConversationColumn(
        title=title,
        id=conversation.result.id,
        outcome=outcome_of(conversation.result),
        messages=messages,
        hidden=len(conversation.turns) - len(messages),
        divergence=divergence,
        is_marked=divergence is not None
        and (divergence.message in places if divergence.call is None else divergence.call in calls),
        differs=differs,
        faults=[finding for finding in conversation.findings if finding.counts and finding.score not in (None, 1)],
    )


def written(value: Json) -> str:
    """A value as JSON, a list with each row on a line of its own."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f" {json.dumps(row, ensure_ascii=False)}" for row in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)


def given_arguments(arguments: Mapping[str, Json]) -> str:
    """Arguments on one line."""
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


def changed_cells(change: RowChange) -> list[tuple[str, str | None, str | None]]:
    """The columns of a row change, each with its value before and after; None where there is none."""
    before, after = change.before or {}, change.after or {}
    return [
        (name, written(before[name]) if name in before else None, written(after[name]) if name in after else None)
        for name in dict.fromkeys([*before, *after])
    ]

"""Terminal output: one trajectory in full, with colours on a terminal and in plain lines elsewhere."""

import json
import sys
import textwrap
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.text import Text

from evaluator.report.conversation import ShownCall, ShownConversation, ShownTurn, visible
from skillweave.schema.contract import RowChange
from skillweave.schema.record import Json
from skillweave.schema.result import FAILURE_CLASSES, Result

StyledLine = tuple[int, str, str]
"""Indentation, style on a terminal, and text of one or more lines."""
_DONE = {"insert": "inserted in", "update": "updated in", "delete": "deleted from"}
_STEP = "  "


def show_conversation(conversation: ShownConversation, out: TextIO | None = None) -> None:
    """Write the conversation to `out`, by default standard output: with colours on a terminal, else in plain lines.

    The text cannot contain control sequences for the terminal.
    """
    out = out or sys.stdout
    console = Console(file=out) if out.isatty() else None
    for depth, style, text in _lines(conversation):
        indented = textwrap.indent(visible(text), _STEP * depth)
        if console is None:
            print(indented, file=out)
        else:
            console.print(Text(indented, style=style), soft_wrap=True)


def _lines(conversation: ShownConversation) -> Iterator[StyledLine]:
    yield from _head(conversation)
    yield from _section("What was said and done")
    for turn in conversation.turns:
        yield from _turn(turn, conversation)
    yield from _end(conversation)
    yield from _section("Golden calls")
    for call in conversation.golden:
        yield from _call(call, "made as call" if call.partner is not None else _unmade(call))
    if not conversation.golden:
        yield 1, "dim", "none: nothing is to be done"
    yield from _section("Checks")
    for finding in conversation.findings:
        low = finding.score is not None and finding.score < 1
        score = "" if finding.score is None else f" {finding.score:.2f}"
        yield 1, "bold red" if low else "bold", f"{finding.check}{score}{', counts' if finding.counts else ''}"
        yield from ((2, "", note) for note in finding.notes)
        for word, changes in (("missing", finding.missing), ("unexpected", finding.unexpected)):
            for change in changes:
                yield from _change(change, 2, f"{word}: ")


def _head(conversation: ShownConversation) -> Iterator[StyledLine]:
    result, task = conversation.result, conversation.task
    failure = result.failure
    yield 0, "bold", result.id
    verdict = "passed" if result.passed else "not scored" if result.passed is None else "failed"
    yield (
        0,
        "",
        f"{verdict}, reward {result.reward}; {_traits(result)}; {result.stop_reason}",
    )
    if failure is not None:
        yield 0, "red", f"{failure.class_}: {FAILURE_CLASSES[failure.class_]}"
    persona = f"{task.persona.name}, {task.persona.age}, {task.persona.style}"
    yield 0, "", f"agent {result.speakers.agent}; user {result.speakers.user} as {persona}; {task.now}"
    yield 0, "", f"goal: {task.scenario.goal}"
    yield from ((0, "", f"later: {words}") for words in task.scenario.said_later)


def _traits(result: Result) -> str:
    forms = [" and ".join(result.forms)] if result.forms else []
    level = [] if result.level is None else [f"level {result.level}"]
    return ", ".join([result.world, f"{result.kind}", *forms, *level, f"{result.split}"])


def _section(title: str) -> Iterator[StyledLine]:
    yield 0, "", ""
    yield 0, "bold", title


def _turn(turn: ShownTurn, conversation: ShownConversation) -> Iterator[StyledLine]:
    strayed = conversation.divergence
    at_message = strayed is not None and strayed.call is None and strayed.message == turn.message
    yield 1, "cyan", f"{turn.role}, message {turn.message}"
    if at_message:
        yield from _strayed(conversation)
    if turn.reasoning:
        yield 2, "dim", f"(thinks) {turn.reasoning}"
    if turn.role == "system":
        yield 2, "dim", f"[instructions: {len(turn.text)} characters]"
    elif turn.text:
        yield 2, "", turn.text
    if turn.record:
        yield 2, "dim", f"({turn.record})"
    for call in turn.calls:
        if strayed is not None and strayed.call == call.place:
            yield from _strayed(conversation)
        yield from _call(call, "golden call" if call.partner is not None else "")


def _strayed(conversation: ShownConversation) -> Iterator[StyledLine]:
    strayed = conversation.divergence
    if strayed is not None:
        yield 2, "bold red", "left the golden path here"
        yield 3, "red", f"expected: {strayed.expected}"
        yield 3, "red", f"got: {strayed.got}"


def _end(conversation: ShownConversation) -> Iterator[StyledLine]:
    """The point where the agent left the golden path, if it is not a message or a call shown above."""
    strayed = conversation.divergence
    calls = {call.place for turn in conversation.turns for call in turn.calls}
    messages = {turn.message for turn in conversation.turns}
    if strayed is not None and (strayed.message not in messages if strayed.call is None else strayed.call not in calls):
        yield from _strayed(conversation)


def _unmade(call: ShownCall) -> str:
    return "no call stands for it" if call.is_demanded else "not demanded"


def _call(call: ShownCall, relation: str) -> Iterator[StyledLine]:
    partner = "" if call.partner is None else f" {call.partner}"
    yield 2, "yellow", f"call {call.place}: {call.tool}" + (f" ({relation}{partner})" if relation else "")
    yield from ((3, "", f"{name} = {_json(value)}") for name, value in call.arguments.items())
    if call.written is not None:
        yield 3, "red", f"cannot be read: {call.written}"
    if call.error is not None:
        yield 3, "red", f"error: {call.error}"
    else:
        yield 3, "dim", f"-> {_json(call.value)}"
    if call.recorded is not None:
        yield 3, "red", f"the trajectory records another result: {call.recorded}"
    yield from ((3, "red", f"breaks {rule}") for rule in call.broken)
    for change in call.changes:
        yield from _change(change, 3, "")


def _change(change: RowChange, depth: int, word: str) -> Iterator[StyledLine]:
    before, after = change.before or {}, change.after or {}
    key = ", ".join(map(_json, change.key.values()))
    yield depth, "magenta", f"{word}{_DONE[change.op]} {change.table} {key}"
    for name in dict.fromkeys([*before, *after]):
        values = " -> ".join(_json(cells[name]) for cells in (before, after) if name in cells)
        yield depth + 1, "", f"{name}: {values}"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)

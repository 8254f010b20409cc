"""The report: one HTML file that needs no server and no network, and holds what it shows as data.

All foreign text goes through the template's escaping or into JSON in a script element. The page's content
security policy runs its own script alone, named by digest. Texts are kept in pieces, each once; long ones are cut.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib.resources import files
from typing import TypeVar

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from evaluator.report.conversation import CheckFinding, ShownCall, ShownConversation, ShownTurn, visible
from evaluator.report.results import ReportSelection, order_of, sample_key_of, select
from evaluator.report.summary import side_by_side
from skillweave.base.command import percent
from skillweave.base.store import Store, digest_text
from skillweave.schema.contract import RowChange
from skillweave.schema.evaluation import MAX_LEFT_SHARE, EvaluationSummary, Ladder
from skillweave.schema.record import Json
from skillweave.schema.result import FAILURE_CLASSES, Divergence, Result
from skillweave.text_calls import NO_PARSER

LONGEST_TEXT = 20_000
"""Most characters to show of one text."""
MOST_CHARACTERS = 400_000
"""Most characters of one trajectory, so that the page stays small."""
OVERHEAD = 32
"""Characters to count for each turn, call, row and cell, in addition to its text."""
_DANGEROUS = re.compile(r"[<>&]")
_GAP = "\n\n"
T = TypeVar("T")
SHOWN = 500
"""Default number of trajectories on a page."""
LONGEST_EXAMPLE = 300
"""Characters of an example that a table quotes."""


def write_report(
    store: Store,
    path: str,
    summary: EvaluationSummary,
    results: Callable[[], Iterator[Result]],
    conversation: Callable[[Result], ShownConversation | None],
    *,
    most: int = SHOWN,
    ladder: Ladder | None = None,
) -> None:
    """Write the page. Memory grows with `most`, not with the number of results.

    Args:
        results: The results, which the page reads twice.
        conversation: Gives the conversation of each trajectory shown.
        ladder: The results of the scripted agents on the same dataset.
    """
    selection = select(results(), most)
    items = _items(results, conversation, selection)
    with store.replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as page:
        page.writelines(_page(summary, selection, items, ladder))


def _items(
    results: Callable[[], Iterator[Result]],
    conversation: Callable[[Result], ShownConversation | None],
    selection: ReportSelection,
) -> Iterator[Markup]:
    """The chosen trajectories, in their order, as JSON."""
    chosen = {sample_key_of(result): result for result in results() if sample_key_of(result) in selection.chosen}
    embedder = Embedder()
    for result in sorted(chosen.values(), key=order_of):
        yield Markup(embedder.item(result, conversation(result)))


def _page(
    summary: EvaluationSummary, selection: ReportSelection, items: Iterator[Markup], ladder: Ladder | None
) -> Iterator[str]:
    style, script = _text("report.css"), _text("report.js")
    return (
        _environment()
        .get_template("report.html")
        .generate(
            summary=summary,
            selection=selection,
            items=items,
            ladder=ladder,
            level=f"{100 * summary.level:g} %",
            compared=side_by_side(summary.by_agent),
            most_left=MAX_LEFT_SHARE,
            overalls={f"{agent.agent} with {agent.user}": agent.overall for agent in summary.by_agent},
            classes=FAILURE_CLASSES,
            no_parser=NO_PARSER,
            class_data=Markup(in_script({str(name): words for name, words in FAILURE_CLASSES.items()})),
            style=Markup(style),
            script=Markup(script),
            security=f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def _environment() -> Environment:
    environment = Environment(
        undefined=StrictUndefined,
        loader=FunctionLoader(_text),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.filters["percent"] = partial(percent, sign=" %")
    environment.filters["seen"] = visible
    environment.filters["short"] = lambda text: visible(text[:LONGEST_EXAMPLE])
    return environment


def _text(name: str) -> str:
    return (files(__package__ or "") / name).read_text("utf-8")


def _source(content: str) -> str:
    """How a content security policy names an inline script or style."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


class Embedder:
    """Writes trajectories as JSON, each text once: it keeps digests of the texts written."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def item(self, result: Result, conversation: ShownConversation | None) -> str:
        """One trajectory as JSON that can stand in a script element."""
        writer = _TrajectoryWriter(self._known)
        failure = result.failure
        item: dict[str, Json] = {
            "id": writer.cut(result.id),
            "task": writer.cut(result.task_id),
            "agent": writer.cut(result.speakers.agent),
            "user": writer.cut(result.speakers.user),
            "world": writer.cut(result.world),
            "kind": result.kind or "",
            "forms": [*(result.forms or ())],
            "level": "" if result.level is None else f"{result.level}",
            "split": result.split or "",
            "persona": writer.cut(result.persona or ""),
            "stop": writer.cut(result.stop_reason or ""),
            "reward": result.reward,
            "passed": result.passed,
            "class": failure.class_ if failure else "",
            "divergence": writer.divergence(failure.first_divergence) if failure else None,
            "conversation": writer.conversation(conversation) if conversation else None,
        }
        return in_script({**item, "texts": [*writer.new]})


def in_script(value: Json) -> str:
    """JSON in ASCII, without characters that have a meaning in HTML."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return _DANGEROUS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


class _TrajectoryWriter:
    """Writes one trajectory, and counts the characters."""

    def __init__(self, known: dict[str, int]) -> None:
        self.new: list[str] = []
        self._known = known
        self._left = MOST_CHARACTERS

    def conversation(self, conversation: ShownConversation) -> Json:
        task = conversation.task
        findings = [self._finding(finding) for finding in conversation.findings]
        golden = [self._call(call) for call in self._some(conversation.golden)]
        shown: dict[str, Json] = {
            "goal": self.cut(task.scenario.goal),
            "reason": self.cut(task.scenario.reason),
            "facts": [self.cut(fact.text) for fact in self._some(task.scenario.facts)],
            "later": [self.cut(words) for words in self._some(task.scenario.said_later)],
            "user": self.cut(f"{task.persona.name}, {task.persona.age}, {task.persona.style}"),
            "now": self.cut(task.now),
            "findings": findings,
            "golden": golden,
            "turns": [self._turn(turn) for turn in self._some(conversation.turns)],
        }
        return {**shown, "cut": self._left <= 0}

    def divergence(self, divergence: Divergence) -> Json:
        words = {"expected": self.cut(divergence.expected), "got": self.cut(divergence.got)}
        return {"message": divergence.message, "call": divergence.call, **words}

    def cut(self, text: str) -> str:
        """The text, cut to the limit."""
        length = max(0, min(LONGEST_TEXT, self._left))
        self._left -= min(len(text), length)
        rest = len(text) - length
        return visible(text[:length]) + (f"\n[{rest} more characters]" if rest > 0 else "")

    def _some(self, parts: Sequence[T]) -> Iterator[T]:
        """The parts, cut to the limit."""
        for part in parts:
            if self._left <= 0:
                return
            self._left -= OVERHEAD
            yield part

    def _pieces(self, text: str) -> Json:
        """Numbers of the pieces of the text."""
        return [self._piece(piece) for piece in self.cut(text).split(_GAP)] if text else []

    def _piece(self, piece: str) -> int:
        digest = digest_text(piece)
        if digest not in self._known:
            self._known[digest] = len(self._known)
            self.new.append(piece)
        return self._known[digest]

    def _turn(self, turn: ShownTurn) -> Json:
        return {
            "message": turn.message,
            "role": turn.role,
            "text": self._pieces(turn.text),
            "reasoning": self._pieces(turn.reasoning),
            "record": self.cut(turn.record),
            "calls": [self._call(call) for call in self._some(turn.calls)],
        }

    def _call(self, call: ShownCall) -> Json:
        return {
            "place": call.place,
            "tool": self.cut(call.tool),
            "arguments": [
                [self.cut(name), self.cut(_written(value))] for name, value in self._some([*call.arguments.items()])
            ],
            "written": None if call.written is None else self.cut(call.written),
            "result": [] if call.error is not None else self._pieces(_rows(call.value)),
            "error": None if call.error is None else self.cut(call.error),
            "recorded": None if call.recorded is None else self._pieces(call.recorded),
            "broken": [self.cut(rule) for rule in self._some(call.broken)],
            "partner": call.partner,
            "demanded": call.is_demanded,
            "changes": self._changes(call.changes),
        }

    def _finding(self, finding: CheckFinding) -> Json:
        return {
            "check": finding.check,
            "score": finding.score,
            "counts": finding.counts,
            "notes": [self.cut(note) for note in self._some(finding.notes)],
            "missing": self._changes(finding.missing),
            "unexpected": self._changes(finding.unexpected),
        }

    def _changes(self, changes: Sequence[RowChange]) -> Json:
        return [self._change(change) for change in self._some(changes)]

    def _change(self, change: RowChange) -> Json:
        before, after = change.before or {}, change.after or {}
        names = self._some(list(dict.fromkeys([*before, *after])))
        cells: list[Json] = [[self.cut(name), self._cell(before, name), self._cell(after, name)] for name in names]
        key = self.cut(", ".join(_written(value) for value in change.key.values()))
        return {"table": self.cut(change.table), "op": change.op, "key": key, "cells": cells}

    def _cell(self, cells: Mapping[str, Json], name: str) -> str | None:
        return self.cut(_written(cells[name])) if name in cells else None


def _written(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rows(value: Json) -> str:
    """JSON, with each row of a list on a line of its own."""
    if not isinstance(value, list) or not value:
        return _written(value)
    return "[\n" + ",\n".join(f" {_written(row)}" for row in value) + "\n]"

"""Course: where the greedy agent stands, and what it does next: want by want, each with one tool or one answer.

It keeps nothing between replies: as with the other agents, its own earlier replies are decided again from the
conversation before them. It never makes a call twice, and it comes to an end whatever it is told.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date

from rollout.offline.agents.greedy.acts import Act, Ask, Call, Close, Greet, Outcome, Propose, Report, Which
from rollout.offline.agents.greedy.choosing import (
    Row,
    answer_in,
    best_row,
    column_of,
    reads_for,
    rows_in,
    tool_for,
)
from rollout.offline.agents.greedy.slots import value_of
from rollout.offline.agents.greedy.wants import Want, wants_in
from rollout.offline.agents.heard import Words, answer, is_enough
from rollout.offline.agents.offered import Argument, Offered, plain
from rollout.offline.agents.transcript import Heard, Made, Reacted, Transcript
from skillweave.schema.record import Json

MOST_CALLS = 24
MOST_WORDS = 16
ASKED = 2
"""How often a value is asked for."""
READS = 2
"""How many tools are read for a row or an answer."""
_TODAY = re.compile(r"Today is \w+, (\d{4}-\d\d-\d\d)")
_KNOWN = re.compile(r"The user is signed in:")
_BORN = re.compile(r"\b(?:birth|born|birthday|dob)\b", re.IGNORECASE)
_BACK = re.compile(r"\b(?:that|this|it|the new one|the same)\b", re.IGNORECASE)


class Course:
    def __init__(self, tools: Sequence[Offered], system: str, *, confirms: bool = True) -> None:
        self.tools = tools
        self.system = system
        self.confirms = confirms
        self.wants: list[Want] = []
        self.outcomes: list[Outcome] = []
        """Of the first wants, in their order."""
        self._signed_in = _KNOWN.search(system) is not None
        found = _TODAY.search(system)
        self._today = date.fromisoformat(found[1]) if found else date(2025, 1, 1)
        self._heard: list[str] = []
        self._answers: dict[tuple[str, str], list[str]] = {}
        self._asked: Counter[tuple[str, str]] = Counter()
        self._made: list[Made] = []
        self._proposed: Counter[str] = Counter()
        self._agreed: set[str] = set()
        self._reported = 0
        self._spoken = 0
        self._greeted = 0
        self._repeats = 0
        self._last: Act | None = None

    def follow(self, transcript: Transcript) -> "Course":
        """Take in the conversation so far."""
        for event in transcript.events:
            if isinstance(event, Heard):
                self._hear(event.text)
            else:
                self._took(self.decide(), event)
        return self

    def decide(self) -> Act:
        """What to do now."""
        if len(self._made) >= MOST_CALLS or self._spoken >= MOST_WORDS:
            return Close()
        if not self.wants:
            return Greet() if self._greeted < ASKED else Close()
        if not self._signed_in and (act := self._sign_in()) is not None:
            return act
        if len(self.outcomes) < len(self.wants):
            act = self._next(self.wants[len(self.outcomes)])
            if act is not None:
                return act
        return Report() if self._reported < len(self.outcomes) or self._repeats < 1 else Close()

    @property
    def news(self) -> list[Outcome]:
        """What the user was not told of yet."""
        return self.outcomes[self._reported :] or self.outcomes

    def _sign_in(self) -> Act | None:
        """Where several tools sign in, the next is tried where one leads nowhere."""
        tools = [tool for tool in self.tools if tool.signs_in]
        for tool in tools:
            filled, missing = self._fill(tool, Want("", False))
            ask = self._ask(tool, missing)
            if ask is not None:
                return ask
            if not missing and not self._was_made(tool, filled):
                return Call(tool, filled)
        return Close() if tools else None

    def _ask(self, tool: Offered, missing: Sequence[Argument]) -> Ask | None:
        left = tuple(argument for argument in missing if self._asked[tool.name, argument.name] < ASKED)
        return Ask(tool, left) if left else None

    def _next(self, want: Want) -> Act | None:
        """The next act for a want; None once its outcome is settled."""
        if want.asks:
            return self._find_out(want)
        tool = tool_for(want, self.tools)
        if tool is None:
            return self._settle(Outcome())
        for argument in tool.arguments:
            if argument.is_id and (argument.required or _is_named(argument, want)):
                act = self._row_act(argument, want, tool)
                if act is not None:
                    return act
        filled, missing = self._fill(tool, want)
        if missing:
            return self._ask(tool, missing) or self._settle(Outcome(complaint="I am missing details for that"))
        if self._was_made(tool, filled):
            return self._settle(Outcome(complaint="I could not do that twice"))
        key = json.dumps([len(self.outcomes), tool.name])
        if self.confirms and self._asks_to_confirm(tool) and key not in self._agreed:
            if self._proposed[key] >= ASKED:
                return self._settle(Outcome(complaint="I have left it as it was"))
            return Propose(tool, filled)
        return Call(tool, filled)

    def _settle(self, outcome: Outcome) -> Act | None:
        self.outcomes.append(outcome)
        return self.decide()

    def _asks_to_confirm(self, tool: Offered) -> bool:
        section = re.search(rf"\(`{re.escape(tool.name)}`\)(.*?)(?=\n#|\Z)", self.system, re.DOTALL)
        return "confirm" in f"{section[1] if section else ''} {tool.description}".lower()

    def _row_act(self, argument: Argument, want: Want, tool: Offered) -> Act | None:
        """What is to be read or asked before the row of an argument is known; None: nothing."""
        rows = self._rows_of(argument.name)
        if not rows:
            return self._read(f"{argument.name} {argument.description}", want, argument.name)
        match = best_row(rows, *self._near(argument, want, tool), is_open=True)
        if match is None or match.is_clear or self._back(argument, want) is not None:
            return None
        if self._asked["", argument.name] < 1:
            return Which(argument.name)
        return None

    def _near(self, argument: Argument, want: Want, tool: Offered) -> tuple[Words, Words]:
        own = bool(set(argument.name.removesuffix("_id").split("_")) & set(tool.plain.split("_")))
        told = self._answers.get(("", argument.name), [])
        return Words([want.what if own else want.target, *told]), Words(self._heard)

    def _rows_of(self, name: str) -> list[Row]:
        """Rows of a list that hold the column which an argument takes, best of a list of just such rows."""
        lists = [list(rows_in(made.value)) for made in self._made if made.ok and isinstance(made.value, list)]
        found = [rows for rows in lists if rows and column_of(name, rows[0]) is not None]
        of_these = [rows for rows in found if next(iter(rows[0])) == column_of(name, rows[0])]
        return [*(of_these or found or [[]])[-1]]

    def _back(self, argument: Argument, want: Want) -> Json:
        """The row that the last write was about, where the want points back to it."""
        if not _BACK.search(want.text) or not any(outcome.tool for outcome in self.outcomes):
            return None
        for made in reversed(self._made):
            if made.ok and isinstance(made.value, dict) and not plain(made.tool).startswith("get_"):
                column = column_of(argument.name, made.value)
                return made.value[column] if column is not None else None
        return None

    def _read(self, about: str, want: Want, name: str) -> Act | None:
        """The next read that may tell of something; None where none is left."""
        tried = 0
        for tool in reads_for(f"{about} {want.text}", self.tools):
            filled, missing = self._fill(tool, want)
            if self._has_read(tool):
                continue
            ids = [argument for argument in missing if argument.is_id and argument.name != name]
            for argument in ids:
                if not self._rows_of(argument.name) and tried < READS:
                    act = self._read(f"{argument.name} {argument.description}", Want("", False), argument.name)
                    if act is not None:
                        return act
            if not missing:
                return Call(tool, filled)
            tried += 1
        return None

    def _has_read(self, tool: Offered) -> bool:
        return any(made.tool == tool.name for made in self._made)

    def _was_made(self, tool: Offered, filled: dict[str, Json]) -> bool:
        return any(made.tool == tool.name and made.arguments == filled for made in self._made)

    def _find_out(self, want: Want) -> Act | None:
        """Read until a column fits the question."""
        wrote = any(outcome.tool for outcome in self.outcomes)
        found = answer_in(want, list(self._told_rows(want)))
        reads = sum(made.tool in {tool.name for tool in self.tools if tool.reads} for made in self._made)
        if found is None or found.score < 1 or (not wrote and not reads):
            act = self._read(want.text, want, "") if reads < READS + 2 * wrote else None
            if act is not None:
                return act
        if found is None:
            return self._settle(Outcome(complaint="I could not find that out"))
        return self._settle(Outcome(answer=found))

    def _told_rows(self, want: Want) -> Iterator[Row]:
        """Rows that may hold an answer: of the last writes, then of each read the one that is meant."""
        near, far = Words([want.text]), Words(self._heard)
        for made in reversed(self._made):
            if not made.ok:
                continue
            if isinstance(made.value, dict):
                yield made.value
            else:
                match = best_row(list(rows_in(made.value)), near, far, is_open=False)
                if match is not None:
                    yield match.row

    def _fill(self, tool: Offered, want: Want) -> tuple[dict[str, Json], list[Argument]]:
        """Arguments that are known, and required ones that are not."""
        filled: dict[str, Json] = {}
        missing = []
        for argument in tool.arguments:
            value = self._value(argument, want, tool)
            if value is not None:
                filled[argument.name] = value
            elif argument.required:
                missing.append(argument)
        return filled, missing

    def _value(self, argument: Argument, want: Want, tool: Offered) -> Json:
        if argument.is_id:
            if not argument.required and not _is_named(argument, want):
                return None
            back = self._back(argument, want)
            match = best_row(self._rows_of(argument.name), *self._near(argument, want, tool), is_open=True)
            if back is not None or match is None:
                return back
            column = column_of(argument.name, match.row)
            return match.row[column] if column is not None else None
        if tool.reads and not argument.required:
            return None
        answers = self._answers.get((tool.name, argument.name), [])
        if tool.signs_in and argument.form is not None:
            born = [text for text in self._heard if _BORN.search(text)]
            return value_of(argument, [*born, *answers], "", "", self._today)
        heard = " ".join(self._heard) if argument.required else ""
        text = want.target if tool.reads else want.text
        return value_of(argument, answers, text, heard, self._today)

    def _hear(self, text: str) -> None:
        self._heard.append(text)
        last, self._last = self._last, None
        if isinstance(last, Ask):
            for argument in last.arguments:
                self._asked[last.tool.name, argument.name] += 1
                self._answers.setdefault((last.tool.name, argument.name), []).append(text)
        elif isinstance(last, Which):
            self._asked["", last.argument] += 1
            self._answers.setdefault(("", last.argument), []).append(text)
        elif isinstance(last, Propose):
            key = json.dumps([len(self.outcomes), last.tool.name])
            self._proposed[key] += 1
            if answer(text) == "yes":
                self._agreed.add(key)
        elif not (isinstance(last, Report) and is_enough(text)):
            self.wants += [want for want in wants_in(text) if want not in self.wants]

    def _took(self, act: Act, reaction: Reacted) -> None:
        """What was decided then, with what came of it."""
        self._last = act
        self._spoken += not isinstance(act, Call)
        self._greeted += isinstance(act, Greet)
        if isinstance(act, Report):
            self._repeats += self._reported >= len(self.outcomes)
            self._reported = len(self.outcomes)
        if isinstance(act, Call) and reaction.calls:
            self._came(act, reaction.calls[0])

    def _came(self, act: Call, made: Made) -> None:
        self._made.append(made)
        if act.tool.signs_in:
            self._signed_in = made.ok
        elif not act.tool.reads:
            outcome = Outcome(tool=act.tool.name) if made.ok else Outcome(complaint=made.complaint)
            self.outcomes.append(outcome)


def _is_named(argument: Argument, want: Want) -> bool:
    """Whether the want speaks of what an optional id stands for."""
    return argument.name.removesuffix("_id").replace("_", " ") in want.text.lower()

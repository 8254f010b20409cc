"""Witnesses: for each guard of a tool, calls that just meet it and calls that just break it, as its first broken one.

The search changes arguments and rows one small move at a time from a call that succeeds. It is a hill climb with a
cap on trials: what it does not find is reported, not proved impossible.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from random import Random

from skillweave.schema.contract import Guard, Tool
from skillweave.schema.record import Json, Row
from skillweave.world.world import World
from synth.codegen.case import Case
from synth.codegen.moves import Move, Mover, between
from synth.codegen.trial import Lab, Outcome, Trial

STARTS = 200
"""Random calls tried for a place to begin."""
TRIED = 4
"""Of those, how many a climb may begin from."""
CLIMB = 1500
"""Trials spent on one climb to a call that succeeds."""
FIRSTS = 12
"""Moves of one climb's step that a second one is tried behind."""
SWEEP = 800
"""Single moves tried from one success."""
PAIRS = 1200
"""Trials spent on one guard that no single move breaks first."""
BASES = 4
"""Successes from which moves are tried."""
PER_PLACE = 2
"""Cases kept of one place (cell, argument or table) and one outcome."""
QUIET = 8
"""Values of one place that turn nothing, after which no more are tried there."""


@dataclass
class Found:
    """What a search has found for one tool."""

    cases: list[Case] = field(default_factory=list)
    broken: dict[int, Trial] = field(default_factory=dict)
    """Place of a guard to a call that breaks it first."""
    success: Trial | None = None
    agent_broken: dict[int, Trial] = field(default_factory=dict)
    """Place of a rule of the agent to a call that breaks it and that the tool carries out."""


class Search:
    """Searches witnesses for one tool."""

    def __init__(self, lab: Lab, tool: Tool, seed: str) -> None:
        self.lab = lab
        self.world: World = lab.world
        self.tool = tool
        self.mover = Mover(lab, tool)
        self.random = Random(f"{seed}/{tool.name}")
        self.guards = lab.guards(tool)
        self.found = Found()
        self._kept: dict[tuple[str, str], int] = {}
        self._around: dict[str | None, dict[str, list[Row]]] = {}
        """Rows near a caller who says nothing yet."""

    def run(self, likely: Sequence[Trial] = ()) -> Found:
        """Search, beginning with `likely` calls where there are any."""
        for start in self._starts(likely):
            best, outcome = self._climb(*start)
            if outcome.broken == len(self.guards):
                break
        else:
            return self.found
        self.found.success = best
        bases = list({trial.arguments: trial for trial in (best, self._fullest(best, outcome))}.values())
        self._keep("succeeds", best, outcome)
        for base in bases:
            others = self._sweep(base, self.mover)
            bases += others[: BASES - len(bases)]
        own, agent = self.guards, self.lab.agent_guards(self.tool)
        for place, guard in enumerate(own):
            self._corner(bases, guard, partial(_breaks, place))
        for place, guard in enumerate(agent):
            self._corner(bases, guard, partial(_goes_against, place))
        return self.found

    def _corner(self, bases: Sequence[Trial], guard: Guard, is_hit: Callable[[Outcome], bool]) -> None:
        """Break a guard, by two moves where no single one did; then see from there what mends it."""
        mover = Mover(self.lab, self.tool, guard)
        if self._met(guard) is None:
            self._pairs(bases, mover, is_hit)
        broken = self._met(guard)
        if broken is not None:
            self._sweep(broken, mover)

    def _fullest(self, best: Trial, outcome: Outcome) -> Trial:
        """The success with each optional argument given, as far as it still succeeds."""
        full = best
        for parameter in self.tool.parameters:
            if dict(full.arguments)[parameter.name] is None:
                for value in self.mover.arguments(parameter, None, self.lab.near(full, self.mover.tables)):
                    made = self.lab.outcome(full.with_argument(parameter.name, value))
                    if made is not None and (made.broken, made.agent) == (outcome.broken, outcome.agent):
                        full = full.with_argument(parameter.name, value)
                        break
        return full

    def _starts(self, likely: Sequence[Trial]) -> list[tuple[Trial, Outcome]]:
        """The calls, of many random ones, whose first broken guard comes latest."""
        made: dict[str, tuple[Trial, Outcome]] = {}
        for trial in [*likely, *(self._random_trial() for _ in range(STARTS))]:
            outcome = self.lab.outcome(trial)
            if outcome is not None:
                self._note(trial, outcome, "as it is")
                made.setdefault(repr((trial.caller, trial.arguments)), (trial, outcome))
        return sorted(made.values(), key=lambda pair: -pair[1].broken)[:TRIED]

    def _random_trial(self) -> Trial:
        core = self.world.blueprint.core
        people = self.lab.look(f"SELECT {core.key} FROM {core.table} ORDER BY 1")
        caller = str(self.random.choice(people)[0]) if people else None
        blank = Trial(self.tool, caller, tuple((parameter.name, None) for parameter in self.tool.parameters))
        if self.tool.kind == "auth":
            return self._facts(blank, caller)
        if caller not in self._around:
            self._around[caller] = self.lab.near(blank, self.mover.tables)
        near = self._around[caller]
        for parameter in self.tool.parameters:
            if not parameter.required and self.random.random() < 0.6:
                continue
            values = [value for value in self.mover.arguments(parameter, None, near) if value is not None]
            blank = blank.with_argument(parameter.name, self.random.choice(values) if values else "text")
        return blank

    def _facts(self, blank: Trial, person: str | None) -> Trial:
        """What a person says to be signed in: parameters named like columns of the core person."""
        core = self.world.blueprint.core
        columns = [attribute.name for attribute in core.attributes]
        people = self.lab.look(f"SELECT {', '.join(columns)} FROM {core.table}")
        facts = next(
            (facts for row in people if (facts := dict(zip(columns, row, strict=True)))[core.key] == person), {}
        )
        for parameter in self.tool.parameters:
            blank = blank.with_argument(parameter.name, facts.get(parameter.name))
        return Trial(self.tool, None, blank.arguments)

    def _climb(self, trial: Trial, outcome: Outcome) -> tuple[Trial, Outcome]:
        """Move by move to a success, or as far as the cap reaches."""
        spent = self.lab.ran
        while outcome.broken < len(self.guards) and self.lab.ran - spent < CLIMB:
            better = self._better(trial, outcome, CLIMB - (self.lab.ran - spent))
            if better is None:
                break
            trial, outcome = better
        return trial, outcome

    def _better(self, trial: Trial, outcome: Outcome, cap: int) -> tuple[Trial, Outcome] | None:
        """A move, or pair of moves, that gets past the broken guard: of what it reads, or else of anything."""
        end = self.lab.ran + cap
        for mover in (Mover(self.lab, self.tool, self.guards[outcome.broken]), self.mover):
            singles = list(mover.moves(trial))
            found = self._farthest(singles, outcome, end)
            if found is not None:
                return found
            for first in self.random.sample(singles, min(len(singles), FIRSTS)):
                seconds = islice(mover.moves(first.trial), max(0, end - self.lab.ran) // FIRSTS)
                found = self._farthest(seconds, outcome, end)
                if found is not None:
                    return found
        return None

    def _farthest(self, moves: Iterable[Move], outcome: Outcome, end: int) -> tuple[Trial, Outcome] | None:
        """The move after which the first broken guard comes latest, if that is later than it was."""
        best: tuple[Trial, Outcome] | None = None
        for move in moves:
            made = self._tried(move)
            if made is not None and made.broken > (best[1] if best else outcome).broken:
                best = move.trial, made
            if self.lab.ran >= end or (made is not None and made.broken == len(self.guards)):
                break
        return best

    def _tried(self, move: Move) -> Outcome | None:
        outcome = self.lab.outcome(move.trial)
        if outcome is not None:
            self._note(move.trial, outcome, move.about)
        return outcome

    def _sweep(self, base: Trial, mover: Mover) -> list[Trial]:
        """Every single move from a call; those among them after which other effects happen."""
        start = self.lab.outcome(base)
        others: dict[tuple[int, ...], Trial] = {}
        if start is None:
            return []
        moves = list(mover.moves(base))
        quiet: dict[str, int] = {}
        for move in moves if len(moves) <= SWEEP else self.random.sample(moves, SWEEP):
            if mover is self.mover and quiet.get(move.place, 0) >= QUIET:
                continue
            outcome = self.lab.outcome(move.trial)
            if outcome is None:
                continue
            if _level(start, outcome, move) is None:
                quiet[move.place] = quiet.get(move.place, 0) + 1
                if mover is self.mover:
                    self._keep(f"{move.about} changed", move.trial, outcome, most=1)
            else:
                quiet[move.place] = -len(moves)
                self._turn(base, start, move, outcome)
            if outcome.broken == len(self.guards) and outcome.counts != start.counts:
                others.setdefault(outcome.counts, move.trial)
        return list(others.values())

    def _turn(self, base: Trial, start: Outcome, move: Move, outcome: Outcome) -> None:
        """A move that turned something: keep it, and the two neighbours between which it turns."""
        self._note(move.trial, outcome, move.about)
        level = _level(start, outcome, move)
        if level is None or not self._count(move.place, f"turn {level} {outcome.broken} {outcome.agent}"):
            return
        same, other = move.old, move.new
        middle = between(same, other)
        if middle is None and not _steps(same, other):
            self._keep(f"{move.about} = {other!r}, which turns it", move.trial, outcome)
            return
        while middle is not None:
            made = self.lab.outcome(_moved(base, move, middle))
            if made is None:
                return
            if _alike(start, made, level):
                same = middle
            else:
                other = middle
            middle = between(same, other)
        for value in (same, other):
            edge = _moved(base, move, value)
            self.found.cases.append(edge.case(f"{move.about} = {value!r}, where it turns", self.world))
            made = self.lab.outcome(edge)
            if made is not None:
                self._note(edge, made, move.about)

    def _pairs(self, bases: Sequence[Trial], mover: Mover, is_hit: Callable[[Outcome], bool]) -> None:
        """Two moves of what a guard reads that together break it."""
        spent = self.lab.ran
        # Plain arguments first: they choose between the alternatives of a guard.
        plain = {parameter.name for parameter in self.tool.parameters if not parameter.refers_to}
        for base in bases:
            for first in sorted(mover.moves(base), key=lambda move: (move.about not in plain, self.random.random())):
                start = self.lab.outcome(first.trial)
                if start is None or start.broken < len(self.guards):
                    continue
                for second in mover.moves(first.trial):
                    made = self._tried(second)
                    if made is not None and is_hit(made):
                        self._turn(first.trial, start, second, made)
                        return
                    if self.lab.ran - spent > PAIRS:
                        return

    def _met(self, guard: Guard) -> Trial | None:
        """A call that breaks the guard, if one was found."""
        own, agent = self.guards, self.lab.agent_guards(self.tool)
        found = [trial for place, trial in self.found.broken.items() if own[place] is guard]
        found += [trial for place, trial in self.found.agent_broken.items() if agent[place] is guard]
        return found[0] if found else None

    def _note(self, trial: Trial, outcome: Outcome, about: str) -> None:
        """Record what guard a trial breaks, and keep it as a case unless there are such cases."""
        if outcome.broken < len(self.guards):
            self.found.broken.setdefault(outcome.broken, trial)
            self._keep(f"{self.guards[outcome.broken].rule} broken by {about}", trial, outcome)
        else:
            against = [place for place, holds in enumerate(outcome.agent) if not holds]
            for place in against:
                self.found.agent_broken.setdefault(place, trial)
            if against:
                self._keep(f"a rule of the agent broken by {about}", trial, outcome)

    def _keep(self, about: str, trial: Trial, outcome: Outcome, most: int = PER_PLACE) -> None:
        if self._count(about, f"{outcome.broken} {outcome.agent}", most):
            self.found.cases.append(trial.case(about, self.world))

    def _count(self, about: str, kind: str, most: int = PER_PLACE) -> bool:
        """Whether there is room for another case of this kind."""
        kept = self._kept.get((about, kind), 0)
        self._kept[about, kind] = kept + 1
        return kept < most


def _breaks(place: int, outcome: Outcome) -> bool:
    return outcome.broken == place


def _goes_against(place: int, outcome: Outcome) -> bool:
    return place < len(outcome.agent) and not outcome.agent[place]


def _steps(old: Json, new: Json) -> bool:
    """Whether two values are neighbours among numbers."""
    plain = not isinstance(old, bool) and not isinstance(new, bool)
    return plain and isinstance(old, int | float) and isinstance(new, int | float)


def _moved(base: Trial, move: Move, value: Json) -> Trial:
    """The move with another value."""
    if move.trial.arguments != base.arguments:
        name = move.about
        return base.with_argument(name, value)
    edit = move.trial.edits[-1]
    cell = value if isinstance(value, str | int | float) or value is None else None
    return base.with_edit(type(edit)(edit.table, edit.key, edit.column, cell))


def _level(start: Outcome, outcome: Outcome, move: Move) -> int | None:
    """What a move has turned: 0 a guard of the tool, 1 a rule of the agent, 2 what happens; None where nothing.

    3 is for a moved time: numbers in the result, since fees come in steps.
    """
    timed = isinstance(move.new, str) and between(move.old, move.new) is not None
    return next((level for level in range(4 if timed else 3) if not _alike(start, outcome, level)), None)


def _alike(start: Outcome, outcome: Outcome, level: int) -> bool:
    """Whether two outcomes are the same, as far as the level goes."""
    parts = ((o.broken, o.agent, o.counts, o.numbers)[: level + 1] for o in (start, outcome))
    return next(parts) == next(parts)

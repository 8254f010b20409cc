"""The climb: from random calls, move by move, to one that its tool carries out.

What only the broken guard reads is moved first; of several moves that get past it the one that gets farthest is taken.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from random import Random

from skillweave.schema.record import Row
from synth.codegen.moves import Move, Mover
from synth.codegen.trial import Outcome, Trial

STARTS = 200
"""Random calls tried for a place to begin."""
TRIED = 4
"""Of those, how many a climb may begin from."""
CLIMB = 1500
"""Trials spent on one climb to a call that succeeds."""
FIRSTS = 12
"""Moves of one climb's step that a second one is tried behind."""


class Climb:
    def __init__(self, mover: Mover, random: Random, note: Callable[[Trial, Outcome, str], None]) -> None:
        """`note` is told of every trial, with what it changes."""
        self.mover = mover
        self.lab = mover.lab
        self.world = mover.world
        self.tool = mover.tool
        self.guards = self.lab.guards(self.tool)
        self.random = random
        self._note = note
        self._around: dict[str | None, dict[str, list[Row]]] = {}
        """Rows near a caller who says nothing yet."""

    def success(self, likely: Sequence[Trial]) -> tuple[Trial, Outcome] | None:
        """A call that the tool carries out; None where the caps do not reach to one."""
        for start in self._starts(likely):
            best, outcome = self._climbed(*start)
            if outcome.broken == len(self.guards):
                return best, outcome
        return None

    def _starts(self, likely: Sequence[Trial]) -> list[tuple[Trial, Outcome]]:
        """The calls, of many random ones, whose first broken guard comes latest; those that give most come first."""
        made: dict[str, tuple[Trial, Outcome]] = {}
        for trial in [*likely, *(self._random_trial() for _ in range(STARTS))]:
            outcome = self.lab.outcome(trial)
            if outcome is not None:
                self._note(trial, outcome, "as it is")
                made.setdefault(repr((trial.caller, trial.arguments)), (trial, outcome))
        return sorted(made.values(), key=lambda pair: (-pair[1].broken, -len(pair[0].given())))[:TRIED]

    def _random_trial(self) -> Trial:
        core, account = self.world.people, self.world.role(self.tool.name).account
        people = self.lab.look(f"SELECT {core.key} FROM {core.table} WHERE {account} IS NOT NULL ORDER BY 1")
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
        """What a person says to be signed in: parameters named like columns of the domain's persons."""
        role = self.world.role(self.tool.name)
        account = self.lab.accounts(person)[role.own.name]
        columns = [attribute.name for attribute in role.entity.attributes]
        people = self.lab.look(f"SELECT {', '.join(columns)} FROM {role.entity.table}")
        facts = next(
            (facts for row in people if (facts := dict(zip(columns, row, strict=True)))[role.key] == account), {}
        )
        for parameter in self.tool.parameters:
            blank = blank.with_argument(parameter.name, facts.get(parameter.name))
        return Trial(self.tool, None, blank.arguments)

    def _climbed(self, trial: Trial, outcome: Outcome) -> tuple[Trial, Outcome]:
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
        for mover in (Mover(self.lab, self.tool, [self.guards[outcome.broken].holds]), self.mover):
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
            made = self.lab.outcome(move.trial)
            if made is not None:
                self._note(move.trial, made, move.about)
            if made is not None and made.broken > (best[1] if best else outcome).broken:
                best = move.trial, made
            if self.lab.ran >= end or (made is not None and made.broken == len(self.guards)):
                break
        return best

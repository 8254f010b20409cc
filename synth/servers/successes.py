"""Calls that a tool carries out: a hill climb from random calls to the first one, and random mixtures of mutations.

The climb mutates first what only the broken guard reads. Of several mutations that get past a guard it takes the
one after which the first broken guard comes latest.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from random import Random

from skillweave.schema.contract import Tool
from skillweave.schema.record import Row
from synth.servers.candidates import Candidate, CandidateOutcome, CandidateRunner
from synth.servers.mutations import Mutation, Mutator

STARTS = 200
"""Random calls tried for a place to begin."""
CLIMB_STARTS = 4
"""Of those, how many a climb may begin from."""
CLIMB_LIMIT = 1500
"""Trials spent on one climb to a call that succeeds."""
FIRST_MUTATIONS = 12
"""Moves of one climb's step that a second one is tried behind."""


class HillClimb:
    def __init__(
        self, mover: Mutator, random: Random, note: Callable[[Candidate, CandidateOutcome, str], None]
    ) -> None:
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

    def success(self, likely: Sequence[Candidate]) -> tuple[Candidate, CandidateOutcome] | None:
        """A call that the tool carries out; None where the caps do not reach to one."""
        for start in self._starts(likely):
            best, outcome = self._climbed(*start)
            if outcome.broken == len(self.guards):
                return best, outcome
        return None

    def _starts(self, likely: Sequence[Candidate]) -> list[tuple[Candidate, CandidateOutcome]]:
        """The calls, of many random ones, whose first broken guard comes latest; those that give most come first."""
        made: dict[str, tuple[Candidate, CandidateOutcome]] = {}
        for trial in [*likely, *(self._random_trial() for _ in range(STARTS))]:
            outcome = self.lab.outcome(trial)
            if outcome is not None:
                self._note(trial, outcome, "as it is")
                made.setdefault(repr((trial.caller, trial.arguments)), (trial, outcome))
        return sorted(made.values(), key=lambda pair: (-pair[1].broken, -len(pair[0].given())))[:CLIMB_STARTS]

    def _random_trial(self) -> Candidate:
        core, account = self.world.people, self.world.role(self.tool.name).account
        people = self.lab.look(f"SELECT {core.key} FROM {core.table} WHERE {account} IS NOT NULL ORDER BY 1")
        caller = str(self.random.choice(people)[0]) if people else None
        blank = Candidate(self.tool, caller, tuple((parameter.name, None) for parameter in self.tool.parameters))
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

    def _facts(self, blank: Candidate, person: str | None) -> Candidate:
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
        return Candidate(self.tool, None, blank.arguments)

    def _climbed(self, trial: Candidate, outcome: CandidateOutcome) -> tuple[Candidate, CandidateOutcome]:
        """Move by move to a success, or as far as the cap reaches."""
        spent = self.lab.ran
        while outcome.broken < len(self.guards) and self.lab.ran - spent < CLIMB_LIMIT:
            better = self._better(trial, outcome, CLIMB_LIMIT - (self.lab.ran - spent))
            if better is None:
                break
            trial, outcome = better
        return trial, outcome

    def _better(
        self, trial: Candidate, outcome: CandidateOutcome, cap: int
    ) -> tuple[Candidate, CandidateOutcome] | None:
        """A move, or pair of moves, that gets past the broken guard: of what it reads, or else of anything."""
        end = self.lab.ran + cap
        for mover in (Mutator(self.lab, self.tool, [self.guards[outcome.broken].holds]), self.mover):
            singles = list(mover.moves(trial))
            found = self._farthest(singles, outcome, end)
            if found is not None:
                return found
            for first in self.random.sample(singles, min(len(singles), FIRST_MUTATIONS)):
                seconds = islice(mover.moves(first.trial), max(0, end - self.lab.ran) // FIRST_MUTATIONS)
                found = self._farthest(seconds, outcome, end)
                if found is not None:
                    return found
        return None

    def _farthest(
        self, moves: Iterable[Mutation], outcome: CandidateOutcome, end: int
    ) -> tuple[Candidate, CandidateOutcome] | None:
        """The move after which the first broken guard comes latest, if that is later than it was."""
        best: tuple[Candidate, CandidateOutcome] | None = None
        for move in moves:
            made = self.lab.outcome(move.trial)
            if made is not None:
                self._note(move.trial, made, move.about)
            if made is not None and made.broken > (best[1] if best else outcome).broken:
                best = move.trial, made
            if self.lab.ran >= end or (made is not None and made.broken == len(self.guards)):
                break
        return best


MIXTURES_DRAWN = 150
"""Trials of one tool."""
MIXTURES_KEPT = 30
"""Of those that succeed, how many become cases."""
MUTATIONS = (2, 3, 4, 5)


def mixtures(
    lab: CandidateRunner, tool: Tool, bases: Sequence[Candidate], random: Random
) -> list[tuple[Candidate, CandidateOutcome]]:
    """Calls that the tool still carries out, the one with the most effects first."""
    mover = Mutator(lab, tool, [effect.sql for effect in tool.effects])
    found: list[tuple[Candidate, CandidateOutcome]] = []
    for base in bases:
        places = _by_place(mover, base)
        for _ in range(MIXTURES_DRAWN // len(bases) if places else 0):
            trial = base
            for name in random.sample(sorted(places), min(len(places), random.choice(MUTATIONS))):
                trial = _also(trial, random.choice(places[name]))
            outcome = lab.outcome(trial)
            if outcome is not None and outcome.broken == len(lab.guards(tool)):
                found.append((trial, outcome))
    busy = sorted(found, key=lambda pair: -sum(map(bool, pair[1].counts)))
    return busy[:1] + [pair for pair in found if pair is not busy[0]][: MIXTURES_KEPT - 1] if found else []


def _by_place(mover: Mutator, base: Candidate) -> dict[str, list[Mutation]]:
    """Moves of an argument or a cell, by what they change."""
    found: dict[str, list[Mutation]] = {}
    for move in mover.moves(base, rows=False):
        found.setdefault(move.about, []).append(move)
    return found


def _also(trial: Candidate, move: Mutation) -> Candidate:
    """The trial with that move too."""
    if move.about in dict(trial.arguments):
        return trial.with_argument(move.about, move.new)
    return trial.with_edit(move.trial.edits[-1])

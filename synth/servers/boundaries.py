"""Boundary search: for each guard of a tool, calls that just meet it and calls that just break it.

The search mutates a call that succeeds, one small change at a time. It is a hill climb with a limit on candidates:
a guard that it does not reach is reported, not proved unreachable.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from skillweave.schema.contract import Guard, Tool
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.servers.candidates import Candidate, CandidateOutcome, CandidateRunner
from synth.servers.cases import ServerCase
from synth.servers.mutations import Mutation, Mutator, agree, are_neighbours, changed_level, midpoint, with_value
from synth.servers.successes import HillClimb, mixtures

SWEEP = 800
"""Single moves tried from one success."""
PAIRS = 1200
"""Trials spent on one guard that no single move breaks first."""
SECOND_MUTATIONS = 100
"""Moves tried behind one other: those that differ most come first."""
WITNESSES = 3
"""Calls that break one guard from which the moves that mend it are tried."""
BASES = 3
"""Successes from which moves are tried."""
CLIMBS = 4
"""Successes searched from, one after the other, until all guards are met; where other proofs have seen every turn."""
PER_PLACE = 2
"""Cases kept of one place (cell, argument or table) and one outcome."""
FRUITLESS = 7
"""Values of one place that turn nothing, after which no more are tried there."""


@dataclass
class Witnesses:
    """What a search has found for one tool."""

    cases: list[ServerCase] = field(default_factory=list)
    broken: dict[int, Candidate] = field(default_factory=dict)
    """Place of a guard to a call that breaks it first."""
    success: Candidate | None = None
    agent_broken: dict[int, Candidate] = field(default_factory=dict)
    """Place of a rule of the agent to a call that breaks it and that the tool carries out."""


class BoundarySearch:
    """Searches witnesses for one tool."""

    def __init__(self, lab: CandidateRunner, tool: Tool, seed: str, proved: Collection[str] = ()) -> None:
        """`proved` are rules whose every turn another proof has seen: of each, one call that breaks it is enough."""
        self.lab = lab
        self.proved = proved
        self.world: World = lab.world
        self.tool = tool
        self.mover = Mutator(lab, tool)
        self.random = Random(f"{seed}/{tool.name}")
        self.guards = lab.guards(tool)
        self.found = Witnesses()
        self._kept: dict[tuple[str, str], int] = {}
        self._close: dict[str, dict[str, Candidate]] = {}
        """Rule of a guard to calls, by what was moved, that break it one move from a success."""

    def run(self, likely: Sequence[Candidate] = ()) -> Witnesses:
        """Search, beginning with `likely` calls where there are any."""
        climb = HillClimb(self.mover, self.random, self._note)
        for _ in range(CLIMBS if self.proved else 1):
            reached = climb.success(likely)
            if reached is not None:
                self._around(*reached)
            if self._has_met_all():
                break
        return self.found

    def _around(self, best: Candidate, outcome: CandidateOutcome) -> None:
        """Search from a call that succeeds."""
        self.found.success = self.found.success or best
        bases = list({trial.arguments: trial for trial in (best, self._fullest(best, outcome))}.values())
        self._keep("succeeds", best, outcome)
        for base in bases:
            others = self._sweep(base, self.mover)
            bases += others[: 0 if self.proved else BASES - len(bases)]
        if not self.proved:
            self._mix(bases)
        self._corners(bases)

    def _has_met_all(self) -> bool:
        found = (len(self.found.broken), len(self.found.agent_broken))
        return self.found.success is not None and found == (len(self.guards), len(self.lab.agent_guards(self.tool)))

    def _corners(self, bases: Sequence[Candidate]) -> None:
        for place, guard in enumerate(self.guards):
            self._corner(bases, guard, partial(_breaks, place))
        for place, guard in enumerate(self.lab.agent_guards(self.tool)):
            self._corner(bases, guard, partial(_goes_against, place))

    def _mix(self, bases: Sequence[Candidate]) -> None:
        """Keep mixtures of moves as cases; from the one with the most effects, every single move."""
        if self.tool.kind != "write":
            return
        mixed = mixtures(self.lab, self.tool, bases, self.random)
        self.found.cases.extend(trial.case("several changes at once", self.world) for trial, _ in mixed)
        for trial, _ in mixed[:1]:
            self._sweep(trial, self.mover, "from a mixture")

    def _corner(self, bases: Sequence[Candidate], guard: Guard, is_hit: Callable[[CandidateOutcome], bool]) -> None:
        """Break a guard, by two moves where no single one did; then see from there what mends it."""
        mover = Mutator(self.lab, self.tool, [guard.holds])
        if not self._met(guard):
            self._pairs(bases, mover, is_hit)
        if guard.rule in self.proved:
            return
        for rank, broken in enumerate([*self._close.get(guard.rule, {}).values()] or self._met(guard)):
            self._sweep(broken, mover, f"from {rank}")

    def _fullest(self, best: Candidate, outcome: CandidateOutcome) -> Candidate:
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

    def _tried(self, move: Mutation) -> CandidateOutcome | None:
        outcome = self.lab.outcome(move.trial)
        if outcome is not None:
            self._note(move.trial, outcome, move.about)
        return outcome

    def _sweep(self, base: Candidate, mover: Mutator, side: str = "") -> list[Candidate]:
        """Every single move from a call; those among them after which other effects happen."""
        start = self.lab.outcome(base)
        others: dict[tuple[int, ...], Candidate] = {}
        if start is None:
            return []
        # What more rows do is seen from the first success, and from what breaks a guard.
        moves = list(mover.moves(base, rows=mover is not self.mover or base is self.found.success))
        quiet: dict[str, int] = {}
        same: dict[str, Json] = {}
        turned: list[tuple[Mutation, CandidateOutcome]] = []
        for move in moves if len(moves) <= SWEEP else self.random.sample(moves, SWEEP):
            if mover is self.mover and quiet.get(move.place, 0) >= FRUITLESS:
                continue
            outcome = self.lab.outcome(move.trial)
            if outcome is None:
                continue
            if changed_level(start, outcome, move) is None:
                quiet[move.place] = quiet.get(move.place, 0) + 1
                same.setdefault(move.place, move.new)
                if mover is self.mover:
                    self._keep(f"{move.about} changed", move.trial, outcome, most=1)
            else:
                quiet[move.place] = -len(moves)
                self._prefer(move, start, outcome)
                turned.append((move, outcome))
            if outcome.broken == len(self.guards) and outcome.counts != start.counts:
                others.setdefault(outcome.counts, move.trial)
        for move, outcome in turned:
            # From NULL there is no half way; from another value that changes nothing there may be.
            old = same.get(move.place) if move.old is None else move.old
            self._turn(base, start, replace(move, old=old), outcome, side)
        return list(others.values())

    def _prefer(self, move: Mutation, start: CandidateOutcome, outcome: CandidateOutcome) -> None:
        """Remember calls that break a guard one move from a success: from there one more move mends it."""
        if start.broken < len(self.guards):
            return
        if outcome.broken < len(self.guards):
            broken = [self.guards[outcome.broken]]
        else:
            agent = self.lab.agent_guards(self.tool)
            sides = zip(agent, start.agent, outcome.agent, strict=True)
            broken = [guard for guard, before, after in sides if before and not after]
        for guard in broken:
            known = self._close.setdefault(guard.rule, {})
            if len(known) < WITNESSES:
                known.setdefault(move.about, move.trial)

    def _turn(
        self, base: Candidate, start: CandidateOutcome, move: Mutation, outcome: CandidateOutcome, side: str = ""
    ) -> None:
        """A move that turned something: keep it, and the two neighbours between which it turns."""
        self._note(move.trial, outcome, move.about)
        level = changed_level(start, outcome, move)
        if level is None or not self._count(move.place, f"turn {side} {level} {outcome.broken} {outcome.agent}"):
            return
        same, other = move.old, move.new
        middle = midpoint(same, other)
        if middle is None and not are_neighbours(same, other):
            self._keep(f"{move.about} = {other!r}, which turns it", move.trial, outcome)
            return
        while middle is not None:
            made = self.lab.outcome(with_value(base, move, middle))
            if made is None:
                self._keep(f"{move.about} = {move.new!r}, which turns it", move.trial, outcome)
                return
            if agree(start, made, level):
                same = middle
            else:
                other = middle
            middle = midpoint(same, other)
        for value in (same, other):
            edge = with_value(base, move, value)
            self.found.cases.append(edge.case(f"{move.about} = {value!r}, where it turns", self.world))
            made = self.lab.outcome(edge)
            if made is not None:
                self._note(edge, made, move.about)

    def _pairs(self, bases: Sequence[Candidate], mover: Mutator, is_hit: Callable[[CandidateOutcome], bool]) -> None:
        """Two moves of what a guard reads that together break it."""
        spent = self.lab.ran
        # Plain arguments first: they choose between the alternatives of a guard.
        plain = {parameter.name for parameter in self.tool.parameters if not parameter.refers_to}
        for base in bases:
            firsts = [
                (move.about not in plain, rank, self.random.random(), move) for rank, move in _ranked(mover.moves(base))
            ]
            for *_, first in sorted(firsts, key=lambda entry: entry[:3]):
                start = self.lab.outcome(first.trial)
                if start is None or start.broken < len(self.guards):
                    continue
                seconds = sorted(_ranked(mover.moves(first.trial)), key=lambda entry: entry[0])
                for _, second in seconds[:SECOND_MUTATIONS]:
                    made = self._tried(second)
                    if made is not None and is_hit(made):
                        self._turn(first.trial, start, second, made)
                        return
                    if self.lab.ran - spent > PAIRS:
                        return

    def _met(self, guard: Guard) -> list[Candidate]:
        """A call that breaks the guard, if one was found."""
        own, agent = self.guards, self.lab.agent_guards(self.tool)
        found = [trial for place, trial in self.found.broken.items() if own[place] is guard]
        return found + [trial for place, trial in self.found.agent_broken.items() if agent[place] is guard]

    def _note(self, trial: Candidate, outcome: CandidateOutcome, about: str) -> None:
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

    def _keep(self, about: str, trial: Candidate, outcome: CandidateOutcome, most: int = PER_PLACE) -> None:
        if self._count(about, f"{outcome.broken} {outcome.agent}", most):
            self.found.cases.append(trial.case(about, self.world))

    def _count(self, about: str, kind: str, most: int = PER_PLACE) -> bool:
        """Whether there is room for another case of this kind."""
        kept = self._kept.get((about, kind), 0)
        self._kept[about, kind] = kept + 1
        return kept < most


def _ranked(moves: Iterable[Mutation]) -> list[tuple[int, Mutation]]:
    """Moves, each with how many of the same place come before it."""
    seen: dict[str, int] = {}
    found = []
    for move in moves:
        seen[move.about] = seen.get(move.about, -1) + 1
        found.append((seen[move.about], move))
    return found


def _breaks(place: int, outcome: CandidateOutcome) -> bool:
    return outcome.broken == place


def _goes_against(place: int, outcome: CandidateOutcome) -> bool:
    return place < len(outcome.agent) and not outcome.agent[place]

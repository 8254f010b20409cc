"""Boundary search: find calls that just meet each guard of a tool, and calls that just break it.

The search mutates a successful call, one small change at a time. It is a hill climb with a limit on candidates: it
reports a guard that it does not reach, and does not prove that no call reaches it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from skillweave.schema.contract import Guard, Tool
from skillweave.schema.record import Json
from synth.servers.candidates import CandidateOutcome, CandidateRunner
from synth.servers.cases import CandidateCall, ServerCase
from synth.servers.mutations import Mutation, Mutator
from synth.servers.successes import HillClimb, agree, are_numbers, changed_level, midpoint, mixtures

SWEEP = 800
"""Most single mutations to try from one success."""
PAIRS = 1200
"""Most candidates for one guard that no single mutation breaks first."""
SECOND_MUTATIONS = 100
"""Most second mutations to try after a first one; the most different ones come first."""
NEAR_MISSES = 2
"""Most calls that break one guard from which to try repairing mutations."""
BASES = 2
"""Most successes from which to try mutations."""
CLIMBS = 4
"""Climbs to a success until all guards are broken once, for rules whose boundaries another proof has tested."""
PER_LOCATION = 2
"""Most cases to keep of one cell, argument or table with one outcome."""
FRUITLESS = 6
"""After so many values of one location that change nothing, the search leaves the location."""
FRUITLESS_AGAIN = 2
"""The same from another success, for a column or an argument that the search has left at the first one."""


@dataclass
class BoundaryCases:
    """The result of a search for one tool."""

    cases: list[ServerCase] = field(default_factory=list)
    breaking: dict[int, CandidateCall] = field(default_factory=dict)
    """Position of a guard -> a call that breaks it first."""
    success: CandidateCall | None = None
    breaking_agent: dict[int, CandidateCall] = field(default_factory=dict)
    """Position of a rule of the agent -> a successful call that breaks it."""


class BoundarySearch:
    """Searches the boundary cases of one tool."""

    def __init__(self, runner: CandidateRunner, tool: Tool, seed: str, proved: Collection[str] = ()) -> None:
        """Prepare a search.

        Args:
            runner: Runs the candidates.
            tool: The tool that they call.
            seed: Seeds random choices, together with the tool's name.
            proved: Rules whose boundaries another proof has tested. One call that breaks each of them is enough.
        """
        self._runner = runner
        self._world = runner.world
        self._tool = tool
        self._proved = proved
        self._mutator = Mutator(runner, tool)
        self._random = Random(f"{seed}/{tool.name}")
        self._guards = runner.tool_guards(tool)
        self._agent_guards = runner.agent_guards(tool)
        self._result = BoundaryCases()
        self._kept: dict[tuple[str, str], int] = {}
        """Change and kind of outcome -> number of cases."""
        self._near_misses: dict[str, dict[str, Mutation]] = {}
        """Rule of a guard -> changed location -> calls that break it one mutation away from a success."""
        self._left: set[str] = set()
        """Targets of mutations that the search has left at a success."""

    def run(self) -> BoundaryCases:
        """Search until every guard is broken once or the limits are reached."""
        climb = HillClimb(self._mutator, self._random, self._note)
        for _ in range(CLIMBS if self._proved else 1):
            reached = climb.success()
            if reached is not None:
                self._search_around(*reached)
            if self._is_complete():
                break
        return self._result

    def take(self, calls: Iterable[CandidateCall]) -> BoundaryCases:
        """Keep calls that are known from elsewhere, and note what they show. Returns all that is known."""
        for call in calls:
            outcome = self._runner.outcome(call)
            if outcome is not None:
                self._note(call, outcome, "a known call")
                if outcome.first_broken == len(self._guards):
                    self._result.success = self._result.success or call
                    self._keep("a known success", call, outcome)
        return self._result

    def around(self, calls: Sequence[CandidateCall], rules: Collection[str]) -> BoundaryCases:
        """Search the boundaries of some rules around calls that meet and break them. Returns all that is known."""
        guards = [guard for guard in [*self._guards, *self._agent_guards] if guard.rule in rules]
        for rank, call in enumerate(calls):
            for guard in guards:
                self._sweep(call, Mutator(self._runner, self._tool, [guard.holds]), f"around {rank}")
            outcome = self._runner.outcome(call)
            if outcome is not None and outcome.first_broken < len(self._guards):
                # Mutations of what other rules read show which of two broken rules refuses.
                self._sweep(call, self._mutator, f"around {rank}")
        return self._result

    def _is_complete(self) -> bool:
        broken = (len(self._result.breaking), len(self._result.breaking_agent))
        return self._result.success is not None and broken == (len(self._guards), len(self._agent_guards))

    def _search_around(self, best: CandidateCall, outcome: CandidateOutcome) -> None:
        """Search from a call that succeeds."""
        self._result.success = self._result.success or best
        bases = list({base.arguments: base for base in (best, self._with_optional_arguments(best, outcome))}.values())
        self._keep("succeeds", best, outcome)
        for base in bases:
            others = self._sweep(base, self._mutator)
            bases += others[: 0 if self._proved else BASES - len(bases)]
        if not self._proved:
            self._mix(bases)
        for place, guard in enumerate(self._guards):
            self._search_guard(bases, guard, partial(_breaks, place))
        for place, guard in enumerate(self._agent_guards):
            self._search_guard(bases, guard, partial(_breaks_agent_rule, place))

    def _with_optional_arguments(self, best: CandidateCall, outcome: CandidateOutcome) -> CandidateCall:
        """The success with every optional argument with which it still succeeds."""
        full = best
        for parameter in self._tool.parameters:
            if dict(full.arguments)[parameter.name] is None:
                related = self._runner.related_rows(full, self._mutator.tables)
                for value in self._mutator.arguments(parameter, None, related):
                    reached = self._runner.outcome(full.with_argument(parameter.name, value))
                    if reached is not None and agree(reached, outcome, 1):
                        full = full.with_argument(parameter.name, value)
                        break
        return full

    def _mix(self, bases: Sequence[CandidateCall]) -> None:
        """Keep mixtures of mutations as cases, and try every single mutation of the one with the most effects."""
        mixed = mixtures(self._runner, self._tool, bases, self._random) if self._tool.kind == "write" else []
        self._result.cases.extend(mixture.as_case("several changes at once", self._world) for mixture, _ in mixed)
        for mixture, _ in mixed[:1]:
            self._sweep(mixture, self._mutator, "from a mixture")

    def _search_guard(
        self, bases: Sequence[CandidateCall], guard: Guard, is_broken: Callable[[CandidateOutcome], bool]
    ) -> None:
        """Break a guard, by two mutations if no single one does; then try the mutations that repair it."""
        mutator = Mutator(self._runner, self._tool, [guard.holds])
        if not self._breaking(guard):
            self._try_pairs(bases, mutator, is_broken)
        if guard.rule in self._proved:
            return
        near_misses = [*self._near_misses.get(guard.rule, {}).values()]
        for rank, (mutation) in enumerate(near_misses):
            self._sweep(mutation.candidate, mutator, f"from {rank}", mutation.location)
        for broken in self._breaking(guard) if not near_misses else ():
            self._sweep(broken, mutator, "from 0")

    def _breaking(self, guard: Guard) -> list[CandidateCall]:
        """A call that breaks the guard, if one was found."""
        calls = [call for place, call in self._result.breaking.items() if self._guards[place] is guard]
        agents = self._result.breaking_agent.items()
        return calls + [call for place, call in agents if self._agent_guards[place] is guard]

    def _sweep(self, base: CandidateCall, mutator: Mutator, side: str = "", changed: str = "") -> list[CandidateCall]:
        """Try every single mutation of a call, except of the location `changed`.

        Returns:
            Calls among them that succeed with other effects than `base`.
        """
        is_whole = mutator is self._mutator
        start = self._runner.outcome(base, is_whole=is_whole)
        if start is None:
            return []
        others: dict[tuple[int, ...], CandidateCall] = {}
        fruitless: dict[str, int] = {changed: FRUITLESS}
        left: set[str] = set()
        unchanged: dict[str, Json] = {}
        flips: list[tuple[Mutation, CandidateOutcome]] = []
        for mutation in self._mutations(base, mutator):
            location = mutation.template or mutation.location
            if fruitless.get(location, 0) >= _patience(mutation, self._left if is_whole else ()):
                left.add(mutation.target)
                continue
            outcome = self._outcome(mutation, start, is_whole=is_whole)
            if outcome is None:
                continue
            if changed_level(start, outcome, mutation) is None:
                fruitless[location] = fruitless.get(location, 0) + 1
                unchanged.setdefault(location, mutation.new)
                if is_whole:
                    self._keep(f"{mutation.target} changed", mutation.candidate, outcome, most=1)
            else:
                fruitless[location] = -SWEEP
                self._remember_near_miss(mutation, start, outcome)
                flips.append((mutation, outcome))
            if outcome.first_broken == len(self._guards) and outcome.row_counts != start.row_counts:
                others.setdefault(outcome.row_counts, mutation.candidate)
        self._left |= left if is_whole else set()
        for mutation, outcome in flips:
            # NULL has no midpoint with a value, but another value that changes nothing may have one.
            old = unchanged.get(mutation.location) if mutation.old is None else mutation.old
            self._keep_flip(base, start, mutation._replace(old=old), outcome, side)
        return list(others.values())

    def _mutations(self, base: CandidateCall, mutator: Mutator) -> list[Mutation]:
        """The mutations of a sweep, in order."""
        # The first success and the calls that break a guard show the effect of more rows.
        rows = mutator is not self._mutator or base is self._result.success
        found = list(mutator.mutations(base, rows=rows))
        if len(found) <= SWEEP:
            return found
        return [found[place] for place in sorted(self._random.sample(range(len(found)), SWEEP))]

    def _outcome(self, mutation: Mutation, start: CandidateOutcome, *, is_whole: bool) -> CandidateOutcome | None:
        """The outcome of a mutation. What the call does is not tried again where it reads nothing that has changed."""
        is_whole = is_whole and start.first_broken == len(self._guards) and self._mutator.changes_effects(mutation)
        outcome = self._runner.outcome(mutation.candidate, is_whole=is_whole)
        if outcome is None or is_whole or outcome.first_broken < len(self._guards):
            return outcome
        return outcome._replace(row_counts=start.row_counts, numbers=start.numbers)

    def _remember_near_miss(self, mutation: Mutation, start: CandidateOutcome, outcome: CandidateOutcome) -> None:
        """Remember calls that break a guard one mutation away from a success: one more mutation repairs them."""
        if start.first_broken < len(self._guards):
            return
        if outcome.first_broken < len(self._guards):
            broken = [self._guards[outcome.first_broken]]
        else:
            verdicts = zip(self._agent_guards, start.agent_verdicts, outcome.agent_verdicts, strict=True)
            broken = [guard for guard, before, after in verdicts if before and not after]
        for guard in broken:
            known = self._near_misses.setdefault(guard.rule, {})
            if len(known) < NEAR_MISSES:
                known.setdefault(mutation.target, mutation)

    def _keep_flip(
        self, base: CandidateCall, start: CandidateOutcome, mutation: Mutation, outcome: CandidateOutcome, side: str
    ) -> None:
        """Keep a mutation that changes the outcome, and the two adjacent values between which it changes."""
        self._note(mutation.candidate, outcome, mutation.target)
        level = changed_level(start, outcome, mutation)
        kind = f"turn {side} {level} {outcome.first_broken} {outcome.agent_verdicts}"
        if level is None or not self._has_room(mutation.location, kind):
            return
        same, other = mutation.old, mutation.new
        middle = midpoint(same, other)
        if middle is None and not are_numbers(same, other):
            self._keep(f"{mutation.target} = {other!r}, which turns it", mutation.candidate, outcome)
            return
        while middle is not None:
            reached = self._runner.outcome(mutation.with_value(base, middle), is_whole=level > 1)
            if reached is None:
                self._keep(f"{mutation.target} = {mutation.new!r}, which turns it", mutation.candidate, outcome)
                return
            if agree(start, reached, level):
                same = middle
            else:
                other = middle
            middle = midpoint(same, other)
        for value in (same, other):
            edge = mutation.with_value(base, value)
            self._result.cases.append(edge.as_case(f"{mutation.target} = {value!r}, where it turns", self._world))
            reached = self._runner.outcome(edge, is_whole=False)
            if reached is not None:
                self._note(edge, reached, mutation.target)

    def _try_pairs(
        self, bases: Sequence[CandidateCall], mutator: Mutator, is_broken: Callable[[CandidateOutcome], bool]
    ) -> None:
        """Try two mutations of what a guard reads until they break it together."""
        limit = self._runner.runs + PAIRS
        # Try plain arguments first, because they choose between the alternatives of a guard.
        plain = {parameter.name for parameter in self._tool.parameters if not parameter.refers_to}
        for base in bases:
            firsts = [
                (mutation.target not in plain, rank, self._random.random(), mutation)
                for rank, mutation in _ranked(mutator.mutations(base))
            ]
            for *_, first in sorted(firsts, key=lambda entry: entry[:3]):
                start = self._runner.outcome(first.candidate, is_whole=False)
                if start is None or start.first_broken < len(self._guards):
                    continue
                seconds = sorted(_ranked(mutator.mutations(first.candidate)), key=lambda entry: entry[0])
                for _, second in seconds[:SECOND_MUTATIONS]:
                    outcome = self._runner.outcome(second.candidate, is_whole=False)
                    if outcome is not None:
                        self._note(second.candidate, outcome, second.target)
                        if is_broken(outcome):
                            self._keep_flip(first.candidate, start, second, outcome, "")
                            return
                    if self._runner.runs > limit:
                        return

    def _note(self, candidate: CandidateCall, outcome: CandidateOutcome, about: str) -> None:
        """Record which guard a candidate breaks, and keep it as a case unless there are enough of its kind."""
        if outcome.first_broken < len(self._guards):
            self._result.breaking.setdefault(outcome.first_broken, candidate)
            self._keep(f"{self._guards[outcome.first_broken].rule} broken by {about}", candidate, outcome)
        else:
            broken = [place for place, holds in enumerate(outcome.agent_verdicts) if not holds]
            for place in broken:
                self._result.breaking_agent.setdefault(place, candidate)
            if broken:
                self._keep(f"a rule of the agent broken by {about}", candidate, outcome)

    def _keep(self, about: str, candidate: CandidateCall, outcome: CandidateOutcome, most: int = PER_LOCATION) -> None:
        if self._has_room(about, f"{outcome.first_broken} {outcome.agent_verdicts}", most):
            self._result.cases.append(candidate.as_case(about, self._world))

    def _has_room(self, about: str, kind: str, most: int = PER_LOCATION) -> bool:
        """Whether there is room for another case of this kind; if so, count it."""
        kept = self._kept.get((about, kind), 0)
        self._kept[about, kind] = kept + 1
        return kept < most


def _ranked(mutations: Iterable[Mutation]) -> list[tuple[int, Mutation]]:
    """Mutations, each with the number of earlier mutations of the same location."""
    last: dict[str, int] = {}
    ranked = []
    for mutation in mutations:
        last[mutation.target] = last.get(mutation.target, -1) + 1
        ranked.append((last[mutation.target], mutation))
    return ranked


def _patience(mutation: Mutation, left: Collection[str]) -> int:
    """After how many values that change nothing to leave the mutation's location; sooner if its target was `left`."""
    if mutation.template:
        return 1
    return FRUITLESS_AGAIN if mutation.target in left else FRUITLESS


def _breaks(place: int, outcome: CandidateOutcome) -> bool:
    return outcome.first_broken == place


def _breaks_agent_rule(place: int, outcome: CandidateOutcome) -> bool:
    return place < len(outcome.agent_verdicts) and not outcome.agent_verdicts[place]

"""Successful calls of a tool: a hill climb from random calls to the first one, and random mixtures of mutations.

The climb first mutates the values that only the broken guard reads. If several mutations get past a guard, it takes the
one after which the first broken guard comes latest. Around a success counts how far a mutation changes the outcome, and
which value lies half way between two others.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from random import Random

from skillweave.schema.contract import Tool
from skillweave.schema.record import Json, Row
from synth.servers.candidates import CandidateOutcome, CandidateRunner
from synth.servers.cases import CandidateCall
from synth.servers.mutations import DAY, MOMENT, Mutation, Mutator

RANDOM_CALLS = 200
"""Random calls among which the climb chooses where to start."""
CLIMB_STARTS = 4
"""Calls that a climb may start from."""
CLIMB_LIMIT = 1500
"""Candidates run in one climb."""
FIRST_MUTATIONS = 12
"""Mutations of one step of a climb that are tried together with a second one."""
MIXTURES_DRAWN = 150
"""Mixtures that are run for one tool."""
MIXTURES_KEPT = 30
"""Successful mixtures that become cases."""
MUTATIONS = (2, 3, 4, 5)
"""Mutations in one mixture."""


class HillClimb:
    """Searches a successful call of a tool."""

    def __init__(
        self, mutator: Mutator, random: Random, on_outcome: Callable[[CandidateCall, CandidateOutcome, str], None]
    ) -> None:
        """Prepare a climb.

        Args:
            mutator: The mutations of the tool.
            random: Draws random calls and samples.
            on_outcome: Gets every candidate, its outcome, and a description of the change.
        """
        self._mutator = mutator
        self._runner = mutator.runner
        self._world = mutator.runner.world
        self._tool = mutator.tool
        self._guards = self._runner.tool_guards(self._tool)
        self._random = random
        self._on_outcome = on_outcome
        self._values: dict[str | None, dict[str, list[Json]]] = {}
        """Caller -> parameter -> values to give, those of rows related to the caller among them."""

    def success(self) -> tuple[CandidateCall, CandidateOutcome] | None:
        """Find a successful call of the tool.

        Returns:
            The call and its outcome; None if no climb reaches one within CLIMB_LIMIT.
        """
        for start in self._starts():
            best, _ = self._climb(*start)
            outcome = self._runner.outcome(best)
            if outcome is not None and outcome.first_broken == len(self._guards):
                return best, outcome
        return None

    def _starts(self) -> list[tuple[CandidateCall, CandidateOutcome]]:
        """The random calls whose first broken guard comes latest; among equals those with most arguments."""
        calls = [self._random_call() for _ in range(RANDOM_CALLS)]
        outcomes: list[tuple[CandidateCall, CandidateOutcome]] = []
        for candidate in {repr((call.caller, call.arguments)): call for call in calls}.values():
            outcome = self._runner.outcome(candidate, is_whole=False)
            if outcome is not None:
                self._on_outcome(candidate, outcome, "as it is")
                outcomes.append((candidate, outcome))
        ranked = sorted(outcomes, key=lambda pair: (-pair[1].first_broken, -len(pair[0].given())))
        return ranked[:CLIMB_STARTS]

    def _random_call(self) -> CandidateCall:
        core, account = self._world.people, self._world.role(self._tool.name).account
        query = f"SELECT {core.key} FROM {core.table} WHERE {account} IS NOT NULL ORDER BY 1"
        people = self._runner.query_original(query)
        caller = str(self._random.choice(people)[0]) if people else None
        call = CandidateCall(self._tool, caller, tuple((parameter.name, None) for parameter in self._tool.parameters))
        if self._tool.kind == "auth":
            return self._sign_in(call, caller)
        if caller not in self._values:
            related = self._runner.related_rows(call, self._mutator.tables)
            self._values[caller] = {
                parameter.name: [
                    value for value in self._mutator.arguments(parameter, None, related) if value is not None
                ]
                for parameter in self._tool.parameters
            }
        given = dict(call.arguments)
        for parameter in self._tool.parameters:
            if not parameter.required and self._random.random() < 0.6:
                continue
            values = self._values[caller][parameter.name]
            given[parameter.name] = self._random.choice(values) if values else "text"
        return call._replace(arguments=tuple(given.items()))

    def _sign_in(self, call: CandidateCall, person: str | None) -> CandidateCall:
        """The call with the values of the person's row in columns named like the parameters."""
        role = self._world.role(self._tool.name)
        account = self._runner.accounts_of(person)[role.own.name]
        columns = [attribute.name for attribute in role.entity.attributes]
        people = self._runner.query_original(f"SELECT {', '.join(columns)} FROM {role.entity.table}")
        rows = (dict(zip(columns, cells, strict=True)) for cells in people)
        own: Row = next((row for row in rows if row[role.key] == account), {})
        for parameter in self._tool.parameters:
            call = call.with_argument(parameter.name, own.get(parameter.name))
        return CandidateCall(self._tool, None, call.arguments)

    def _climb(self, candidate: CandidateCall, outcome: CandidateOutcome) -> tuple[CandidateCall, CandidateOutcome]:
        """Mutate step by step until the call succeeds or the limit is reached."""
        limit = self._runner.runs + CLIMB_LIMIT
        while outcome.first_broken < len(self._guards) and self._runner.runs < limit:
            better = self._better(candidate, outcome, limit)
            if better is None:
                break
            candidate, outcome = better
        return candidate, outcome

    def _better(
        self, candidate: CandidateCall, outcome: CandidateOutcome, limit: int
    ) -> tuple[CandidateCall, CandidateOutcome] | None:
        """One or two mutations that get past the broken guard: first of values that it reads, then of any.

        `limit` is the number of runs at which the climb ends.
        """
        of_guard = Mutator(self._runner, self._tool, [self._guards[outcome.first_broken].holds])
        for mutator in (of_guard, self._mutator):
            singles = list(mutator.mutations(candidate))
            best = self._farthest(singles, outcome, limit)
            if best is not None:
                return best
            for first in self._random.sample(singles, min(len(singles), FIRST_MUTATIONS)):
                share = max(0, limit - self._runner.runs) // FIRST_MUTATIONS
                best = self._farthest(islice(mutator.mutations(first.candidate), share), outcome, limit)
                if best is not None:
                    return best
        return None

    def _farthest(
        self, mutations: Iterable[Mutation], outcome: CandidateOutcome, limit: int
    ) -> tuple[CandidateCall, CandidateOutcome] | None:
        """The candidate whose first broken guard comes latest, if that is later than in `outcome`."""
        best: tuple[CandidateCall, CandidateOutcome] | None = None
        for mutation in mutations:
            reached = self._runner.outcome(mutation.candidate, is_whole=False)
            if reached is not None:
                self._on_outcome(mutation.candidate, reached, mutation.target)
            if reached is not None and reached.first_broken > (best[1] if best else outcome).first_broken:
                best = mutation.candidate, reached
            if self._runner.runs >= limit or (reached is not None and reached.first_broken == len(self._guards)):
                break
        return best


def mixtures(
    runner: CandidateRunner, tool: Tool, bases: Sequence[CandidateCall], random: Random
) -> list[tuple[CandidateCall, CandidateOutcome]]:
    """Apply several random mutations at once to calls that succeed.

    A single mutation shows what one condition does. An amount that is rounded only for one plan and one price needs
    several.

    Args:
        runner: Runs the candidates.
        tool: The tool that they call.
        bases: Calls that succeed.
        random: Draws the mutations.

    Returns:
        Calls that still succeed, the one with the most effects first.
    """
    mutator = Mutator(runner, tool, [effect.sql for effect in tool.effects])
    successes: list[tuple[CandidateCall, CandidateOutcome]] = []
    for base in bases:
        by_target = _by_target(mutator, base)
        for _ in range(MIXTURES_DRAWN // len(bases) if by_target else 0):
            candidate = base
            for target in random.sample(sorted(by_target), min(len(by_target), random.choice(MUTATIONS))):
                candidate = _applied(candidate, random.choice(by_target[target]))
            outcome = runner.outcome(candidate)
            if outcome is not None and outcome.first_broken == len(runner.tool_guards(tool)):
                successes.append((candidate, outcome))
    if not successes:
        return []
    fullest = max(successes, key=lambda pair: sum(map(bool, pair[1].row_counts)))
    return [fullest, *[pair for pair in successes if pair is not fullest][: MIXTURES_KEPT - 1]]


def _by_target(mutator: Mutator, base: CandidateCall) -> dict[str, list[Mutation]]:
    """Mutations of an argument or a cell, by what they change."""
    by_target: dict[str, list[Mutation]] = {}
    for mutation in mutator.mutations(base, rows=False):
        by_target.setdefault(mutation.target, []).append(mutation)
    return by_target


def _applied(candidate: CandidateCall, mutation: Mutation) -> CandidateCall:
    """Another candidate with the same change."""
    if mutation.target in dict(candidate.arguments):
        return candidate.with_argument(mutation.target, mutation.new)
    return candidate.with_edit(mutation.candidate.edits[-1])


def midpoint(old: Json, new: Json) -> Json:
    """A value half way between two numbers or times; None if there is none between them."""
    if isinstance(old, bool) or isinstance(new, bool):
        return None
    if isinstance(old, int) and isinstance(new, int):
        middle = (old + new) // 2
        return None if middle in (old, new) else middle
    if isinstance(old, float) and isinstance(new, float):
        half = round((old + new) / 2, 2)
        return None if half in (old, new) else half
    if isinstance(old, str) and isinstance(new, str):
        return _moment_between(old, new)
    return None


def _moment_between(old: str, new: str) -> str | None:
    form = DAY if len(old) == 10 else MOMENT
    if {len(old), len(new)} not in ({10}, {19}):
        return None
    try:
        start, end = datetime.fromisoformat(old), datetime.fromisoformat(new)
    except ValueError:
        return None
    unit = timedelta(days=1) if form == DAY else timedelta(seconds=1)
    steps = (end - start) // unit
    middle = start + (steps // 2 if steps > 0 else -(-steps // 2)) * unit
    return None if middle in (start, end) else middle.strftime(form)


def are_numbers(old: Json, new: Json) -> bool:
    """Whether both values are numbers, so that no value between them means that they are adjacent."""
    is_plain = not isinstance(old, bool) and not isinstance(new, bool)
    return is_plain and isinstance(old, int | float) and isinstance(new, int | float)


def changed_level(start: CandidateOutcome, outcome: CandidateOutcome, mutation: Mutation) -> int | None:
    """How far a mutation changes the outcome, by the first part that differs.

    Returns:
        0: another guard of the tool is broken. 1: a verdict on a rule of the agent. 2: the rows changed or returned.
        3, for times only: numbers in the result, because fees change in steps of time. None: nothing.
    """
    if start[:3] != outcome[:3]:
        return next(level for level in range(3) if start[level] != outcome[level])
    if start.numbers == outcome.numbers or not isinstance(mutation.new, str):
        return None
    return None if midpoint(mutation.old, mutation.new) is None else 3


def agree(start: CandidateOutcome, outcome: CandidateOutcome, level: int) -> bool:
    """Whether two outcomes are equal in all parts up to a level of `changed_level`."""
    return start[: level + 1] == outcome[: level + 1]

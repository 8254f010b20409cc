"""Building a world's database: several histories over the same reference rows, of which the fullest is kept."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Row
from skillweave.schema.reports import DatabaseSummary
from skillweave.world.world import World
from synth.simulation.coverage import ENOUGH, FEW, CoverageSurvey
from synth.simulation.events import ContractBroken, ContractPart
from synth.simulation.gaps import GapFiller
from synth.simulation.generation import state_of
from synth.simulation.history import History, HistoryPlan, Simulation

BETWEEN_CHECKS = 12
"""Changes between two checks of the invariants, which are most of a history's work."""
TURNS = 2
"""How often each kind of lack is looked for and made up for."""
LAST, SPAN = 55, 9
"""Minutes before the end at which the first such turn begins, and those that each has."""


@dataclass(frozen=True)
class HistoryResult:
    """One history, and what it offers. `fault` is set where an invariant broke, and then nothing else."""

    rows: dict[str, list[Row]]
    summary: DatabaseSummary | None
    fault: str = ""
    part: ContractPart = "invariant"
    broken: str = ""
    """The name of the part of the contract that broke."""
    able: dict[str, int] = field(default_factory=dict)
    """Tool -> persons who can call it lawfully in the end, as far as they were counted."""
    history: History | None = None
    unsound: tuple[str, ...] = ()
    """Rules left to the agent whose breach spoils the data."""

    @property
    def worth(self) -> tuple[int, int, int]:
        """By what histories are compared: what happened at all, what tasks can be made of and how much of the
        contract, how many people each tool has."""
        if self.summary is None:
            return (-1, 0, 0)
        coverage = self.summary.coverage
        reached = coverage.guards_first_broken + coverage.effects_taking_place
        able = self.able.values()
        return (coverage.tools_succeeding, 2 * sum(min(FEW, count) for count in able) + reached, sum(able) + reached)


def simulate_history(
    blueprint: Blueprint, rows: Mapping[str, Sequence[Row]], now: str, plan: HistoryPlan, seed: str
) -> HistoryResult:
    """Live through one history and survey what came of it. Pure: the same arguments, the same rows."""
    callers = [str(row[blueprint.core.key]) for row in rows[blueprint.core.table]]
    try:
        history = _history(blueprint, rows, now, callers, plan, seed, BETWEEN_CHECKS)
    except ContractBroken as broken:
        if broken.part == "invariant":
            broken = _culprit(blueprint, rows, now, callers, plan, seed) or broken
        return HistoryResult({}, None, str(broken), broken.part, broken.name)
    return _surveyed(blueprint, history, now, callers, f"{seed}/survey")


def close_gaps(blueprint: Blueprint, built: HistoryResult, now: str, seed: str) -> HistoryResult:
    """The same history with what it lacks made up for in its last hour, as far as lawful steps lead there.

    Each kind of lack has its turn, whose outcome is kept where it is worth more.
    """
    for number, turn in enumerate([_enable_few, _meet, _enable_enough] * TURNS):
        if built.summary is None or built.history is None:
            return built
        world = World(blueprint, state_of(built.rows, blueprint), now=now)
        callers = [str(row[blueprint.core.key]) for row in built.rows[blueprint.core.table]]
        with world.session() as session:
            random = Random(f"{seed}/{number}/steering")
            try:
                turn(GapFiller(world, session, callers, random, LAST - SPAN * number), built)
            except ContractBroken:
                continue  # What lawful steps led to is something that an event cannot deal with; the turn is left out.
            rows = {entity.table: session.rows(entity.table) for entity in blueprint.tables}
        if rows != built.rows:
            history = replace(built.history, rows=rows)
            again = _surveyed(blueprint, history, now, callers, f"{seed}/{number}/survey again")
            built = max(built, again, key=lambda either: either.worth)
    return built


def _enable_few(steering: GapFiller, built: HistoryResult) -> None:
    _enable(steering, built, FEW)


def _enable_enough(steering: GapFiller, built: HistoryResult) -> None:
    _enable(steering, built, ENOUGH)


def _enable(steering: GapFiller, built: HistoryResult, enough: int) -> None:
    for tool in [tool for tool in steering.world.blueprint.tools if tool.kind != "auth"]:
        for _ in range(built.able[tool.name], enough):
            steering.enable(tool)


def _meet(steering: GapFiller, built: HistoryResult) -> None:
    for unmet in built.summary.coverage.unmet if built.summary else ():
        steering.meet(unmet)


def _surveyed(blueprint: Blueprint, history: History, now: str, callers: list[str], seed: str) -> HistoryResult:
    world = World(blueprint, state_of(history.rows, blueprint), now=now)
    survey = CoverageSurvey(world, callers, Random(seed), history)
    coverage = survey.run()
    summary = DatabaseSummary(
        server=blueprint.server,
        rows={table: len(found) for table, found in history.rows.items()},
        values=_value_counts(blueprint, history.rows),
        calls=history.succeeded,
        events=history.happened,
        coverage=coverage,
    )
    return HistoryResult(history.rows, summary, able=survey.able, history=history, unsound=tuple(survey.unsound_rules))


def _history(
    blueprint: Blueprint,
    rows: Mapping[str, Sequence[Row]],
    now: str,
    callers: list[str],
    plan: HistoryPlan,
    seed: str,
    every: int,
) -> History:
    # Who looks after each change, to find the one that broke something, looks that much more often.
    most_steps = plan.most_steps * BETWEEN_CHECKS // every
    world = World(blueprint, state_of(rows, blueprint), now=now, most_steps=most_steps)
    return Simulation(world, callers, plan, Random(f"{seed}/history"), every=every).run()


def _culprit(
    blueprint: Blueprint, rows: Mapping[str, Sequence[Row]], now: str, callers: list[str], plan: HistoryPlan, seed: str
) -> ContractBroken | None:
    """Which change broke an invariant: the same history once more, checked after each change."""
    try:
        _history(blueprint, rows, now, callers, plan, seed, 1)
    except ContractBroken as broken:
        return broken
    return None


def fullest(histories: Sequence[HistoryResult]) -> HistoryResult:
    """The history that lets most of the contract happen; the first of equals."""
    return max(histories, key=lambda built: built.worth)


def _value_counts(blueprint: Blueprint, rows: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, int]]:
    found = {}
    for entity in blueprint.tables:
        for attribute in entity.attributes:
            if attribute.enum:
                counted = Counter(str(row[attribute.name]) for row in rows[entity.table])
                found[f"{entity.table}.{attribute.name}"] = dict(sorted(counted.items()))
    return found

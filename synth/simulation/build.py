"""Building a world's database: histories over the same first rows are simulated, compared, and their gaps closed.

Pure: the same arguments give the same rows. So a history can be simulated in another process.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Row
from skillweave.schema.reports import DatabaseSummary
from skillweave.world.world import World
from synth.search.blocking_rules import why_nobody_can
from synth.simulation.coverage import ENOUGH, FEW, WHOLE, CoverageSurvey, SurveyScope, Witnesses
from synth.simulation.events import ContractBroken, ContractPart
from synth.simulation.gaps import GapFiller
from synth.simulation.generation import state_of
from synth.simulation.history import History, HistoryPlan, Simulation

BETWEEN_CHECKS = 12
"""Changes between two checks of the invariants, which are most of a history's work."""
ROUNDS = 2
"""How often each kind of gap is looked for and closed."""
FIRST_ROUND, ROUND = 55, 9
"""Minutes before the end at which the first such round begins, and the minutes that each has."""

Gaps = set[str | tuple[str, str]]
"""Tools that too few persons can call, and guards, by tool and rule, that are never the first to fail."""


@dataclass(frozen=True)
class HistoryResult:
    """One history, and what its database offers. If the contract broke, there are no rows and no summary."""

    rows: dict[str, list[Row]]
    """By table, as they are at the end."""
    summary: DatabaseSummary | None
    fault: str = ""
    """How the contract broke, in words for its author; empty if it did not."""
    part: ContractPart = "invariant"
    broken: str = ""
    """The name of the part of the contract that broke."""
    witnesses: Witnesses = field(default_factory=Witnesses)
    """Calls that show what the database offers."""
    history: History | None = None
    unsound: tuple[str, ...] = ()
    """Rules left to the agent whose breach spoils the data."""

    @property
    def worth(self) -> tuple[int, int, int]:
        """By what histories are compared, the more the better.

        Returns:
            Tools that succeed; callers for tasks (up to `FEW` a tool count) and parts of the contract reached; all
            callers and parts.
        """
        if self.summary is None:
            return (-1, 0, 0)
        coverage = self.summary.coverage
        reached = coverage.guards_first_broken + coverage.effects_taking_place
        able = [len(persons) for persons in self.witnesses.able.values()]
        return (coverage.tools_succeeding, 2 * sum(min(FEW, count) for count in able) + reached, sum(able) + reached)


def simulate_history(
    blueprint: Blueprint,
    rows: Mapping[str, Sequence[Row]],
    now: str,
    plan: HistoryPlan,
    seed: str,
    scope: SurveyScope = WHOLE,
) -> HistoryResult:
    """Simulate one history and survey its database.

    Args:
        blueprint: The contract.
        rows: First rows by table, without faults.
        now: The clock at the history's end.
        plan: How much happens.
        seed: Of everything that is random in it.
        scope: What the survey looks at.
    """
    callers = [str(row[blueprint.core.key]) for row in rows[blueprint.core.table]]
    try:
        history = _history(blueprint, rows, now, callers, plan, seed, BETWEEN_CHECKS)
    except ContractBroken as broken:
        if broken.part == "invariant":
            broken = _breaking_change(blueprint, rows, now, callers, plan, seed) or broken
        return HistoryResult({}, None, str(broken), broken.part, broken.name)
    world = World(blueprint, state_of(history.rows, blueprint), now=now)
    return _surveyed(world, history, callers, f"{seed}/survey", scope)


def close_gaps(blueprint: Blueprint, result: HistoryResult, now: str, seed: str) -> HistoryResult:
    """The same history with its gaps closed in its last hour, as far as lawful steps can close them.

    Each kind of gap has its round. The outcome of a round is kept if it is worth more.
    """
    if result.history is None:
        return result
    history, world = result.history, World(blueprint, state_of(result.rows, blueprint), now=now)
    hopeless: Gaps = set()
    for number, close in enumerate([_enable_a_few, _meet, _enable_enough] * ROUNDS):
        callers = [str(row[blueprint.core.key]) for row in result.rows[blueprint.core.table]]
        with world.sharing(), world.session() as session:
            random = Random(f"{seed}/{number}/steering")
            try:
                close(GapFiller(world, session, callers, random, FIRST_ROUND - ROUND * number), result, hopeless)
            except ContractBroken:
                continue  # Lawful steps led to a state that an event cannot deal with: leave this round out.
            rows = {entity.table: session.rows(entity.table) for entity in blueprint.tables}
        if rows != result.rows:
            changed = World(blueprint, state_of(rows, blueprint), now=now)
            lived = replace(history, rows=rows)
            again = _surveyed(changed, lived, callers, f"{seed}/{number}/survey again", earlier=result.witnesses)
            if again.worth > result.worth:
                result, world = again, changed
    return result


def _enable_a_few(filler: GapFiller, result: HistoryResult, hopeless: Gaps) -> None:
    _enable(filler, result, hopeless, FEW)


def _enable_enough(filler: GapFiller, result: HistoryResult, hopeless: Gaps) -> None:
    _enable(filler, result, hopeless, ENOUGH)


def _enable(filler: GapFiller, result: HistoryResult, hopeless: Gaps, enough: int) -> None:
    for tool in [tool for tool in filler.world.blueprint.tools if tool.kind != "auth"]:
        able = result.witnesses.able[tool.name]
        for _ in range(len(able), enough):
            # A tool that nobody can call costs the world, so that it is tried in every round.
            if (tool.name not in hopeless or not able) and not filler.enable(tool):
                hopeless.add(tool.name)


def _meet(filler: GapFiller, result: HistoryResult, hopeless: Gaps) -> None:
    for unmet in result.summary.coverage.unmet if result.summary else ():
        gap = unmet.tool, unmet.rule
        if gap not in hopeless and not filler.meet(unmet):
            hopeless.add(gap)


def _surveyed(
    world: World,
    history: History,
    callers: list[str],
    seed: str,
    scope: SurveyScope = WHOLE,
    earlier: Witnesses | None = None,
) -> HistoryResult:
    blueprint = world.blueprint
    survey = CoverageSurvey(world, callers, Random(seed), history, scope, earlier or Witnesses())
    coverage = survey.run()
    summary = DatabaseSummary(
        server=blueprint.server,
        rows={table: len(records) for table, records in history.rows.items()},
        values=_value_counts(blueprint, history.rows),
        calls=history.succeeded,
        events=history.happened,
        coverage=coverage,
    )
    unsound = tuple(survey.unsound_rules)
    return HistoryResult(history.rows, summary, witnesses=survey.found, history=history, unsound=unsound)


def _history(
    blueprint: Blueprint,
    rows: Mapping[str, Sequence[Row]],
    now: str,
    callers: list[str],
    plan: HistoryPlan,
    seed: str,
    every: int,
) -> History:
    # Checking after each change, to find the one that broke something, takes that many more steps.
    most_steps = plan.most_steps * BETWEEN_CHECKS // every
    world = World(blueprint, state_of(rows, blueprint), now=now, most_steps=most_steps)
    return Simulation(world, callers, plan, Random(f"{seed}/history"), every=every).run()


def _breaking_change(
    blueprint: Blueprint, rows: Mapping[str, Sequence[Row]], now: str, callers: list[str], plan: HistoryPlan, seed: str
) -> ContractBroken | None:
    """The change that broke an invariant, found by the same history checked after each change."""
    try:
        _history(blueprint, rows, now, callers, plan, seed, 1)
    except ContractBroken as broken:
        return broken
    return None


def fullest(histories: Sequence[HistoryResult]) -> HistoryResult:
    """The history that lets most of the contract happen; the first of equals."""
    return max(histories, key=lambda result: result.worth)


def unusable_tools(blueprint: Blueprint, result: HistoryResult, now: str) -> list[str]:
    """The tools that nobody could use, in words for the author of the first rows.

    Other defects of a history are the blueprint's, and are not told to that author.
    """
    if result.summary is None or not result.summary.coverage.failing_tools:
        return []
    world = World(blueprint, state_of(result.rows, blueprint), now=now)
    return [
        f"people lived with these rows, and {why_nobody_can(world, blueprint.tool(name), Random(name))}; give rows "
        "with which several persons can"
        for name in result.summary.coverage.failing_tools
    ]


def _value_counts(blueprint: Blueprint, rows: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, int]]:
    counts_by_column = {}
    for entity in blueprint.tables:
        for attribute in entity.attributes:
            if attribute.enum:
                counts = Counter(str(row[attribute.name]) for row in rows[entity.table])
                counts_by_column[f"{entity.table}.{attribute.name}"] = dict(sorted(counts.items()))
    return counts_by_column

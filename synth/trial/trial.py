"""The trial of a blueprint: first rows are drawn, people use the tools for weeks, and what goes wrong is named.

A short history shows what reading the contract cannot: a tool that nobody can use, an invariant that a call breaks, a
table that stays empty, a rule whose breach corrupts the data. Pure: the same blueprint gives the same faults.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from sqlglot import exp

from skillweave.base.errors import AuthorError
from skillweave.sandbox.limits import SandboxLimits
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Row
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.search.blocking_rules import why_nobody_can
from synth.simulation.build import HistoryResult, close_gaps, simulate_history
from synth.simulation.events import broken_invariants
from synth.simulation.generation import filled_tables, run_generator, state_of
from synth.simulation.history import HistoryPlan
from synth.trial.draft import PLACEHOLDER_INVARIANT, server_initials, with_prefixes
from synth.trial.faults import BlueprintFault, BlueprintPart, hidden_rows, indistinguishable_rows, unfilled_tables
from synth.trial.generator import write_generator
from synth.trial.repair import without_part

LONGER_HISTORY = 4
"""Factor on the visits, if nobody could use some tool in the first history."""
MOST_BROKEN_PARTS = 8
"""Parts of the contract that may break before no further history is simulated."""


@dataclass(frozen=True)
class TrialOutcome:
    """What a trial has shown."""

    faults: list[BlueprintFault]
    unsound: Collection[str] = ()
    """Rules whose breach would corrupt the data, so that the tools must hold them."""


def try_blueprint(blueprint: Blueprint, seed: int, now: str, limits: SandboxLimits, plan: HistoryPlan) -> TrialOutcome:
    """Try a blueprint.

    Args:
        blueprint: The blueprint, with the enforcer of each rule decided.
        seed: The run's seed.
        now: The clock at the history's end.
        limits: Of the sandbox in which first rows are drawn.
        plan: How much happens in the history.
    """
    static_faults = [*unfilled_tables(blueprint), *hidden_rows(blueprint)]
    if any(fault.fatal for fault in static_faults):
        return TrialOutcome(static_faults)
    blueprint_with_ids = with_prefixes(blueprint, server_initials([blueprint.server])[blueprint.server])
    rows, faults = _first_rows(blueprint_with_ids, seed, now, limits)
    if faults:
        return TrialOutcome([*static_faults, *faults])
    result, broken = _simulated(blueprint_with_ids, rows, now, plan, f"{seed}/{blueprint_with_ids.server}/trial")
    return TrialOutcome([*static_faults, *broken, *_faults_of_history(blueprint_with_ids, result, now)], result.unsound)


def _simulated(
    blueprint: Blueprint, rows: Mapping[str, Sequence[Row]], now: str, plan: HistoryPlan, seed: str
) -> tuple[HistoryResult, list[BlueprintFault]]:
    """A history, and a fault for each part that broke; after each the history is simulated again without that part."""
    faults: list[BlueprintFault] = []
    while (result := simulate_history(blueprint, rows, now, plan, seed)).fault:
        tools = (result.broken,) if result.part == "tool" else ()
        faults.append(
            BlueprintFault(result.part, result.broken, f"{result.fault}{_hint(blueprint, result)}", tools=tools)
        )
        remaining = without_part(blueprint, faults[-1])
        if remaining is None or len(faults) == MOST_BROKEN_PARTS:
            break
        blueprint = remaining
    if result.summary is not None and result.summary.coverage.failing_tools:
        # Some tools can be used only after others. A longer history, with its gaps closed, gives them a chance.
        longer = simulate_history(blueprint, rows, now, replace(plan, visits=LONGER_HISTORY * plan.visits), seed)
        result = close_gaps(blueprint, longer if longer.summary else result, now, seed)
    return result, faults


def _hint(blueprint: Blueprint, result: HistoryResult) -> str:
    """What the author has to see of the part that broke; contracts of tools are shown anyway."""
    if result.part == "tool":
        return ""
    if result.part == "event":
        (event,) = (event for event in blueprint.events if event.name == result.broken)
        return f". It picks by {event.pick!r}. Mend the event"
    (never,) = (invariant.never for invariant in blueprint.invariants if invariant.id == result.broken)
    return f" (no row may ever come of {never!r}). Mend the invariant, or what broke it"


def _first_rows(
    blueprint: Blueprint, seed: int, now: str, limits: SandboxLimits
) -> tuple[dict[str, list[Row]], list[BlueprintFault]]:
    """The rows that are there before anybody uses a tool, by table, and what is wrong with them."""
    filled = filled_tables(blueprint)
    try:
        script = write_generator(blueprint.server, blueprint.core_entity, filled, blueprint.tables)
    except AuthorError as error:
        return {}, [BlueprintFault("company", "", str(error))]
    # The rows first, without invariants: an invariant can only be checked on sound rows.
    rows, complaints = run_generator(
        script, blueprint.model_copy(update={"invariants": [PLACEHOLDER_INVARIANT]}), seed, now, limits
    )
    if complaints:
        return {}, [
            BlueprintFault(*_part_named(text, blueprint), f"drawing the first rows: {text}") for text in complaints
        ]
    connection = state_of(rows, blueprint)
    broken = broken_invariants(connection, blueprint)
    connection.close()
    never = {invariant.id: invariant.never for invariant in blueprint.invariants}
    return rows, [
        BlueprintFault(
            "invariant",
            one.invariant,
            f"of the first rows, drawn as the tables say: {one} ({never[one.invariant]!r}). Let `generate` draw rows "
            "that keep it (`sql` for what follows from other columns), or mend the invariant",
        )
        for one in broken
    ]


def _part_named(text: str, blueprint: Blueprint) -> tuple[BlueprintPart, str]:
    """The table that a complaint is about: the one whose rows were being drawn, or the first one named."""
    drawing = [entity.name for entity in blueprint.tables if f", in rows_of_{entity.table}\n" in text]
    if drawing:
        return "table", drawing[-1]
    for mark in "',:.":
        text = text.replace(mark, " ")
    words = text.split()
    named = next((entity.name for word in words for entity in blueprint.tables if entity.table == word), None)
    return ("table", named) if named else ("company", "")


def _faults_of_history(blueprint: Blueprint, result: HistoryResult, now: str) -> Iterator[BlueprintFault]:
    if result.summary is None:
        return
    world = World(blueprint, state_of(result.rows, blueprint), now=now)
    yield from indistinguishable_rows(world)
    for name in result.summary.coverage.failing_tools:
        why = why_nobody_can(world, blueprint.tool(name), Random(name))
        yield BlueprintFault("tool", name, f"people lived with the company for weeks, and {why}", tools=(name,))
    for entity in blueprint.tables:
        if not result.summary.rows.get(entity.table):
            makers = [tool.name for tool in blueprint.tools if _inserts(tool, entity.table)]
            yield BlueprintFault(
                "table",
                entity.name,
                f"the table {entity.table} stays empty, though {', '.join(makers)} could fill it",
                fatal=False,
                tools=tuple(makers),
            )


def _inserts(tool: Tool, table: str) -> bool:
    statements = (parse(effect.sql) for effect in tool.effects)
    return any(isinstance(one.tree, exp.Insert) and one.target == table for one in statements)

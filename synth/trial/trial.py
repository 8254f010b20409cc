"""The trial: rows are drawn as the tables say, people live with the tools for weeks, and what goes wrong is named.

A short history shows what reading cannot: a tool that nobody can use, an invariant that a call breaks, a table that
stays empty, a rule whose breach spoils the data. Pure: the same blueprint, the same faults.
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

LONGER = 4
"""Times as many visits are lived where a tool was of no use to anybody."""
MOST_BROKEN = 8
"""Parts that may break until no further history is lived."""


@dataclass(frozen=True)
class TrialOutcome:
    """What a trial has shown."""

    faults: list[BlueprintFault]
    unsound: Collection[str] = ()
    """Rules whose breach would spoil the data: no agent may be trusted with them."""


def try_blueprint(blueprint: Blueprint, seed: int, now: str, limits: SandboxLimits, plan: HistoryPlan) -> TrialOutcome:
    """Try a blueprint."""
    seen = [*unfilled_tables(blueprint), *hidden_rows(blueprint)]
    if any(fault.fatal for fault in seen):
        return TrialOutcome(seen)
    ready = with_prefixes(blueprint, server_initials([blueprint.server])[blueprint.server])
    rows, wrong = _drawn(ready, seed, now, limits)
    if wrong:
        return TrialOutcome([*seen, *wrong])
    built, broken = _built(ready, rows, now, plan, f"{seed}/{ready.server}/trial")
    return TrialOutcome([*seen, *broken, *_lived(ready, built, now)], built.unsound)


def _built(
    blueprint: Blueprint, rows: Mapping[str, Sequence[Row]], now: str, plan: HistoryPlan, seed: str
) -> tuple[HistoryResult, list[BlueprintFault]]:
    """A history, and the parts that broke in it: each is told, and the history lived again without it."""
    broken: list[BlueprintFault] = []
    while (built := simulate_history(blueprint, rows, now, plan, seed)).fault:
        tools = (built.broken,) if built.part == "tool" else ()
        broken.append(BlueprintFault(built.part, built.broken, f"{built.fault}{_text(blueprint, built)}", tools=tools))
        left = without_part(blueprint, broken[-1])
        if left is None or len(broken) == MOST_BROKEN:
            break
        blueprint = left
    if built.summary is not None and built.summary.coverage.failing_tools:
        # Some can be used only once others have been: a longer history, whose end is made for them, is their chance.
        again = simulate_history(blueprint, rows, now, replace(plan, visits=LONGER * plan.visits), seed)
        built = close_gaps(blueprint, again if again.summary else built, now, seed)
    return built, broken


def _text(blueprint: Blueprint, built: HistoryResult) -> str:
    """What its author has to see of a part that broke; contracts are shown anyway."""
    if built.part == "tool":
        return ""
    if built.part == "event":
        (event,) = (one for one in blueprint.events if one.name == built.broken)
        return f". It picks by {event.pick!r}. Mend the event"
    (never,) = (one.never for one in blueprint.invariants if one.id == built.broken)
    return f" (no row may ever come of {never!r}). Mend the invariant, or what broke it"


def _drawn(
    blueprint: Blueprint, seed: int, now: str, limits: SandboxLimits
) -> tuple[dict[str, list[Row]], list[BlueprintFault]]:
    """The rows that are there before anybody uses a tool, and what is wrong with them."""
    filled = filled_tables(blueprint)
    try:
        script = write_generator(blueprint.server, blueprint.core_entity, filled, blueprint.tables)
    except AuthorError as error:
        return {}, [BlueprintFault("company", "", str(error))]
    # Tables first: an invariant can only be judged on rows that are there.
    rows, wrong = run_generator(
        script, blueprint.model_copy(update={"invariants": [PLACEHOLDER_INVARIANT]}), seed, now, limits
    )
    if wrong:
        return {}, [BlueprintFault(*_place(text, blueprint), f"drawing the first rows: {text}") for text in wrong]
    connection = state_of(rows, blueprint)
    broken = broken_invariants(connection, blueprint)
    connection.close()
    never = {one.id: one.never for one in blueprint.invariants}
    return rows, [
        BlueprintFault(
            "invariant",
            one.invariant,
            f"of the first rows, drawn as the tables say: {one} ({never[one.invariant]!r}). Let `generate` draw rows "
            "that keep it (`sql` for what follows from other columns), or mend the invariant",
        )
        for one in broken
    ]


def _place(text: str, blueprint: Blueprint) -> tuple[BlueprintPart, str]:
    """The table that a complaint about rows is about: whose rows were being drawn, or that is named first."""
    drawing = [entity.name for entity in blueprint.tables if f", in rows_of_{entity.table}\n" in text]
    if drawing:
        return "table", drawing[-1]
    for mark in "',:.":
        text = text.replace(mark, " ")
    words = text.split()
    found = next((entity.name for word in words for entity in blueprint.tables if entity.table == word), None)
    return ("table", found) if found else ("company", "")


def _lived(blueprint: Blueprint, built: HistoryResult, now: str) -> Iterator[BlueprintFault]:
    if built.summary is None:
        return
    world = World(blueprint, state_of(built.rows, blueprint), now=now)
    yield from indistinguishable_rows(world)
    for name in built.summary.coverage.failing_tools:
        why = why_nobody_can(world, blueprint.tool(name), Random(name))
        yield BlueprintFault("tool", name, f"people lived with the company for weeks, and {why}", tools=(name,))
    for entity in blueprint.tables:
        if not built.summary.rows.get(entity.table):
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

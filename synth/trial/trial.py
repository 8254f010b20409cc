"""The trial: rows are drawn as the tables say, people live with the tools for weeks, and what goes wrong is named.

A short history shows what reading cannot: a tool that nobody can use, an invariant that a call breaks, a table that
stays empty, a rule whose breach spoils the data. Pure: the same blueprint, the same faults.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

from sqlglot import exp

from skillweave.errors import AuthorError
from skillweave.sandbox.limits import Limits
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Row
from skillweave.schema.summary import Coverage
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.draft import NOTHING
from synth.formulated import prefixed, server_initials
from synth.history.build import Built, build, completed
from synth.history.generation import filled_tables, generated, state_of
from synth.history.simulation import Plan
from synth.planner.search import Search
from synth.trial.faults import Fault, Part, unfilled, unshown
from synth.trial.generator import write_generator

LONGER = 4
"""Times as many visits are lived where a tool was of no use to anybody."""
PERSONS = 12
"""For whom it is looked up which rule stands in the way of a tool."""


@dataclass(frozen=True)
class Tried:
    """What a trial has shown."""

    faults: list[Fault]
    unsound: list[str] = field(default_factory=list)
    """Rules whose breach would spoil the data: no agent may be trusted with them."""


def tried(blueprint: Blueprint, seed: int, now: str, limits: Limits, plan: Plan) -> Tried:
    """Try a blueprint."""
    seen = [*unfilled(blueprint), *unshown(blueprint)]
    if any(fault.fatal for fault in seen):
        return Tried(seen)
    ready = prefixed(blueprint, server_initials([blueprint.server])[blueprint.server])
    rows, wrong = _drawn(ready, seed, now, limits)
    if wrong:
        return Tried([*seen, *wrong])
    built = build(ready, rows, now, plan, f"{seed}/{ready.server}/trial")
    if built.summary is None:
        return Tried([*seen, Fault("invariant", _invariant(built.fault), _broken(ready, built.fault))])
    if built.summary.coverage.failing_tools:
        # Some can be used only once others have been: a longer history, whose end is made for them, is their chance.
        built = build(ready, rows, now, replace(plan, visits=LONGER * plan.visits), f"{seed}/{ready.server}/trial")
        built = completed(ready, built, now, f"{seed}/{ready.server}/trial")
    return Tried([*seen, *_lived(ready, built, now)], _unsound(built.summary.coverage if built.summary else None))


def _drawn(blueprint: Blueprint, seed: int, now: str, limits: Limits) -> tuple[dict[str, list[Row]], list[Fault]]:
    """The rows that are there before anybody uses a tool, and what is wrong with them."""
    filled = filled_tables(blueprint)
    try:
        script = write_generator(blueprint.server, blueprint.core_entity, filled, blueprint.tables)
    except AuthorError as error:
        return {}, [Fault("company", "", str(error))]
    # Tables first: an invariant can only be judged on rows that are there.
    rows, wrong = generated(script, blueprint.model_copy(update={"invariants": [NOTHING]}), seed, now, limits)
    if wrong:
        return {}, [Fault(*_place(text, blueprint), f"drawing the first rows: {text}") for text in wrong]
    connection = state_of(rows, blueprint)
    broken = []
    for invariant in blueprint.invariants:
        row = connection.execute(invariant.never).fetchone()
        if row:
            says = (
                f"the first rows, drawn as the tables say, break invariant {invariant.id}: {invariant.never!r} "
                f"returns {row}. Let `generate` draw rows that keep it (`sql` for what follows from other columns), or "
                "mend the invariant"
            )
            broken.append(Fault("invariant", invariant.id, says))
    connection.close()
    return rows, broken


def _place(text: str, blueprint: Blueprint) -> tuple[Part, str]:
    """The table that a complaint about rows begins with."""
    words = text.replace("'", " ").replace(",", " ").replace(":", " ").split()
    found = next((entity.name for word in words for entity in blueprint.tables if entity.table == word), None)
    return ("table", found) if found else ("company", "")


def _lived(blueprint: Blueprint, built: Built, now: str) -> Iterator[Fault]:
    if built.summary is None:
        return
    for name in built.summary.coverage.failing_tools:
        yield Fault(
            "tool",
            name,
            f"people lived with the company, and nobody could use {name}: {_obstacle(blueprint, built, name, now)}",
        )
    for entity in blueprint.tables:
        if not built.summary.rows.get(entity.table):
            makers = [tool.name for tool in blueprint.tools if _inserts(tool, entity.table)]
            yield Fault(
                "table",
                entity.name,
                f"the table {entity.table} stays empty, though {', '.join(makers)} could fill it",
                fatal=False,
            )


def _inserts(tool: Tool, table: str) -> bool:
    statements = (parse(effect.sql) for effect in tool.effects)
    return any(isinstance(one.tree, exp.Insert) and one.target == table for one in statements)


def _obstacle(blueprint: Blueprint, built: Built, name: str, now: str) -> str:
    """What stands in the way of a tool, in the state that a history has left."""
    tool = blueprint.tool(name)
    world = World(blueprint, state_of(built.rows, blueprint), now=now)
    for parameter in tool.parameters:
        entity = (parameter.refers_to or "").partition(".")[0]
        if entity and parameter.required and not built.rows.get(blueprint.entity(entity).table):
            return f"there is no row of {entity} that {parameter.name} could name"
    with world.session() as session:
        for guard in reversed(tool.guards):
            for caller in [None] if tool.kind == "auth" else world.callers[:PERSONS]:
                session.caller = caller
                search = Search(blueprint, tool, session, caller, now, Random(f"{name}/{guard.rule}"), nodes=80)
                arguments = next(search.breaking(guard.rule), None)
                if arguments is not None:
                    return (
                        f"the calls that come nearest, such as {arguments} by {caller}, fail at rule {guard.rule}, "
                        f"{guard.says!r}: `{guard.holds}` is not true of any"
                    )
    return "no call meets its guards, nor breaks one of them alone; see whether they contradict each other or the rows"


def _invariant(fault: str) -> str:
    """`invariant due_after_lent is broken ({...}) after renew_loan({...})` -> its id."""
    return fault.removeprefix("invariant ").partition(" ")[0]


def _broken(blueprint: Blueprint, fault: str) -> str:
    never = next((one.never for one in blueprint.invariants if one.id == _invariant(fault)), "")
    return f"in a history {fault}; it says that no row may ever come of {never!r}. Mend the invariant, or what broke it"


def _unsound(coverage: Coverage | None) -> list[str]:
    """`book_visit against own_quota: ...` -> `own_quota`."""
    found = coverage.unsound if coverage else []
    return list(dict.fromkeys(text.partition(" against ")[2].partition(": ")[0] for text in found))

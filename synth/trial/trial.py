"""The trial: rows are drawn as the tables say, people live with the tools for weeks, and what goes wrong is named.

A short history shows what reading cannot: a tool that nobody can use, an invariant that a call breaks, a table that
stays empty, a rule whose breach spoils the data. Pure: the same blueprint, the same faults.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from sqlglot import exp

from skillweave.errors import AuthorError
from skillweave.sandbox.limits import Limits
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Row
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.draft import NOTHING
from synth.formulated import prefixed, server_initials
from synth.history.build import Built, build, completed
from synth.history.generation import filled_tables, generated, state_of
from synth.history.invariants import all_broken
from synth.history.simulation import Plan
from synth.planner.nearest import nobody_can
from synth.trial.faults import Fault, Part, hidden, unfilled
from synth.trial.findable import alike_to_people
from synth.trial.generator import write_generator
from synth.trial.mended import without

LONGER = 4
"""Times as many visits are lived where a tool was of no use to anybody."""
MOST_BROKEN = 8
"""Parts that may break until no further history is lived."""


@dataclass(frozen=True)
class Tried:
    """What a trial has shown."""

    faults: list[Fault]
    unsound: Collection[str] = ()
    """Rules whose breach would spoil the data: no agent may be trusted with them."""


def tried(blueprint: Blueprint, seed: int, now: str, limits: Limits, plan: Plan) -> Tried:
    """Try a blueprint."""
    seen = [*unfilled(blueprint), *hidden(blueprint)]
    if any(fault.fatal for fault in seen):
        return Tried(seen)
    ready = prefixed(blueprint, server_initials([blueprint.server])[blueprint.server])
    rows, wrong = _drawn(ready, seed, now, limits)
    if wrong:
        return Tried([*seen, *wrong])
    built, broken = _built(ready, rows, now, plan, f"{seed}/{ready.server}/trial")
    return Tried([*seen, *broken, *_lived(ready, built, now)], built.unsound)


def _built(
    blueprint: Blueprint, rows: Mapping[str, Sequence[Row]], now: str, plan: Plan, seed: str
) -> tuple[Built, list[Fault]]:
    """A history, and the parts that broke in it: each is told, and the history lived again without it."""
    broken: list[Fault] = []
    while (built := build(blueprint, rows, now, plan, seed)).fault:
        tools = (built.broken,) if built.part == "tool" else ()
        broken.append(Fault(built.part, built.broken, f"{built.fault}{_text(blueprint, built)}", tools=tools))
        left = without(blueprint, broken[-1])
        if left is None or len(broken) == MOST_BROKEN:
            break
        blueprint = left
    if built.summary is not None and built.summary.coverage.failing_tools:
        # Some can be used only once others have been: a longer history, whose end is made for them, is their chance.
        again = build(blueprint, rows, now, replace(plan, visits=LONGER * plan.visits), seed)
        built = completed(blueprint, again if again.summary else built, now, seed)
    return built, broken


def _text(blueprint: Blueprint, built: Built) -> str:
    """What its author has to see of a part that broke; contracts are shown anyway."""
    if built.part == "tool":
        return ""
    if built.part == "event":
        (event,) = (one for one in blueprint.events if one.name == built.broken)
        return f". It picks by {event.pick!r}. Mend the event"
    (never,) = (one.never for one in blueprint.invariants if one.id == built.broken)
    return f" (no row may ever come of {never!r}). Mend the invariant, or what broke it"


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
    broken = all_broken(connection, blueprint)
    connection.close()
    never = {one.id: one.never for one in blueprint.invariants}
    return rows, [
        Fault(
            "invariant",
            one.invariant,
            f"of the first rows, drawn as the tables say: {one} ({never[one.invariant]!r}). Let `generate` draw rows "
            "that keep it (`sql` for what follows from other columns), or mend the invariant",
        )
        for one in broken
    ]


def _place(text: str, blueprint: Blueprint) -> tuple[Part, str]:
    """The table that a complaint about rows is about: whose rows were being drawn, or that is named first."""
    drawing = [entity.name for entity in blueprint.tables if f", in rows_of_{entity.table}\n" in text]
    if drawing:
        return "table", drawing[-1]
    for mark in "',:.":
        text = text.replace(mark, " ")
    words = text.split()
    found = next((entity.name for word in words for entity in blueprint.tables if entity.table == word), None)
    return ("table", found) if found else ("company", "")


def _lived(blueprint: Blueprint, built: Built, now: str) -> Iterator[Fault]:
    if built.summary is None:
        return
    world = World(blueprint, state_of(built.rows, blueprint), now=now)
    yield from alike_to_people(world)
    for name in built.summary.coverage.failing_tools:
        why = nobody_can(world, blueprint.tool(name), Random(name))
        yield Fault("tool", name, f"people lived with the company for weeks, and {why}", tools=(name,))
    for entity in blueprint.tables:
        if not built.summary.rows.get(entity.table):
            makers = [tool.name for tool in blueprint.tools if _inserts(tool, entity.table)]
            yield Fault(
                "table",
                entity.name,
                f"the table {entity.table} stays empty, though {', '.join(makers)} could fill it",
                fatal=False,
                tools=tuple(makers),
            )


def _inserts(tool: Tool, table: str) -> bool:
    statements = (parse(effect.sql) for effect in tool.effects)
    return any(isinstance(one.tree, exp.Insert) and one.target == table for one in statements)

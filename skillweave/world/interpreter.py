"""Runs the SQL of one tool: guards in order on one state, then effects, then the result.

A contract is defective if a write changes nothing, if there is not the one row that it promises, or if a constraint
fails. Then the interpreter raises `DefectError`, and the caller undoes the call.
"""

import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Guard, RuleVerdict, Tool, ToolError
from skillweave.schema.record import Json, Value
from skillweave.world.arguments import BoundValue
from skillweave.world.canonical import minted_by, prefix_of
from skillweave.world.database import updated_through_views, with_booleans
from skillweave.world.forbidden_sql import SqlForm, refused_in, texts_of
from skillweave.world.lineage import ColumnLineage

MAX_ROWS = 10_000
"""Most rows of a result; more are a defect."""
_SOUND = frozenset({str, int, type(None)})
"""Types all of whose values are JSON values."""


class DefectError(Exception):
    """The contract is defective in this call. Users never see this error: the call returns `world_defect`."""


@dataclass(frozen=True)
class CompiledTool:
    """A tool, ready to run."""

    tool: Tool
    guards: tuple[tuple[Guard, str], ...]
    """Each guard with the query that answers it: 1 if it holds, else 0."""
    effects: tuple[str, ...]
    select: str
    booleans: tuple[int, ...]
    """Positions of result columns that are true or false."""
    new: tuple[str, ...]
    """Bindings of minted ids (`new_id`, `new_id_2`, ...), in counting order."""
    prefixes: tuple[str, ...]
    """The prefix of each minted id, in the same order."""


@dataclass
class CallOutcome:
    """The outcome of a call."""

    value: Json = None
    """The rows that `returns` gave: an object for `one`, a list of objects for `many`."""
    error: ToolError | None = None
    """The first broken guard that the tool enforces."""
    verdicts: list[RuleVerdict] = field(default_factory=list)
    """The verdicts of the agent guards."""
    changed: list[int] = field(default_factory=list)
    """Rows that each effect changed, in order."""


def guard_query(holds: str) -> str:
    """The query that evaluates a guard: 1 if it is exactly true, 0 if it is false or NULL."""
    return f"SELECT (\n{holds}\n) IS TRUE"


def compile_tool(tool: Tool, blueprint: Blueprint) -> CompiledTool:
    """Make a tool ready to run. Raises WorldError if its SQL holds what contract SQL may not."""
    lineage = ColumnLineage(blueprint)
    for text, form in _texts(tool):
        for reason in refused_in(text, form, lineage, texts_of(tool)):
            raise WorldError(f"tool {tool.name!r} is refused: it {reason}, in {text!r}")
    new = minted_by(tool, blueprint)
    flags = lineage.booleans(tool.returns.select, tool)
    return CompiledTool(
        tool=tool,
        guards=tuple((guard, guard_query(guard.holds)) for guard in tool.guards),
        effects=tuple(effect.sql for effect in tool.effects),
        select=tool.returns.select,
        booleans=tuple(index for index, flag in enumerate(flags) if flag),
        new=tuple(new),
        prefixes=tuple(prefix_of(entity) for entity in new.values()),
    )


def _texts(tool: Tool) -> Iterator[tuple[str, SqlForm]]:
    for guard in tool.guards:
        yield guard.holds, "expression"
    for effect in tool.effects:
        yield effect.sql, "change"
    yield tool.returns.select, "query"


def run(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Mapping[str, BoundValue]) -> CallOutcome:
    """Run a tool. The caller undoes the changes of an outcome with an error, and of a defect.

    Args:
        connection: The session's rows, inside a transaction.
        compiled: The tool.
        bindings: Values of all bindings: parameters, caller, person, now and new ids.

    Raises:
        DefectError: The contract is defective in this call.
    """
    outcome = CallOutcome()
    try:
        _try_guards(connection, compiled, bindings, outcome)
        if outcome.error is None:
            outcome.changed = _apply(connection, compiled, bindings)
            outcome.value = _result(connection, compiled, bindings)
    except sqlite3.Error as error:
        raise DefectError(f"SQL failed: {error}") from error
    return outcome


def _try_guards(
    connection: sqlite3.Connection, compiled: CompiledTool, bindings: Mapping[str, BoundValue], outcome: CallOutcome
) -> None:
    for guard, query in compiled.guards:
        holds = bool(connection.execute(query, bindings).fetchone()[0])
        if guard.enforced_by == "agent":
            outcome.verdicts.append(_verdict(guard.rule, holds))
        elif not holds:
            outcome.error = ToolError(code=guard.error, message=guard.says, rule=guard.rule)
            return


@lru_cache(maxsize=1024)  # Records are frozen, and a run gives the same few verdicts many thousand times.
def _verdict(rule: str, holds: bool) -> RuleVerdict:
    return RuleVerdict(rule=rule, holds=holds)


def _apply(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Mapping[str, BoundValue]) -> list[int]:
    changed = [changed_by(connection, effect, bindings) for effect in compiled.effects]
    if compiled.tool.kind == "write" and not any(changed):
        raise DefectError("the write changed no row")
    return changed


def changed_by(connection: sqlite3.Connection, statement: str, bindings: Mapping[str, BoundValue]) -> int:
    """Run a statement that writes, and count the changed rows, including those of a view.

    Args:
        connection: The session's rows.
        statement: An INSERT, UPDATE or DELETE.
        bindings: Values of its `:name` bindings.

    Raises:
        sqlite3.Error: The statement fails.
    """
    before = connection.total_changes
    changed = connection.execute(statement, bindings).rowcount
    if changed < 0:  # Python does not count the rows of a statement that begins with WITH.
        changed = int(connection.execute("SELECT changes()").fetchone()[0])
    return changed or (updated_through_views(connection) if connection.total_changes > before else 0)


def _result(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Mapping[str, BoundValue]) -> Json:
    cursor = connection.execute(compiled.select, bindings)
    rows = cursor.fetchmany(MAX_ROWS + 1)
    names = [column[0] for column in cursor.description]
    if len(rows) > MAX_ROWS:
        raise DefectError(f"the result has more than {MAX_ROWS} rows")
    if not _SOUND.issuperset(map(type, chain.from_iterable(rows))):
        _refuse_unsound(names, rows)
    if compiled.booleans:
        rows = [with_booleans(row, compiled.booleans) for row in rows]
    if compiled.tool.returns.rows == "many":
        return [dict(zip(names, row, strict=True)) for row in rows]
    if len(rows) != 1:
        raise DefectError(f"{len(rows)} rows where one was promised")
    return dict(zip(names, rows[0], strict=True))


def _refuse_unsound(names: Sequence[str], rows: Sequence[tuple[Value, ...]]) -> None:
    for row in rows:
        for name, cell in zip(names, row, strict=True):
            if isinstance(cell, bytes) or (isinstance(cell, float) and not math.isfinite(cell)):
                raise DefectError(f"column {name!r} holds {cell!r}")

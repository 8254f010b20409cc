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
from skillweave.world.database import SOUND, make_boolean, named, updated_through_views
from skillweave.world.forbidden_sql import SqlForm, refused_in, texts_of
from skillweave.world.lineage import ColumnLineage

MAX_ROWS = 10_000
"""Most rows of a result; more are a defect."""
KEPT_TOOLS = 2048
"""Tools that a process keeps ready to run."""


Bindings = Mapping[str, BoundValue]
"""The value of each `:name` binding."""


class DefectError(Exception):
    """The contract is defective in this call. Users never see this error: the call returns `world_defect`."""


@dataclass(frozen=True)
class CompiledTool:
    """A tool, ready to run."""

    tool: Tool
    guards: tuple[tuple[Guard, str], ...]
    """Each guard with the query that answers it: 1 if it holds, else 0."""
    first_broken: str
    """The query for the place of the first broken guard that the tool enforces; empty if it enforces none."""
    agents: tuple[int, ...]
    """Places of the agent guards."""
    verdicts: str
    """The query for the verdicts of all agent guards; empty if there are none."""
    effects: tuple[str, ...]
    select: str
    gives_many: bool
    """Whether the result is a list of rows."""
    booleans: tuple[int, ...]
    """Positions of result columns that are true or false."""
    new: tuple[str, ...]
    """Bindings of minted ids (`new_id`, `new_id_2`, ...), in counting order."""
    prefixes: tuple[str, ...]
    """The prefix of each minted id, in the same order."""
    columns: list[str] = field(default_factory=list)
    """Names of the result's columns; its first run fills it."""


@dataclass(slots=True)
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
    return f"SELECT {_is_true(holds)}"


def _is_true(holds: str) -> str:
    return f"(\n{holds}\n) IS TRUE"


def _first_broken(guards: Sequence[Guard]) -> str:
    """The query for the place of the first broken guard that the tool enforces. CASE asks in order, and no further."""
    own = [(place, guard.holds) for place, guard in enumerate(guards) if guard.enforced_by == "tool"]
    return (
        f"SELECT CASE {' '.join(f'WHEN NOT {_is_true(holds)} THEN {place}' for place, holds in own)} END" if own else ""
    )


@dataclass(frozen=True)
class _SourceTool:
    """A tool that is to be compiled, known by its text and by the tables and views that its SQL may use."""

    text: str
    schema: str
    tool: Tool = field(compare=False)
    blueprint: Blueprint = field(compare=False)


def compile_tool(tool: Tool, blueprint: Blueprint, schema: str) -> CompiledTool:
    """Make a tool ready to run, once for all worlds of the same tables. `schema` is `schema_of` the blueprint.

    Raises:
        WorldError: Its SQL holds what contract SQL may not.
    """
    return _compiled(_SourceTool(tool.model_dump_json(), schema, tool, blueprint))


@lru_cache(maxsize=KEPT_TOOLS)
def _compiled(source: _SourceTool) -> CompiledTool:
    tool, blueprint = source.tool, source.blueprint
    lineage = ColumnLineage(blueprint)
    for text, form in _texts(tool):
        for reason in refused_in(text, form, lineage, texts_of(tool)):
            raise WorldError(f"tool {tool.name!r} is refused: it {reason}, in {text!r}")
    new = minted_by(tool, blueprint)
    flags = lineage.booleans(tool.returns.select, tool)
    agents = [place for place, guard in enumerate(tool.guards) if guard.enforced_by == "agent"]
    return CompiledTool(
        tool=tool,
        guards=tuple((guard, guard_query(guard.holds)) for guard in tool.guards),
        first_broken=_first_broken(tool.guards),
        agents=tuple(agents),
        verdicts=f"SELECT {', '.join(_is_true(tool.guards[place].holds) for place in agents)}" if agents else "",
        effects=tuple(effect.sql for effect in tool.effects),
        select=tool.returns.select,
        gives_many=tool.returns.rows == "many",
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


def run(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Bindings) -> CallOutcome:
    """Run a tool. The caller undoes the changes of a defect; an outcome with an error has made none.

    Args:
        connection: The session's rows, inside a transaction.
        compiled: The tool.
        bindings: Values of all bindings: parameters, caller, person, now and new ids.

    Raises:
        DefectError: The contract is defective in this call.
    """
    try:
        outcome = _guarded(connection, compiled, bindings) if compiled.guards else CallOutcome()
        if outcome.error is None:
            if compiled.effects or compiled.tool.kind == "write":
                outcome.changed = _apply(connection, compiled, bindings)
            outcome.value = _result(connection, compiled, bindings)
    except sqlite3.Error as error:
        raise DefectError(f"SQL failed: {error}") from error
    return outcome


def _guarded(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Bindings) -> CallOutcome:
    """Evaluate the guards in order, up to the first broken one that the tool enforces."""
    try:
        return _guarded_at_once(connection, compiled, bindings)
    except sqlite3.Error:
        # What fails may be a guard behind a broken one, or the length of the statement.
        return _guarded_one_by_one(connection, compiled, bindings)


def _guarded_at_once(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Bindings) -> CallOutcome:
    """Evaluate the tool's own guards by one statement, and if all hold, the agent's by another."""
    broken = connection.execute(compiled.first_broken, bindings).fetchone()[0] if compiled.first_broken else None
    outcome = CallOutcome()
    if broken is not None:
        outcome.error = _error_of(compiled.guards[broken][0])
        before = [compiled.guards[place] for place in compiled.agents if place < broken]
        outcome.verdicts = [_verdict(guard, connection.execute(sql, bindings).fetchone()[0]) for guard, sql in before]
    elif compiled.verdicts:
        found = connection.execute(compiled.verdicts, bindings).fetchone()
        outcome.verdicts = [
            _verdict(compiled.guards[at][0], holds) for at, holds in zip(compiled.agents, found, strict=True)
        ]
    return outcome


def _guarded_one_by_one(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Bindings) -> CallOutcome:
    outcome = CallOutcome()
    for guard, query in compiled.guards:
        holds = connection.execute(query, bindings).fetchone()[0]
        if guard.enforced_by == "agent":
            outcome.verdicts.append(_verdict(guard, holds))
        elif not holds:
            outcome.error = _error_of(guard)
            break
    return outcome


# Records are frozen, and a run gives the same few verdicts and errors many thousand times.
@lru_cache(maxsize=4096)
def _verdict_of(rule: str, holds: bool) -> RuleVerdict:
    return RuleVerdict(rule=rule, holds=holds)


@lru_cache(maxsize=4096)
def _error(code: str, message: str, rule: str) -> ToolError:
    return ToolError(code=code, message=message, rule=rule)


def _verdict(guard: Guard, holds: int) -> RuleVerdict:
    return _verdict_of(guard.rule, bool(holds))


def _error_of(guard: Guard) -> ToolError:
    return _error(guard.error, guard.says, guard.rule)


def _apply(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Bindings) -> list[int]:
    changed = [changed_by(connection, effect, bindings) for effect in compiled.effects]
    if compiled.tool.kind == "write" and not any(changed):
        raise DefectError("the write changed no row")
    return changed


def changed_by(connection: sqlite3.Connection, statement: str, bindings: Bindings) -> int:
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


def _result(connection: sqlite3.Connection, compiled: CompiledTool, bindings: Bindings) -> Json:
    cursor = connection.execute(compiled.select, bindings)
    rows = cursor.fetchmany(MAX_ROWS + 1)
    if len(rows) > MAX_ROWS:
        raise DefectError(f"the result has more than {MAX_ROWS} rows")
    if not SOUND.issuperset(map(type, chain.from_iterable(rows))):
        _refuse_unsound(cursor, rows)
    names = compiled.columns
    if not names:
        names[:] = column_names(cursor)
    found = named(names, rows)
    for position in compiled.booleans:
        # Of columns with one name, rows hold the last.
        if names[position] not in names[position + 1 :]:
            make_boolean(found, names[position])
    if compiled.gives_many:
        return found
    if len(found) != 1:
        raise DefectError(f"{len(found)} rows where one was promised")
    row: Json = found[0]
    return row


def column_names(cursor: sqlite3.Cursor) -> list[str]:
    """The names of a cursor's columns."""
    return [column[0] for column in cursor.description]


def _refuse_unsound(cursor: sqlite3.Cursor, rows: Sequence[tuple[Value, ...]]) -> None:
    names = column_names(cursor)
    for row in rows:
        for name, cell in zip(names, row, strict=True):
            if isinstance(cell, bytes) or (isinstance(cell, float) and not math.isfinite(cell)):
                raise DefectError(f"column {name!r} holds {cell!r}")

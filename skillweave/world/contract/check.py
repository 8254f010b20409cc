"""All problems of a blueprint, part by part: entities, generated values, tools, invariants, events, then notes.

Notes are about a blueprint that can run: guards that never decide, and values that nothing shows, writes or reaches.
"""

from collections.abc import Iterator

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Attribute, Entity
from skillweave.world.contract.entities import ContractProblem, duplicates, entity_problems
from skillweave.world.contract.tools import NOW, StatementChecker, tool_problems
from skillweave.world.forbidden_sql import misformed
from skillweave.world.sql import parse

Column = tuple[str, str]
"""Table and column."""


def problems(blueprint: Blueprint) -> list[ContractProblem]:
    """The problems of a blueprint. It can run if and only if none of them is fatal."""
    faults = list(entity_problems(blueprint))
    if any(problem.fatal for problem in faults):
        return faults  # Statements can only be checked on tables.
    statements = StatementChecker(blueprint)
    try:
        faults.extend(_of_statements(blueprint, statements))
        if not any(problem.fatal for problem in faults):
            faults.extend(_notes(blueprint, statements))
    finally:
        statements.close()
    return faults


def _of_statements(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    yield from generated_problems(blueprint, statements)
    yield from tool_problems(blueprint, statements)
    yield from invariant_problems(blueprint, statements)
    yield from event_problems(blueprint, statements)


def invariant_problems(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    """The problems of the invariants. They use no bindings, because they hold at all times."""
    yield from duplicates("blueprint", "invariant", [invariant.id for invariant in blueprint.invariants])
    for invariant in blueprint.invariants:
        yield from statements.judge(f"invariant {invariant.id}", invariant.never, "query", frozenset())


def event_problems(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    """The problems of the events. Their effects may use `:now` and the columns of the picked row."""
    yield from duplicates("blueprint", "event", [event.name for event in blueprint.events])
    for event in blueprint.events:
        where = f"event {event.name}"
        picked = list(statements.judge(f"{where}, pick", event.pick, "query", NOW))
        yield from picked
        if picked:
            continue
        columns = statements.lineage.columns(event.pick)
        yield from duplicates(f"{where}, pick", "column", columns)
        texts = frozenset(columns) - statements.lineage.times(event.pick)
        for number, effect in enumerate(event.effects, start=1):
            allowed = NOW | frozenset(columns)
            yield from statements.judge(f"{where}, effect {number}", effect, "change", allowed, texts)


def table_problems(blueprint: Blueprint) -> Iterator[ContractProblem]:
    """The problems of a blueprint's tables and of the expressions that fill them."""
    problems_of_entities = list(entity_problems(blueprint))
    yield from problems_of_entities
    if problems_of_entities:
        return  # Expressions can only be checked on tables.
    statements = StatementChecker(blueprint)
    try:
        yield from generated_problems(blueprint, statements)
    finally:
        statements.close()


def generated_problems(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    """The problems of the expressions that compute attributes. They see their row, all tables and `:now`."""
    for entity in blueprint.tables:
        for attribute in entity.attributes:
            sql = attribute.generate and attribute.generate.sql
            if not sql:
                continue
            where = f"entity {entity.name}, attribute {attribute.name}, generate.sql"
            reason = misformed(sql, "expression")
            if reason:
                yield ContractProblem(where, f"{reason}: {sql!r}")
            else:
                yield from statements.judge(
                    where, f"SELECT ({sql}) AS {attribute.name} FROM {entity.table}", "query", NOW
                )


def _notes(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    """Notes on a blueprint without fatal problems."""
    for tool in blueprint.tools:
        yield from _implied(tool)
        yield from _unobservable(tool)
    yield from _unwritten_values(blueprint)
    yield from _unfilled_columns(blueprint, statements)


def _implied(tool: Tool) -> Iterator[ContractProblem]:
    """Guards that never fail alone, because a later guard has all their conditions on the same row, and more."""
    demands = [_asked(guard.holds) for guard in tool.guards]
    for place, guard in enumerate(tool.guards):
        for later in range(place + 1, len(tool.guards)):
            earlier_asks, later_asks = demands[place], demands[later]
            if earlier_asks and later_asks and earlier_asks[0] == later_asks[0] and earlier_asks[1] <= later_asks[1]:
                message = f"implied by the later guard {tool.guards[later].rule}: it is never the only one to fail"
                yield ContractProblem(f"tool {tool.name}, guard {guard.rule}", message, fatal=False)


def _asked(holds: str) -> tuple[str, frozenset[str]] | None:
    """Table and conditions of `EXISTS (SELECT ... FROM table WHERE ...)`; None for any other form."""
    tree = parse(holds).tree.unnest()
    select = tree.this if isinstance(tree, exp.Exists) else None
    if (
        not isinstance(select, exp.Select)
        or select.args.get("joins")
        or not isinstance(select.args.get("where"), exp.Where)
    ):
        return None
    source = select.args["from_"].this
    if not isinstance(source, exp.Table) or source.alias:
        return None
    condition = select.args["where"].this
    parts = condition.flatten() if isinstance(condition, exp.And) else [condition]
    return source.name.lower(), frozenset(part.sql("sqlite").lower() for part in parts)


def _unobservable(tool: Tool) -> Iterator[ContractProblem]:
    """Parameters of a write that no effect uses, so that the outcome does not show their value."""
    shown = {binding for effect in tool.effects for binding in parse(effect.sql).bindings}
    for parameter in tool.parameters:
        if tool.kind == "write" and parameter.observable and parameter.name not in shown:
            message = "no effect shows it: the outcome cannot tell which value was given (observable: false)"
            yield ContractProblem(f"tool {tool.name}, parameter {parameter.name}", message, fatal=False)


def _unwritten_values(blueprint: Blueprint) -> Iterator[ContractProblem]:
    """Enum values that no row can get."""
    written = _written(blueprint)
    for entity in blueprint.tables:
        for attribute in entity.attributes:
            sources = written.get((entity.table, attribute.name), [])
            if attribute.enum is None or any(source is None for source in sources):
                continue
            reached = {value for source in sources if source is not None for value in source} | _drawn(
                entity, attribute
            )
            for value in attribute.enum:
                if value not in reached:
                    where = f"entity {entity.name}, attribute {attribute.name}"
                    yield ContractProblem(where, f"nobody writes the value {value!r}", fatal=False)


def _drawn(entity: Entity, attribute: Attribute) -> set[object]:
    generate = attribute.generate
    if generate is not None and generate.values is None:
        return set(attribute.enum or [])
    literal = {row.get(attribute.name) for row in entity.rows.literal or []}
    return {attribute.initial, *(generate.values or [] if generate else []), *literal}


def _written(blueprint: Blueprint) -> dict[Column, list[set[str] | None]]:
    """Column that effects write -> for each write its possible values; None if they are unknown."""
    written: dict[Column, list[set[str] | None]] = {}
    for tool in blueprint.tools:
        enums = {parameter.name: parameter.enum for parameter in tool.parameters if parameter.enum is not None}
        for effect in tool.effects:
            _note_written(effect.sql, enums, written)
    for event in blueprint.events:
        for sql in event.effects:
            _note_written(sql, {}, written)
    return written


def _note_written(sql: str, enums: dict[str, list[str]], written: dict[Column, list[set[str] | None]]) -> None:
    statement = parse(sql)
    assigned = [(column, value) for column, value in statement.inserted if column is not None]
    if isinstance(statement.tree, exp.Update):
        assigned = [
            (part.this.name, part.expression) for part in statement.tree.expressions if isinstance(part, exp.EQ)
        ]
    for column, value in assigned:
        values = _values(value, enums)
        written.setdefault(((statement.target or "").lower(), column), []).append(values)


def _values(value: exp.Expr, enums: dict[str, list[str]]) -> set[str] | None:
    if isinstance(value, exp.Literal):
        return {str(value.this)}
    if isinstance(value, exp.Null):
        return set()
    if isinstance(value, exp.Placeholder) and str(value.this) in enums:
        return set(enums[str(value.this)])
    if isinstance(value, exp.Case):
        branches = [*(branch.args["true"] for branch in value.args["ifs"]), value.args.get("default")]
        parts = [_values(branch, enums) for branch in branches if branch is not None]
        return (
            None if any(part is None for part in parts) else {value_name for part in parts for value_name in part or ()}
        )
    return None


def _unfilled_columns(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    """Columns that a guard reads but nothing fills."""
    written = set(_written(blueprint))
    for tool in blueprint.tools:
        for guard in tool.guards:
            reads = statements.access(guard.holds, "expression").reads
            for entity in blueprint.tables:
                for name in sorted(reads.get(entity.table, set()) - {""}):
                    if (entity.table, name) not in written and not _is_filled(entity, entity.attribute(name)):
                        where = f"tool {tool.name}, guard {guard.rule}"
                        yield ContractProblem(
                            where, f"reads {entity.table}.{name}, which nobody generates or writes", fatal=False
                        )


def _is_filled(entity: Entity, attribute: Attribute) -> bool:
    has_source = attribute.generate is not None or attribute.initial is not None or attribute.references is not None
    literal = any(attribute.name in row for row in entity.rows.literal or [])
    return has_source or literal or attribute.shared or attribute.name == entity.key

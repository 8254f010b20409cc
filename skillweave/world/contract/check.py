"""All problems of a blueprint, part by part: entities, generated values, tools, invariants, events, then notes."""

from collections.abc import Iterator

from skillweave.schema.blueprint import Blueprint
from skillweave.world.contract.entities import ContractProblem, duplicates, entity_problems
from skillweave.world.contract.notes import notes
from skillweave.world.contract.statements import NOW, StatementChecker
from skillweave.world.contract.tools import tool_problems
from skillweave.world.forbidden_sql import misformed


def problems(blueprint: Blueprint) -> list[ContractProblem]:
    """What is wrong with a blueprint. It can run if and only if none of the problems is fatal."""
    faults = list(entity_problems(blueprint))
    if any(problem.fatal for problem in faults):
        return faults  # Statements can only be checked on tables.
    statements = StatementChecker(blueprint)
    try:
        faults.extend(_of_statements(blueprint, statements))
        if not any(problem.fatal for problem in faults):
            faults.extend(notes(blueprint, statements))
    finally:
        statements.close()
    return faults


def _of_statements(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    yield from generated_problems(blueprint, statements)
    yield from tool_problems(blueprint, statements)
    yield from invariant_problems(blueprint, statements)
    yield from event_problems(blueprint, statements)


def invariant_problems(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    """What is wrong with the invariants. They use no bindings, since they hold at all times."""
    yield from duplicates("blueprint", "invariant", [invariant.id for invariant in blueprint.invariants])
    for invariant in blueprint.invariants:
        yield from statements.judge(f"invariant {invariant.id}", invariant.never, "query", frozenset())


def event_problems(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    """What is wrong with the events. Their effects may use `:now` and the columns of the picked row."""
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
    """What is wrong with the tables of a blueprint and with the expressions that fill them."""
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
    """What is wrong with the expressions that compute attributes. They see their row, all tables and `:now`."""
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

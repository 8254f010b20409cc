"""The expressions that attributes are computed by: lawful, of known columns, and the same at whatever hour they run."""

from collections.abc import Iterator

from skillweave.schema.blueprint import Blueprint
from skillweave.world.contract.entities import entity_problems
from skillweave.world.contract.problem import Problem
from skillweave.world.contract.statements import NOW, Statements
from skillweave.world.refusals import misformed


def table_problems(blueprint: Blueprint) -> Iterator[Problem]:
    """What is wrong with the tables of a blueprint and with the expressions that fill them."""
    found = list(entity_problems(blueprint))
    yield from found
    if found:
        return  # Without its tables no expression can be judged.
    statements = Statements(blueprint)
    try:
        yield from generated_problems(blueprint, statements)
    finally:
        statements.close()


def generated_problems(blueprint: Blueprint, statements: Statements) -> Iterator[Problem]:
    """What is wrong with the expressions alone. They see their row and all tables, and bind `:now`."""
    for entity in blueprint.tables:
        for attribute in entity.attributes:
            sql = attribute.generate and attribute.generate.sql
            if not sql:
                continue
            where = f"entity {entity.name}, attribute {attribute.name}, generate.sql"
            reason = misformed(sql, "expression")
            if reason:
                yield Problem(where, f"{reason}: {sql!r}")
            else:
                yield from statements.judge(
                    where, f"SELECT ({sql}) AS {attribute.name} FROM {entity.table}", "query", NOW
                )

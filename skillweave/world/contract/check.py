"""All problems of a blueprint, in the order of its parts: entities, tools, invariants, events, then notes."""

from collections.abc import Iterator

from skillweave.schema.blueprint import Blueprint
from skillweave.world.contract.entities import entity_problems
from skillweave.world.contract.events import event_problems, invariant_problems
from skillweave.world.contract.generated import generated_problems
from skillweave.world.contract.notes import notes
from skillweave.world.contract.problem import Problem
from skillweave.world.contract.statements import Statements
from skillweave.world.contract.tools import tool_problems


def problems(blueprint: Blueprint) -> list[Problem]:
    """What is wrong with a blueprint; it runs iff none of it is fatal."""
    found = list(entity_problems(blueprint))
    if any(problem.fatal for problem in found):
        return found  # Without its tables no statement can be judged.
    statements = Statements(blueprint)
    try:
        found.extend(_of_statements(blueprint, statements))
        if not any(problem.fatal for problem in found):
            found.extend(notes(blueprint, statements))
    finally:
        statements.close()
    return found


def _of_statements(blueprint: Blueprint, statements: Statements) -> Iterator[Problem]:
    yield from generated_problems(blueprint, statements)
    yield from tool_problems(blueprint, statements)
    yield from invariant_problems(blueprint, statements)
    yield from event_problems(blueprint, statements)

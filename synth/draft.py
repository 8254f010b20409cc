"""A draft: a blueprint as far as it has got, so that each part can be checked as soon as it is there."""

from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Invariant
from skillweave.schema.domain import Domain
from skillweave.schema.entity import Entity
from skillweave.world.contract import Problem, problems
from skillweave.world.contract.generated import table_problems

NOTHING = Invariant(id="placeholder", never="SELECT 1 WHERE 0")


def draft_of(
    domain: Domain, entities: Sequence[Entity], relationships: Sequence[Entity] = (), title: str = ""
) -> Blueprint:
    """The blueprint of a domain without its tools and rules; its first entity is the person whom it serves."""
    return Blueprint(
        server=domain.name,
        domain=domain.topic,
        title=title,
        core_entity=entities[0].name,
        entities=list(entities),
        relationships=list(relationships),
        tools=[],
        invariants=[NOTHING],
    )


def table_faults(draft: Blueprint) -> list[str]:
    """What is wrong with the tables of a draft, in words for their author."""
    return [told(problem) for problem in table_problems(draft)]


def of_tables(faults: Sequence[str], tables: Sequence[Entity]) -> list[list[str]]:
    """Faults by the table that they begin with, maybe behind the word `entity`; others are the first table's."""
    found: dict[str, list[str]] = {entity.name: [] for entity in tables}
    for fault in faults:
        named = fault.removeprefix("entity ")
        length = next((n for n, mark in enumerate(named) if not (mark.isalnum() or mark == "_")), len(named))
        found[named[:length] if named[:length] in found else tables[0].name].append(fault)
    return list(found.values())


def fatal_faults(draft: Blueprint) -> list[str]:
    """Why a draft cannot be run, in words for its author."""
    return [told(problem) for problem in problems(draft) if problem.fatal]


def told(problem: Problem) -> str:
    """A problem with its place."""
    return f"{problem.where}: {problem.message}"

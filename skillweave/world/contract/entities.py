"""Problems of entities: keys, references, enums, and names that would clash in SQL, where case does not count."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.entity import Attribute, Entity, Generate

MAX_NUMBER = 1e12
"""The largest number that a generator may draw."""
MAX_DAYS = 36500
"""The largest offset from the world's clock, in days."""
_UNITS_A_DAY = {"days": 1, "hours": 24, "minutes": 1440}
TIME = re.compile("([01]?[0-9]|2[0-3]):[0-5][0-9]")
"""A time of day, `HH:MM`."""


@dataclass(frozen=True)
class ContractProblem:
    """A fault or an oddity of a blueprint."""

    where: str
    """The place: `tool cancel_appointment, guard cancel_deadline`."""
    message: str
    """The fault, in words for the blueprint's author."""
    fatal: bool = True
    """False for a note: the blueprint can run nevertheless."""


def entity_problems(blueprint: Blueprint) -> Iterator[ContractProblem]:
    """The problems of a blueprint's tables."""
    yield from duplicates("blueprint", "entity", [entity.name for entity in blueprint.tables])
    yield from duplicates("blueprint", "table", [entity.table for entity in blueprint.tables])
    yield from duplicates("blueprint", "prefix", [entity.prefix for entity in blueprint.tables if entity.prefix])
    yield from _core(blueprint)
    for entity in blueprint.tables:
        if entity.table.startswith("sqlite_"):
            yield ContractProblem(f"entity {entity.name}", "names of tables that begin with sqlite_ are SQLite's own")
        yield from duplicates(f"entity {entity.name}", "attribute", [column.name for column in entity.attributes])
        yield from _key(entity)
        yield from _rows(blueprint, entity)
        for attribute in entity.attributes:
            yield from _attribute(blueprint, entity, attribute)


def duplicates(where: str, noun: str, names: Iterable[str]) -> Iterator[ContractProblem]:
    """A problem for each name that occurs more than once; case does not count.

    Args:
        where: The part of the blueprint.
        noun: The kind of thing named: `attribute`.
        names: All names.
    """
    for name, count in sorted(Counter(name.lower() for name in names).items()):
        if count > 1:
            yield ContractProblem(
                where, f"{noun} {name!r} occurs {count} times; names must differ, apart from their case too"
            )


def _core(blueprint: Blueprint) -> Iterator[ContractProblem]:
    names = [entity.name for entity in blueprint.entities]
    if blueprint.core_entity not in names:
        yield ContractProblem("blueprint", f"core_entity {blueprint.core_entity!r} is none of {', '.join(names)}")
    elif not blueprint.core.person:
        yield ContractProblem("blueprint", f"core_entity {blueprint.core_entity!r} must be a person")


def _key(entity: Entity) -> Iterator[ContractProblem]:
    key = entity.attributes[0]
    where = f"entity {entity.name}, attribute {key.name}"
    if key.type != "string":
        yield ContractProblem(where, f"the first attribute is the key and must be a string, not {key.type}")
    if key.nullable or key.enum is not None or key.references is not None:
        yield ContractProblem(where, "the first attribute is the key: it takes no nullable, enum or references")


def _attribute(blueprint: Blueprint, entity: Entity, attribute: Attribute) -> Iterator[ContractProblem]:
    where = f"entity {entity.name}, attribute {attribute.name}"
    if attribute.enum is not None:
        if attribute.type != "string":
            yield ContractProblem(where, f"enum needs type string, not {attribute.type}")
        if not attribute.enum or len(set(attribute.enum)) < len(attribute.enum):
            yield ContractProblem(where, f"enum {attribute.enum!r} must hold values, each once")
        if attribute.initial is not None and attribute.initial not in attribute.enum:
            yield ContractProblem(where, f"initial {attribute.initial!r} is none of {', '.join(attribute.enum)}")
    if attribute.unit == "cents" and attribute.type != "integer":
        yield ContractProblem(where, f"money is integer cents, not {attribute.type}")
    if attribute.references is not None:
        yield from _reference(blueprint, where, attribute)
    if attribute.generate is not None:
        yield from _generate(where, attribute, attribute.generate)


def _generate(where: str, attribute: Attribute, generate: Generate) -> Iterator[ContractProblem]:
    if generate.empty and not attribute.nullable:
        yield ContractProblem(where, "generate.empty leaves values out, so the attribute must be nullable")
    if generate.values == [] or (generate.weights and (min(generate.weights) < 0 or not any(generate.weights))):
        yield ContractProblem(where, "generate.values must hold values, and some of them a weight above 0, none below")
    if generate.low is not None and generate.high is not None:
        if not -MAX_NUMBER <= generate.low <= generate.high <= MAX_NUMBER or generate.step <= 0:
            yield ContractProblem(
                where, f"generate needs {-MAX_NUMBER:g} <= low <= high <= {MAX_NUMBER:g}, and a step above 0"
            )
        if (
            attribute.type in ("date", "datetime")
            and max(-generate.low, generate.high) > MAX_DAYS * _UNITS_A_DAY[generate.unit]
        ):
            yield ContractProblem(where, f"generate.low and high are offsets from now, of at most {MAX_DAYS} days")
    if generate.apart and attribute.type != "datetime":
        yield ContractProblem(where, f"generate.apart is for datetimes, not for {attribute.type}")
    for time in generate.times or []:
        if not TIME.fullmatch(time):
            yield ContractProblem(where, f"generate.times are of the form HH:MM, not {time!r}")


def _reference(blueprint: Blueprint, where: str, attribute: Attribute) -> Iterator[ContractProblem]:
    yield from missing_key(blueprint, where, "references", str(attribute.references))
    if attribute.type != "string":
        yield ContractProblem(where, f"a reference is a string, as keys are, not {attribute.type}")


def missing_key(blueprint: Blueprint, where: str, field: str, reference: str) -> Iterator[ContractProblem]:
    """A problem if a reference does not name a key.

    Args:
        blueprint: The blueprint.
        where: The part with the reference.
        field: The field with the reference: `refers_to`.
        reference: `Entity.attribute`.
    """
    entity_name, _, attribute_name = reference.partition(".")
    keys = {entity.name: entity.key for entity in blueprint.tables}
    if keys.get(entity_name) != attribute_name:
        known = ", ".join(f"{name}.{key}" for name, key in keys.items())
        yield ContractProblem(where, f"{field} {reference!r} names no key; keys are {known}")


def _rows(blueprint: Blueprint, entity: Entity) -> Iterator[ContractProblem]:
    where = f"entity {entity.name}, rows"
    known = {attribute.name for attribute in entity.attributes}
    for row in entity.rows.literal or []:
        for name in sorted(set(row) - known):
            yield ContractProblem(
                where, f"literal row has the unknown attribute {name!r}; there are {', '.join(sorted(known))}"
            )
    parent = entity.rows.per
    if parent == entity.name:
        yield ContractProblem(where, f"per {parent!r} names the entity itself; its rows are drawn for those of another")
    if entity.rows.low > entity.rows.high:
        yield ContractProblem(where, f"low {entity.rows.low} is more than high {entity.rows.high}")
    if parent is not None and not any(
        (column.references or "").startswith(f"{parent}.") for column in entity.attributes
    ):
        yield ContractProblem(where, f"per {parent!r} needs an attribute that references it")

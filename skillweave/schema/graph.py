"""The entity graph: which entities of a domain are related, how, and through which relationship."""

from typing import Literal

from skillweave.schema.bounds import Label
from skillweave.schema.names import Name
from skillweave.schema.record import Record

Cardinality = Literal["one_to_one", "one_to_many", "many_to_one", "many_to_many"]


class Relation(Record):
    """An edge. `source` and `target` are entities or relationships of the same domain."""

    source: Name
    target: Name
    cardinality: Cardinality
    through: Name | None = None
    """The relationship (a table of its own, such as `Appointment`) that carries it; None: a plain reference."""
    label: Label = ""
    """The edge in words: `books`."""


class EntityGraph(Record):
    """The relations of one domain."""

    domain: Name
    core_entity: Name
    """The person that the domain serves, from whom everything is reached."""
    relations: list[Relation]

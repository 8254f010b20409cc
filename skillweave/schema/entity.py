"""Domains, their entities with typed attributes,
how first values are drawn, and the graph of how entities are related.
"""

from typing import Literal

from pydantic import Field, model_validator

from skillweave.schema.record import (
    Description,
    Label,
    Name,
    Record,
    Scalar,
    ScalarRow,
    Scalars,
    Sentence,
    Sql,
    table_of,
)

AttributeType = Literal["string", "integer", "number", "boolean", "date", "datetime"]
ColumnComparison = Literal["exact", "normalised", "free"]


class Generate(Record):
    """How the values of an attribute are drawn. Exactly one of `values`, `low`, `sql`, `fake`, `pattern` is set."""

    values: Scalars | None = None
    """Draw one of these."""
    weights: list[float] | None = Field(default=None, max_length=64)
    """Relative weights of `values`."""
    low: float | None = None
    """Smallest number; for date and datetime an offset from the world's `now`, in `unit`."""
    high: float | None = None
    """Largest number, or latest offset."""
    step: float = 1
    """Numbers are `low + k * step`; offsets too."""
    unit: Literal["days", "hours", "minutes"] = "days"
    """Of `low`, `high` and `step` for date and datetime."""
    times: list[Label] | None = Field(default=None, max_length=64)
    """For datetime: times of day to draw from, `HH:MM`; without it the drawn offset counts from `now` itself."""
    sql: Sql | None = None
    """An SQL expression over the row's own columns and other tables; computed after all drawn columns."""
    fake: Label | None = None
    """A kind of invented text: name, first_name, email, phone, street, city, postcode, company, sentence, word."""
    pattern: Label | None = None
    """`#` is a digit, `?` a capital letter, the rest is literal: `AB-####`."""
    empty: float = Field(default=0.0, ge=0, le=1)
    """The share of rows in which the value is NULL (the attribute must be nullable)."""

    @model_validator(mode="after")
    def _one_way(self) -> "Generate":
        ways = [self.values, self.low, self.sql, self.fake, self.pattern]
        if sum(way is not None for way in ways) != 1:
            raise ValueError("exactly one of values, low/high, sql, fake, pattern must be given")
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high go together")
        if self.weights is not None and (self.values is None or len(self.weights) != len(self.values)):
            raise ValueError("weights need as many values")
        return self


class Attribute(Record):
    name: Name
    """The column's name in SQL."""
    type: AttributeType
    """Dates and times are text in SQL, booleans 0 and 1."""
    description: Description = ""
    """In words, where the name does not say it."""
    enum: list[Label] | None = Field(default=None, max_length=64)
    """The only values allowed (type string)."""
    unit: Literal["cents"] | None = None
    """`cents` marks money, an integer."""
    references: Label | None = None
    """`Entity.attribute`: a foreign key."""
    nullable: bool = False
    """May be NULL."""
    unique: bool = False
    """No two rows have the same value."""
    shared: bool = False
    """Belongs to the shared person, not to the role that this domain gives it."""
    initial: Scalar = None
    """The value of a freshly made row, for a status that tools then change."""
    generate: Generate | None = None
    """How values are drawn; None: a tool, a reference or `initial` gives them."""
    compare: ColumnComparison = "exact"
    """How scores compare it: `exact`, `normalised` (case, space, punctuation) or `free` (not compared)."""


class InitialRows(Record):
    """How many rows an entity starts with. Nothing set: none, tools or history make them all."""

    count: int | None = Field(default=None, ge=0, le=5000)
    """This many rows in all; for the core person, the size of its population."""
    per: Name | None = None
    """For each row of this entity (the attribute that references it is filled in) ..."""
    low: int = Field(default=1, ge=0, le=1000)
    """With `per`: at least this many ..."""
    high: int = Field(default=1, ge=0, le=1000)
    """... between `low` and `high` rows."""
    literal: list[ScalarRow] | None = Field(default=None, max_length=200)
    """These rows (for each row of `per`, where that is set); attributes left out are drawn."""


class Entity(Record):
    """A kind of record. Its first attribute is its key: a string id, minted as `PREFIX-0001`."""

    name: Name
    """PascalCase; the table is the same in snake case."""
    description: Description = ""
    """In words."""
    person: bool = False
    """Some one, not some thing."""
    role_of: Name | None = None
    """For the core person of a domain: the shared person that it is a role of (`Patient`)."""
    prefix: Label = ""
    """Of its ids; unique in the whole run, allocated by s05."""
    attributes: list[Attribute] = Field(min_length=1, max_length=64)
    """The key first."""
    rows: InitialRows = InitialRows()
    """How many there are at the start."""

    @property
    def table(self) -> str:
        """The name of its table in SQL."""
        return table_of(self.name)

    @property
    def key(self) -> str:
        """The name of its key attribute."""
        return self.attributes[0].name

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name; KeyError if there is none."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)


class Domain(Record):
    name: Name
    """Unique in a run, PascalCase; the server that it grows into has the same name: `DentalClinic`."""
    topic: Label
    """The service area in a few words: `dental clinic appointments`."""
    summary: Sentence
    """One or two sentences: who is served, with what."""
    person: Name
    """The kind of person it serves, a shared entity: `Patient`."""
    seed: Label
    """The seed domain that it was expanded from."""
    keywords: list[Label] = Field(default_factory=list, max_length=64)
    """Terms that belong to the area, for near-duplicate detection and wording."""


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

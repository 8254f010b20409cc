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
Weekday = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


class Generate(Record):
    """How the values of an attribute are drawn: by one of `values`, `low`, `fake` and `pattern`, or by `sql` alone."""

    values: Scalars | None = None
    """Draw one of these values."""
    weights: list[float] | None = Field(default=None, max_length=64)
    """Relative weights of `values`."""
    low: float | None = None
    """Smallest number; for date and datetime an offset from the world's clock, in `unit`."""
    high: float | None = None
    """Largest number, or latest offset."""
    step: float = 1
    """Numbers are `low + k * step`; offsets too."""
    unit: Literal["days", "hours", "minutes"] = "days"
    """Unit of `low`, `high` and `step` for date and datetime."""
    times: list[Label] | None = Field(default=None, max_length=64)
    """For datetime: times of day to draw from, `HH:MM`. Without it the offset is from the clock's own time of day."""
    closed: list[Weekday] = Field(default_factory=list, max_length=6)
    """For date and datetime: days of the week on which no value falls."""
    apart: bool = False
    """For datetime: no two rows that are drawn for one row have it in the same half of a day, so they never overlap."""
    sql: Sql | None = None
    """An SQL expression over the row's own columns and other tables; computed after all drawn columns. If the value is
    drawn as well, it is what becomes of the value drawn."""
    fake: Label | None = None
    """A kind of invented text: name, first_name, email, phone, street, city, postcode, company, sentence, word."""
    pattern: Label | None = None
    """`#` is a digit, `?` a capital letter, the rest is literal: `AB-####`."""
    empty: float = Field(default=0.0, ge=0, le=1)
    """Share of rows in which the value is NULL; the attribute must be nullable."""

    @property
    def is_drawn(self) -> bool:
        """Whether values are drawn, and not only computed."""
        return self.values is not None or self.low is not None or self.fake is not None or self.pattern is not None

    @model_validator(mode="after")
    def _one_way(self) -> "Generate":
        ways = [self.values, self.low, self.fake, self.pattern]
        if sum(way is not None for way in ways) != 1 and (self.sql is None or any(way is not None for way in ways)):
            raise ValueError("exactly one of values, low/high, fake, pattern must be given, or sql")
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high go together")
        if self.weights is not None and (self.values is None or len(self.weights) != len(self.values)):
            raise ValueError("weights need as many values")
        return self


class Attribute(Record):
    """An attribute of an entity: a column of its table."""

    name: Name
    """The column's name in SQL."""
    type: AttributeType
    """SQL stores dates and times as text, booleans as 0 and 1."""
    description: Description = ""
    """Explanation in words, if the name does not say it."""
    enum: list[Label] | None = Field(default=None, max_length=64)
    """The only values allowed (type string)."""
    unit: Literal["cents"] | None = None
    """`cents` marks money, an integer."""
    references: Label | None = None
    """`Entity.attribute`: a foreign key."""
    nullable: bool = False
    """Whether it may be NULL."""
    unique: bool = False
    """Whether no two rows may have the same value."""
    shared: bool = False
    """Whether it belongs to the shared person, and not to that person's role in this domain."""
    initial: Scalar = None
    """The value in a new row, for a status that tools change later."""
    generate: Generate | None = None
    """How values are drawn; None: a tool, a reference or `initial` gives them."""
    compare: ColumnComparison = "exact"
    """How scores compare it: `exact`, `normalised` (case, space, punctuation) or `free` (not compared)."""


class InitialRows(Record):
    """How many rows an entity starts with. If nothing is set: none, and tools or history make them all."""

    count: int | None = Field(default=None, ge=0, le=5000)
    """Number of rows in all; for the core person, the size of the population."""
    per: Name | None = None
    """The rows are drawn for each row of this entity; the attribute that references it is filled in."""
    low: int = Field(default=1, ge=0, le=1000)
    """With `per`: at least this many rows each."""
    high: int = Field(default=1, ge=0, le=1000)
    """With `per`: at most this many rows each."""
    literal: list[ScalarRow] | None = Field(default=None, max_length=200)
    """These rows (for each row of `per`, if that is set); attributes that are left out are drawn."""


class Entity(Record):
    """A kind of record. Its first attribute is its key: a string id, minted as `PREFIX-0001`."""

    name: Name
    """In PascalCase; the table has the same name in snake case."""
    description: Description = ""
    """In words."""
    person: bool = False
    """Whether its rows are persons."""
    role_of: Name | None = None
    """For the core person of a domain: the shared person whose role it is (`Patient`)."""
    prefix: Label = ""
    """Prefix of its ids, unique in the whole run; s05 allocates it."""
    attributes: list[Attribute] = Field(min_length=1, max_length=64)
    """The key comes first."""
    rows: InitialRows = InitialRows()
    """How many rows there are at the start."""

    @property
    def table(self) -> str:
        """The name of its table in SQL."""
        return table_of(self.name)

    @property
    def key(self) -> str:
        """The name of its key attribute."""
        return self.attributes[0].name

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name. Raises KeyError if there is none."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)


class Domain(Record):
    """A service area that one world is made for."""

    name: Name
    """Unique in a run, in PascalCase; its server has the same name: `DentalClinic`."""
    topic: Label
    """The service area in a few words: `dental clinic appointments`."""
    summary: Sentence
    """One or two sentences: who is served, and with what."""
    person: Name
    """The kind of person it serves, a shared entity: `Patient`."""
    seed: Label
    """The seed domain that it was derived from."""
    keywords: list[Label] = Field(default_factory=list, max_length=64)
    """Terms that belong to the area, to find near-duplicates and for wording."""


Cardinality = Literal["one_to_one", "one_to_many", "many_to_one", "many_to_many"]


class Relation(Record):
    """An edge. `source` and `target` are entities or relationships of the same domain."""

    source: Name
    """Where the edge begins."""
    target: Name
    """Where the edge ends."""
    cardinality: Cardinality
    """How many records of the target go with how many of the source."""
    through: Name | None = None
    """The relationship that carries it, a table of its own such as `Appointment`; None: a plain reference."""
    label: Label = ""
    """The edge in words: `books`."""


class EntityGraph(Record):
    """The relations of one domain."""

    domain: Name
    """The domain's name."""
    core_entity: Name
    """The person that the domain serves; every entity is reached from it."""
    relations: list[Relation]
    """The edges."""

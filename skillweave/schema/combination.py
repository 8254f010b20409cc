"""A combination: a template with a caller, rows and values chosen; and what validation adds to it."""

from typing import Literal

from pydantic import Field

from skillweave.schema.change import RowChange
from skillweave.schema.names import FusedName
from skillweave.schema.record import Json, Record
from skillweave.schema.task import Criteria, FactToTell, Gates, GoldenCall, Login


class SaidRow(Record):
    """A row that the user refers to in words."""

    call: int
    """The golden call whose argument it is; for a value to be told, the read that returns it."""
    parameter: str | None
    """None: the row that a value is told about."""
    entity: FusedName | None
    key: str | None
    read: str
    """The tool whose result shows the row."""
    columns: dict[str, Json]
    """Columns of that result, with the values that the user knows."""


class SaidValue(Record):
    """A value that the user gives as it is."""

    call: int
    parameter: str
    value: Json
    """None: the user wants nothing said about it."""


class Combination(Record):
    id: str
    """`DentalClinic/move_appointment/007`."""
    template: str
    server: FusedName
    kind: Literal["do", "inform"]
    login: Login
    caller: str
    now: str
    patch: list[RowChange] = Field(default_factory=list)
    golden: list[GoldenCall]
    steps: list[int]
    """Which golden calls are the template's own, in its order; the others look something up or sign in."""
    rows: list[SaidRow]
    values: list[SaidValue]
    credentials: dict[str, Json] = Field(default_factory=dict)
    """What the user gives to sign in; empty for `login: session`."""
    communicate: list[FactToTell] = Field(default_factory=list)
    open_columns: dict[str, list[str]] = Field(default_factory=dict)
    """Table -> columns that an optional argument fills of which the user has no preference: not compared."""


class ValidatedTask(Record):
    """A combination that has passed its gates."""

    combination: Combination
    criteria: Criteria
    gates: Gates

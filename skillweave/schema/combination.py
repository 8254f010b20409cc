"""A combination: a template with a caller, rows and values chosen; and what validation adds to it."""

from pydantic import Field

from skillweave.schema.change import RowChange
from skillweave.schema.names import FusedName
from skillweave.schema.record import Json, Record
from skillweave.schema.task import Criteria, FactToTell, Gates, GoldenCall, Kind, Login
from skillweave.schema.template import Withheld


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
    kind: Kind
    login: Login
    caller: str
    now: str
    patch: list[RowChange] = Field(default_factory=list)
    golden: list[GoldenCall]
    asked: GoldenCall | None = None
    """The call that the request comes to and that is not made, in the place behind the golden calls: rows and values
    are said of it as of them. None where all that is asked for is done."""
    forbidden: list[str] = Field(default_factory=list)
    """The rules that `asked` would break, the first to fail before the others."""
    hidden: list[str] = Field(default_factory=list)
    """Tools that are not offered."""
    withheld: list[Withheld] = Field(default_factory=list)
    """What is said only when asked for; `call` is the place among the golden calls, counted from 0."""
    steps: list[int]
    """Which golden calls are the template's own, in its order; the others look something up or sign in."""
    rows: list[SaidRow]
    values: list[SaidValue]
    credentials: dict[str, Json] = Field(default_factory=dict)
    """What the user gives to sign in; empty for `login: session`."""
    communicate: list[FactToTell] = Field(default_factory=list)
    open_columns: dict[str, list[str]] = Field(default_factory=dict)
    """Table -> columns that an optional argument fills of which the user has no preference: not compared."""

    @property
    def calls(self) -> list[GoldenCall]:
        """The golden calls, and behind them the one that is asked for and not made."""
        return [*self.golden, *([self.asked] if self.asked else [])]


class ValidatedTask(Record):
    """A combination that has passed its gates."""

    combination: Combination
    criteria: Criteria
    gates: Gates

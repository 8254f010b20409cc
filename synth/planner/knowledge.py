"""Knowledge: what the user says and what calls have shown, as values for arguments.

Keys come from results alone; nobody says one. Of other values those come first that the user says under the very name,
then what else the user says, what calls on the way have returned, and rows that the user speaks of.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from skillweave.schema.call import CallResult
from skillweave.schema.contract import Parameter
from skillweave.schema.record import Json, Value
from synth.gates.known import Known
from synth.gates.views import rows_of
from synth.planner.problem import Problem
from synth.planner.slots import Slot
from synth.tasks.words import kind_of

MOST_KEYS = 400
"""Keys of one entity that an argument ranges over."""
MOST_VALUES = 300
"""Values that an argument which is no key ranges over."""


class Reading:
    """What one call returned."""

    def __init__(self, problem: Problem, result: CallResult) -> None:
        self.tool = result.call.tool
        self.arguments = result.call.arguments
        self.rows = rows_of(result)
        is_one = not isinstance(result.value, list)
        self.meant = [row for row in self.rows if is_one or problem.is_meant(row)]
        """Rows that the user speaks of, and the one row of a result that has only one."""

    @cached_property
    def near(self) -> list[Known]:
        """The cells of the rows that are meant."""
        return [Known(name, value) for row in self.meant for name, value in row.items() if value is not None]

    @cached_property
    def cells(self) -> list[Known]:
        """All cells."""
        return [Known(name, value) for row in self.rows for name, value in row.items() if value is not None]

    def shows(self, value: Json, *, meant: bool = False) -> bool:
        """Whether a row, of those meant or of all, holds the value, or the moment on a day that is asked for."""
        return any(_gives(known.value, value) for known in (self.near if meant else self.cells))


def _gives(shown: Json, value: Json) -> bool:
    if isinstance(shown, bool) or isinstance(value, bool):
        return shown is value
    if shown == value:
        return True
    return isinstance(shown, str) and isinstance(value, str) and kind_of(value) == "date" and shown[:11] == f"{value} "


@dataclass(frozen=True)
class Knowledge:
    """All that is known at a moment."""

    problem: Problem
    readings: Sequence[Reading]
    """What reads show, or have shown."""
    results: Sequence[Reading] = ()
    """What the writes on the way returned."""

    @cached_property
    def keys(self) -> dict[str, dict[str, None]]:
        """Entity -> keys that calls have shown, those of rows that are meant first."""
        found: dict[str, dict[str, None]] = {}
        for known in [*self._near, *(known for reading in self.readings for known in reading.cells)]:
            entity = self._entity_of(known.value)
            if entity is not None:
                found.setdefault(entity, {})[str(known.value)] = None
        return found

    @cached_property
    def meant(self) -> dict[str, dict[str, None]]:
        """The same of rows that are meant, and of what writes returned."""
        found: dict[str, dict[str, None]] = {}
        for known in self._near:
            entity = self._entity_of(known.value)
            if entity is not None:
                found.setdefault(entity, {})[str(known.value)] = None
        return found

    def values(self, slot: Slot) -> list[Value]:
        """What a parameter ranges over; NULL first where it may be left out."""
        parameter = slot.parameter
        found: Iterable[Value]
        if parameter.refers_to:
            found = list(self.keys.get(parameter.refers_to.partition(".")[0], {}))[:MOST_KEYS]
        elif parameter.enum:
            found = parameter.enum
        elif parameter.type == "boolean":
            found = (True, False)
        else:
            found = self._plain(slot)[:MOST_VALUES]
        return list(dict.fromkeys([*(() if parameter.required else (None,)), *found]))

    def _plain(self, slot: Slot) -> list[Value]:
        parameter = slot.parameter
        said = self.problem.said
        named = [known for known in said if known.name == parameter.name]
        shown = [known for known in self._near if _may_give(known, parameter)]
        values = [_as(known.value, parameter) for known in (*named, *said, *shown)]
        if parameter.type in ("integer", "number"):
            values += [int(number) if number == int(number) else number for number in slot.literals]
        return list({(type(value), value): value for value in values if value is not None}.values())

    @cached_property
    def _near(self) -> list[Known]:
        """What is at hand: what writes returned, then rows that are meant."""
        cells = [known for result in self.results for known in result.cells]
        return [*cells, *(known for reading in self.readings for known in reading.near)]

    def _entity_of(self, value: Json) -> str | None:
        if not isinstance(value, str):
            return None
        return self.problem.prefixes.get(value.rpartition("-")[0])


def _may_give(known: Known, parameter: Parameter) -> bool:
    """Whether a value that a call returned may be meant by a parameter: money is money, other numbers have names."""
    match parameter.type:
        case "integer" | "number":
            both = known.name.endswith("_cents") and parameter.name.endswith("_cents")
            return both or known.name == parameter.name
        case "string" | "date" | "datetime":
            return isinstance(known.value, str)
        case _:
            return False


def _as(value: Json, parameter: Parameter) -> Value:
    """The value as an argument; None where its type does not fit."""
    kind = kind_of(value)
    if isinstance(value, (list, dict)) or value is None:
        return None
    match parameter.type:
        case "date":
            return str(value)[:10] if kind in ("date", "datetime") else None
        case "datetime" | "integer":
            return value if kind == parameter.type else None
        case "number":
            return value if kind in ("integer", "number") else None
        case "string":
            return value if isinstance(value, str) else None
        case _:
            return None

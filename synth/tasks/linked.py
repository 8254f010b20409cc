"""Links: arguments that nobody chooses, because an earlier call or a row that the user refers to gives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from skillweave.schema.record import Json, Value
from skillweave.schema.template import TemplateCall
from synth.fusion.links import Place, place_of
from synth.tasks.instance import Instance, NoInstance
from synth.tasks.lookup import Lookup


class Shown(NamedTuple):
    """A row that an argument names, as a call has shown it."""

    row: Mapping[str, Json]
    place: str
    """Where its columns stand: `call 3 [2].`."""
    lookup: Lookup | None
    """How it was found; None: it is a result of its own."""


class Linked(NamedTuple):
    """A linked argument."""

    value: Value
    column: str
    is_day: bool
    of: Shown | None
    """The row that has the column; None: a row that the same call names, and that is still to be looked up ..."""
    own: str = ""
    """... namely by this argument."""

    def source(self, places: Mapping[str, str]) -> str:
        """Its grounding, given where the rows stand that the call itself names."""
        where = f"{self.of.place if self.of else places[self.own]}{self.column}"
        return f"computed date({where})" if self.is_day else where


@dataclass
class Links:
    """Follows the links of a template's calls in what has been made of it so far."""

    made: Instance
    shown: dict[tuple[int, str], Shown] = field(default_factory=dict)
    """Call, counted from 1, and parameter -> the row that the argument names."""

    def of(self, call: TemplateCall, number: int, named: Mapping[str, Lookup]) -> dict[str, Linked]:
        """The linked arguments of a call; NoInstance where a link leads nowhere."""
        return {parameter: self._follow(link, number, named) for parameter, link in call.same.items()}

    def remember(self, number: int, found: Mapping[str, Shown], linked: Mapping[str, Linked]) -> None:
        """Keep which rows a call's arguments name."""
        for parameter, row in found.items():
            self.shown[number, parameter] = row
        for parameter, link in linked.items():
            of = link.of or found[link.own]
            if of.lookup is None or of.lookup.column == link.column:
                self.shown[number, parameter] = of

    def _follow(self, link: str, number: int, named: Mapping[str, Lookup]) -> Linked:
        place = place_of(link)
        if place is None or not 1 <= place.call <= number or (place.call == number and place.row is None):
            raise NoInstance(f"{link!r} is no link")
        if place.call == number:
            found = named.get(place.row or "")
            value = found.row.get(place.column) if found else None
            return Linked(self._value(value, place, link), place.column, place.is_day, None, place.row or "")
        of = self._row(place, link)
        return Linked(self._value(of.row.get(place.column), place, link), self._column(place, of), place.is_day, of)

    def _row(self, place: Place, link: str) -> Shown:
        """The row of an earlier call that has the column."""
        if place.row is not None:
            found = self.shown.get((place.call, place.row))
            if found is None:
                raise NoInstance(f"{link!r}: no call has shown that row")
            return found
        step = self.made.steps[place.call - 1]
        result = self.made.results[step].value
        if isinstance(result, dict) and place.column in result:
            return Shown(result, f"call {step} ", None)
        argument = self.shown.get((place.call, place.column))
        if argument is None or argument.lookup is None:
            raise NoInstance(f"call {place.call} gives no {place.column}")
        return argument._replace(row={**argument.row, place.column: argument.lookup.key})

    def _column(self, place: Place, of: Shown) -> str:
        """The column in the row; an argument that an earlier call was given stands there under the key's name."""
        given = place.row is None and of.lookup is not None
        return of.lookup.column if given and of.lookup is not None else place.column

    def _value(self, value: Json, place: Place, link: str) -> Value:
        if value is None or isinstance(value, (list, dict)):
            raise NoInstance(f"{link!r} holds no value")
        return str(value)[:10] if place.is_day else value

"""Candidates: instances of a template for the persons of a world, on the data as they are or on created rows.

Few persons of a fused world have all that a story needs. Rows that a person lacks are created for them by lawful calls,
in a patch of the task's own.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from itertools import count as numbers
from typing import NamedTuple

from skillweave.schema.combination import Combination
from skillweave.schema.contract import RowChange
from skillweave.schema.task import Login
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.tasks.combinations import FixtureBuilder, callers_of, combination_for
from synth.tasks.kinds import NoInstance
from synth.tasks.splits import SPARE_FACTOR

MOST_CREATED = 6
"""Persons for whom rows are created, where one candidate will do; half as many again where several are lacking."""
MOST_FRUITLESS = 3
"""A template gets no more created rows after so many persons in a row for whom nothing came of them."""


class _Stuck(NamedTuple):
    """A caller without an instance on the data as they are."""

    call: int
    """The template's call, counted from 0, that cannot be made."""
    caller: str
    login: Login


@dataclass
class CandidateFinder:
    """Finds candidates for instances of one template, lazily: who has enough of them asks for no more."""

    world: World
    template: TaskTemplate
    count: int
    """Instances that are wanted."""
    seed: str
    _on_data: dict[str, Combination | NoInstance] = field(default_factory=dict)

    def able_callers(self) -> frozenset[str]:
        """Callers who have an instance on the data as they are, up to more of them than are wanted."""
        callers: list[str] = []
        for caller, login in callers_of(self.template, self.world.callers, self.seed):
            if len(callers) < SPARE_FACTOR * self.count and isinstance(self._found(caller, login), Combination):
                callers.append(caller)
        return frozenset(callers)

    def candidates(self) -> Iterator[Combination | NoInstance]:
        """Candidates of everybody on the data as they are, and a reason for each caller who has none; then on created
        rows."""
        stuck: list[_Stuck] = []
        created = chain.from_iterable(self._created_of(stuck, MOST_CREATED))
        yield from self._numbered(chain(self._on_data_of(self.world.callers, stuck), created))

    def enough(self, callers: Collection[str]) -> Iterator[Combination | NoInstance]:
        """Candidates of some callers, on created rows only as far as the data have too few instances.

        Rows are created for twice as many persons as are lacking, since gates reject some. A template is given up
        after `MOST_FRUITLESS` persons in a row for whom nothing came of it.
        """
        stuck: list[_Stuck] = []
        found = [*self._on_data_of(callers, stuck)]
        lacking = 2 * (self.count - sum(isinstance(one, Combination) for one in found))
        fruitless = 0
        # Rows that are created are for plain requests: those in forms find theirs in what is there.
        is_plain = not self.template.forms or self.template.forms == ["pressure"]
        for created in self._created_of(stuck, 3 * MOST_CREATED // 2) if lacking > 0 and is_plain else ():
            of_person = [*created]
            found += of_person
            lacking -= bool(of_person)
            fruitless = 0 if of_person else fruitless + 1
            if lacking <= 0 or fruitless == MOST_FRUITLESS:
                break
        return self._numbered(found)

    def _numbered(self, found: Iterable[Combination | NoInstance]) -> Iterator[Combination | NoInstance]:
        number = numbers()
        for one in found:
            if isinstance(one, Combination):
                yield one.model_copy(update={"id": f"{self.template.id}/{next(number):03d}"})
            else:
                yield one

    def _on_data_of(self, callers: Collection[str], stuck: list[_Stuck]) -> Iterator[Combination | NoInstance]:
        """Of each caller a candidate, or the reason why there is none; who has none is added to `stuck`."""
        for caller, login in callers_of(self.template, self.world.callers, self.seed):
            if caller in callers:
                found = self._found(caller, login)
                if isinstance(found, NoInstance):
                    stuck.append(_Stuck(found.call, caller, login))
                yield found

    def _created_of(self, stuck: Sequence[_Stuck], most: int) -> Iterator[Iterator[Combination]]:
        """Candidates on created rows, by person. `stuck` is read with the first: whoever got furthest lacks least."""
        fixtures = FixtureBuilder(self.world, self.template, self.seed)
        for one in sorted(stuck, key=lambda one: -one.call)[:most]:
            yield self._created(fixtures, one.caller, one.login, one.call)

    def _created(self, fixtures: FixtureBuilder, caller: str, login: Login, stuck: int) -> Iterator[Combination]:
        """Combinations of a caller on created rows."""
        found: list[Combination] = []

        def calls_reached(patch: list[RowChange]) -> int:
            try:
                found.append(self._combination(caller, login, patch))
            except NoInstance as reason:
                return reason.call
            return len(self.template.calls)

        for _ in fixtures.patches(caller, stuck, calls_reached):
            yield found[-1]

    def _found(self, caller: str, login: Login) -> Combination | NoInstance:
        """A caller's combination on the data as they are, sought once."""
        if caller not in self._on_data:
            try:
                self._on_data[caller] = self._combination(caller, login)
            except NoInstance as reason:
                self._on_data[caller] = reason
        return self._on_data[caller]

    def _combination(self, caller: str, login: Login, patch: Sequence[RowChange] = ()) -> Combination:
        return combination_for(self.world, self.template, caller, login, self.seed, number=0, patch=patch)

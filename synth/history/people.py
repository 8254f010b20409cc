"""The persons of a history: what each leans to, and how one request leads to another.

People differ: some never pay, some book all the time. So the data hold debts, quotas used up, and loose ends.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import CallResult
from skillweave.schema.contract import Tool
from skillweave.schema.record import Value
from synth.graph.columns import keys_shown
from synth.history.courses import Part, parts
from synth.history.population import activity
from synth.planner.values import day_of

LEANING = 1.1
"""How much persons differ in what they use (deviation of the logarithm of a tool's weight)."""
USES = 0.75
"""Share of the tools that one person uses at all; what nobody has touched is there for tasks."""
AGAIN = 0.2
"""How often somebody asks for the same once more."""
ONWARD = 0.5
"""How often somebody goes on with what a call has just shown: pays what was booked, uses what was granted."""
RETURNS = 0.6
"""How often somebody comes back to it within days."""
WITHIN_HOURS = (2, 80)
"""When, after the first call."""
DUE = 0.9
"""How often somebody comes back on the day that a call has shown: to collect, to begin, to give back."""
LATE_HOURS = 36
"""Until when: on the day or the next; for a time of day it is as long before."""
SHARE = {"undoes": 0.12, "ends": 0.12, "changes": 0.3, "adds": 0.6, "settles": 0.3}
"""Of the rows that people make, or of the people: how many meet with what one tool does, by its part ..."""
SELDOM = 0.03
"""... and how often somebody wants it beyond that."""
RESTLESS = 0.15
"""Share of the people who do so readily, until it has been done twice as often: they meet the limits of rules."""
CARELESS, CARE = 0.25, 0.5
"""Share of the people who come back to what they began so much more rarely."""
ONCE_MORE = 0.15
"""How often what is on record of somebody is changed a second time; a third time is rarer by as much."""


class Request(NamedTuple):
    """A tool that somebody wants, with the arguments that are settled."""

    tool: Tool
    fixed: Mapping[str, Value]


@dataclass
class People:
    """The persons of one world."""

    blueprint: Blueprint
    callers: Sequence[str]
    """Their keys, the most active first."""
    random: Random
    succeeded: Mapping[str, int]
    """Write tool -> calls that succeeded so far."""
    writes: list[Tool] = field(init=False)
    _settled: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Caller and tool -> calls that changed what is on record of them."""

    def __post_init__(self) -> None:
        self._parts = parts(self.blueprint)
        self.writes = [tool for tool in self.blueprint.tools if tool.kind == "write"]
        self._leanings = {
            caller: [self.random.lognormvariate(0, LEANING) * (self.random.random() < USES) for _ in self.writes]
            for caller in self.callers
        }
        self._onward = {tool.name: onward(self.blueprint, tool) for tool in self.writes}
        self._restless = {*self.random.sample(self.callers, round(RESTLESS * len(self.callers)))}
        self._careless = {*self.random.sample(self.callers, round(CARELESS * len(self.callers)))}

    def visitor(self) -> str:
        """Somebody who gets in touch."""
        return self.random.choices(self.callers, [activity(place) for place in range(1, len(self.callers) + 1)])[0]

    def request(self, caller: str) -> Request | None:
        """What somebody asks for out of the blue; None where they think better of it."""
        # Tools that have rarely come about are tried more often, and those that lead to them: no corner stays unused.
        rare = [
            max(self._rarity(tool), *(self._rarity(ahead) / 2 for ahead, _, _ in self._onward[tool.name]), 0.0)
            for tool in self.writes
        ]
        weights = [weight * leaning for weight, leaning in zip(rare, self._leanings[caller], strict=True)]
        tool = self.random.choices(self.writes, weights if any(weights) else rare)[0]
        return Request(tool, {}) if self._wants(caller, tool) else None

    def next(self, caller: str, request: Request, result: CallResult) -> list[Request]:
        """What somebody asks for in the same visit after a call that succeeded: the first of these that can be had."""
        if self._parts[request.tool.name].kind == "settles":
            self._settled[caller, request.tool.name] += 1
        if self.random.random() < AGAIN:
            return [Request(request.tool, {})] if self._wants(caller, request.tool) else []
        return self._goes_on(caller, request, result) if self.random.random() < ONWARD else []

    def returns(
        self, caller: str, request: Request, result: CallResult, now: datetime, *, has_more: bool
    ) -> Iterator[tuple[datetime, list[Request]]]:
        """When somebody comes back to what a call has shown, and for what."""
        care = CARE if caller in self._careless else 1.0
        if not has_more and self.random.random() < RETURNS * care:
            later = now + timedelta(minutes=self.random.randint(*(60 * hours for hours in WITHIN_HOURS)))
            yield later, self._goes_on(caller, request, result)
        days = sorted(_ahead(result, now))
        if days and self.random.random() < DUE * care:
            first, is_time = days[0]
            late = timedelta(minutes=self.random.randint(0, 60 * LATE_HOURS))
            moment = first - late if is_time else first + late
            yield moment, self._goes_on(caller, request, result, is_over=moment >= days[-1][0])

    def _wants(self, caller: str, tool: Tool, after: Tool | None = None, *, is_over: bool = False) -> bool:
        """Whether somebody does want it: few end what they have begun, or change it; what is over, ends."""
        part = self._parts[tool.name]
        if part.kind == "goes on" or (part.kind == "ends" and is_over and after and self._is_of_same(after, part)):
            return True
        if self.random.random() >= ONCE_MORE ** self._settled[caller, tool.name]:
            return False
        rows = sum(self.succeeded[maker] for maker in part.makers) if part.makers else len(self.callers)
        most = SHARE[part.kind] * rows * (2 if caller in self._restless else 1)
        return self.succeeded[tool.name] < most or self.random.random() < SELDOM

    def _is_of_same(self, tool: Tool, part: Part) -> bool:
        """Whether the rows that a tool makes or changes are those of which this is a part."""
        return tool.name in part.makers or self._parts[tool.name].makers == part.makers

    def _goes_on(self, caller: str, request: Request, result: CallResult, *, is_over: bool = False) -> list[Request]:
        found = []
        for tool, parameter, column in self._onward[request.tool.name]:
            value = result.value.get(column) if isinstance(result.value, dict) else None
            if isinstance(value, str) and self._wants(caller, tool, request.tool, is_over=is_over):
                # The smaller, the earlier: a weighted order without repeats.
                found.append((self.random.expovariate(self._rarity(tool)), tool.name, parameter, tool, value))
        return [
            Request(tool, {parameter: value}) for _, _, parameter, tool, value in sorted(found, key=lambda f: f[:3])
        ]

    def _rarity(self, tool: Tool) -> float:
        return float((1 + self.succeeded[tool.name]) ** -0.5)


def _ahead(result: CallResult, now: datetime) -> Iterator[tuple[datetime, bool]]:
    """The days and times to come that a result shows, each with whether it is a time of day."""
    for value in result.value.values() if isinstance(result.value, dict) else ():
        day = day_of(value) if isinstance(value, str) else None
        if day is not None and day > now:
            yield day, len(str(value)) > 10


def onward(blueprint: Blueprint, tool: Tool) -> list[tuple[Tool, str, str]]:
    """(tool, parameter, column): writes that can go on with a row which the tool's result shows."""
    shown = keys_shown(blueprint, tool)
    return [
        (other, parameter.name, column)
        for other in blueprint.tools
        if other.kind == "write" and other.name != tool.name
        for parameter in other.parameters
        if parameter.refers_to
        for column in sorted(shown.get(parameter.refers_to.partition(".")[0], set()))
    ]

"""The simulated persons of a history: what each tends to do, and how one request leads to another.

People differ: some never pay, some book all the time. So the data hold debts, used-up quotas and unfinished business.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import CallResult, Tool
from skillweave.schema.record import Value
from synth.contracts.visibility import keys_shown
from synth.search.values import day_of
from synth.simulation.generation import visit_weight
from synth.simulation.tool_roles import ToolRole, tool_roles

PREFERENCE_SPREAD = 1.1
"""How much persons differ in what they use: the standard deviation of the logarithm of a tool's weight."""
TOOLS_USED = 0.75
"""Share of the tools that one person uses at all, so that something untouched is left for tasks."""
REPEATS = 0.2
"""How often somebody asks for the same again."""
CONTINUES = 0.5
"""How often somebody goes on with what a call has just shown: pays what was booked, uses what was granted."""
RETURNS = 0.6
"""How often somebody comes back within days to what a call has shown."""
WITHIN_HOURS = (2, 80)
"""When they come back: hours after the first call, at least and at most."""
RETURNS_WHEN_DUE = 0.9
"""How often somebody comes back on the day that a call has shown: to collect, to begin, to give back."""
MOST_HOURS_LATE = 36
"""How many hours after the day that was shown they come at most; before it, if a time of day was shown."""
SHARE_OF_ROWS = {"cancels": 0.12, "ends": 0.12, "changes": 0.3, "adds": 0.6, "updates_caller": 0.3}
"""Role of a tool -> share of the rows (or of the people) to which it happens in the end."""
BEYOND_SHARE = 0.03
"""How often somebody asks for such a tool although that share is reached."""
EAGER = 0.15
"""Share of the people for whom that share is doubled: they meet the limits of rules."""
CARELESS, CARE = 0.25, 0.5
"""Share of the people who come back more rarely, and the factor by which they do."""
ANOTHER_UPDATE = 0.15
"""How often what is on record of somebody is changed a second time; each further time is rarer by this factor."""


class ToolRequest(NamedTuple):
    """A tool that somebody wants to use, with the arguments that are fixed."""

    tool: Tool
    fixed: Mapping[str, Value]


@dataclass
class SimulatedPeople:
    """The persons of one world."""

    blueprint: Blueprint
    callers: Sequence[str]
    """Their keys, the most active first."""
    random: Random
    succeeded: Mapping[str, int]
    """Write tool -> calls that succeeded so far."""
    writes: list[Tool] = field(init=False)
    _updates: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Caller and tool -> calls that changed what is on record of them."""
    _rarities: list[float] = field(default_factory=list)
    """Of each write, since the last call that succeeded; empty if they have to be counted again."""

    def __post_init__(self) -> None:
        self._roles = tool_roles(self.blueprint)
        self._visit_weights = [visit_weight(place) for place in range(1, len(self.callers) + 1)]
        self.writes = [tool for tool in self.blueprint.tools if tool.kind == "write"]
        self._preferences = {
            caller: [
                self.random.lognormvariate(0, PREFERENCE_SPREAD) * (self.random.random() < TOOLS_USED)
                for _ in self.writes
            ]
            for caller in self.callers
        }
        self._follow_ups = {tool.name: follow_up_writes(self.blueprint, tool) for tool in self.writes}
        self._eager = {*self.random.sample(self.callers, round(EAGER * len(self.callers)))}
        self._careless = {*self.random.sample(self.callers, round(CARELESS * len(self.callers)))}

    def visitor(self) -> str:
        """Somebody who gets in touch."""
        return self.random.choices(self.callers, self._visit_weights)[0]

    def request(self, caller: str) -> ToolRequest | None:
        """What somebody asks for without an occasion; None if they decide against it."""
        rarities = self._rarities = self._rarities or self._rarity_of_leading()
        weights = [weight * preference for weight, preference in zip(rarities, self._preferences[caller], strict=True)]
        tool = self.random.choices(self.writes, weights if any(weights) else rarities)[0]
        return ToolRequest(tool, {}) if self._wants(caller, tool) else None

    def _rarity_of_leading(self) -> list[float]:
        """The rarity of each write. Rarely used tools, and tools that lead to them, are tried more often."""
        rarity = {tool.name: self._rarity(tool) for tool in self.writes}
        return [
            max(
                rarity[tool.name],
                max([rarity[other.name] for other, _, _ in self._follow_ups[tool.name]], default=0) / 2,
            )
            for tool in self.writes
        ]

    def next(self, caller: str, request: ToolRequest, result: CallResult) -> list[ToolRequest]:
        """What somebody asks for next in the same visit, now that a call has succeeded.

        Args:
            caller: Their key.
            request: What they asked for.
            result: Of the call, which succeeded.

        Returns:
            Requests in order of preference; the first that can be carried out is meant.
        """
        self._rarities = []
        if self._roles[request.tool.name].kind == "updates_caller":
            self._updates[caller, request.tool.name] += 1
        if self.random.random() < REPEATS:
            return [ToolRequest(request.tool, {})] if self._wants(caller, request.tool) else []
        return self._continuations(caller, request, result) if self.random.random() < CONTINUES else []

    def returns(
        self, caller: str, request: ToolRequest, result: CallResult, now: datetime, *, has_more: bool
    ) -> Iterator[tuple[datetime, list[ToolRequest]]]:
        """When somebody comes back to what a call has shown, and for what.

        Args:
            caller: Their key.
            request: What they asked for.
            result: Of the call, which succeeded.
            now: The moment of the call.
            has_more: Whether they ask for more in the same visit.

        Returns:
            Moments, each with requests in order of preference.
        """
        care = CARE if caller in self._careless else 1.0
        if not has_more and self.random.random() < RETURNS * care:
            later = now + timedelta(minutes=self.random.randint(*(60 * hours for hours in WITHIN_HOURS)))
            yield later, self._continuations(caller, request, result)
        times = sorted(_future_times(result, now))
        if times and self.random.random() < RETURNS_WHEN_DUE * care:
            first, is_time = times[0]
            delay = timedelta(minutes=self.random.randint(0, 60 * MOST_HOURS_LATE))
            moment = first - delay if is_time else first + delay
            yield moment, self._continuations(caller, request, result, is_last=moment >= times[-1][0])

    def _wants(self, caller: str, tool: Tool, after: Tool | None = None, *, is_last: bool = False) -> bool:
        """Whether somebody does want a tool: few end or change what they began, but all end what is over.

        Args:
            caller: Their key.
            tool: The tool.
            after: The tool that they used before it.
            is_last: Whether the last of the times that it showed has come.
        """
        role = self._roles[tool.name]
        if role.kind == "continues" or (
            role.kind == "ends" and is_last and after and self._concerns_same_rows(after, role)
        ):
            return True
        if self.random.random() >= ANOTHER_UPDATE ** self._updates[caller, tool.name]:
            return False
        rows = sum(self.succeeded[maker] for maker in role.makers) if role.makers else len(self.callers)
        most = SHARE_OF_ROWS[role.kind] * rows * (2 if caller in self._eager else 1)
        return self.succeeded[tool.name] < most or self.random.random() < BEYOND_SHARE

    def _concerns_same_rows(self, tool: Tool, role: ToolRole) -> bool:
        """Whether a tool makes or changes the rows that a role is about."""
        return tool.name in role.makers or self._roles[tool.name].makers == role.makers

    def _continuations(
        self, caller: str, request: ToolRequest, result: CallResult, *, is_last: bool = False
    ) -> list[ToolRequest]:
        ordered = []
        for tool, parameter, column in self._follow_ups[request.tool.name]:
            value = result.value.get(column) if isinstance(result.value, dict) else None
            if isinstance(value, str) and self._wants(caller, tool, request.tool, is_last=is_last):
                # Sorting by exponential draws gives a weighted random order without repeats.
                ordered.append((self.random.expovariate(self._rarity(tool)), tool.name, parameter, tool, value))
        return [
            ToolRequest(tool, {parameter: value})
            for _, _, parameter, tool, value in sorted(ordered, key=lambda entry: entry[:3])
        ]

    def _rarity(self, tool: Tool) -> float:
        return float((1 + self.succeeded[tool.name]) ** -0.5)


def _future_times(result: CallResult, now: datetime) -> Iterator[tuple[datetime, bool]]:
    """The days and times after `now` that a result shows, each with whether it has a time of day."""
    for value in result.value.values() if isinstance(result.value, dict) else ():
        day = day_of(value) if isinstance(value, str) else None
        if day is not None and day > now:
            yield day, len(str(value)) > 10


def follow_up_writes(blueprint: Blueprint, tool: Tool) -> list[tuple[Tool, str, str]]:
    """The writes that can continue with a row that a tool's result shows.

    Returns:
        (write, its parameter, the result's column with that parameter's value).
    """
    shown = keys_shown(blueprint, tool)
    return [
        (other, parameter.name, column)
        for other in blueprint.tools
        if other.kind == "write" and other.name != tool.name
        for parameter in other.parameters
        if parameter.refers_to
        for column in sorted(shown.get(parameter.refers_to.partition(".")[0], set()))
    ]

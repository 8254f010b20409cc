"""The persons of a history: what each leans to, and how one request leads to another.

People differ: some never pay, some book all the time. So the data hold debts, quotas used up, and loose ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import CallResult
from skillweave.schema.contract import Tool
from skillweave.schema.record import Value
from synth.graph.columns import keys_shown
from synth.history.population import activity

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

    def __post_init__(self) -> None:
        self.writes = [tool for tool in self.blueprint.tools if tool.kind == "write"]
        self._leanings = {
            caller: [self.random.lognormvariate(0, LEANING) * (self.random.random() < USES) for _ in self.writes]
            for caller in self.callers
        }
        self._onward = {tool.name: onward(self.blueprint, tool) for tool in self.writes}

    def visitor(self) -> str:
        """Somebody who gets in touch."""
        return self.random.choices(self.callers, [activity(place) for place in range(1, len(self.callers) + 1)])[0]

    def request(self, caller: str) -> Request:
        """What somebody asks for out of the blue."""
        # Tools that have rarely come about are tried more often, and those that lead to them: no corner stays unused.
        rare = [
            max(self._rarity(tool), *(self._rarity(ahead) / 2 for ahead, _, _ in self._onward[tool.name]), 0.0)
            for tool in self.writes
        ]
        weights = [weight * leaning for weight, leaning in zip(rare, self._leanings[caller], strict=True)]
        return Request(self.random.choices(self.writes, weights if any(weights) else rare)[0], {})

    def next(self, request: Request, result: CallResult) -> list[Request]:
        """What somebody asks for in the same visit after a call that succeeded: the first of these that can be had."""
        if self.random.random() < AGAIN:
            return [Request(request.tool, {})]
        return self._goes_on(request, result) if self.random.random() < ONWARD else []

    def returns(self, request: Request, result: CallResult, now: datetime) -> tuple[datetime, list[Request]] | None:
        """When somebody comes back after a call that succeeded, and for what; None where they do not."""
        found = self._goes_on(request, result) if self.random.random() < RETURNS else []
        if not found:
            return None
        return now + timedelta(minutes=self.random.randint(*(60 * hours for hours in WITHIN_HOURS))), found

    def _goes_on(self, request: Request, result: CallResult) -> list[Request]:
        found = []
        for tool, parameter, column in self._onward[request.tool.name]:
            value = result.value.get(column) if isinstance(result.value, dict) else None
            if isinstance(value, str):
                # The smaller, the earlier: a weighted order without repeats.
                found.append((self.random.expovariate(self._rarity(tool)), tool.name, parameter, tool, value))
        return [
            Request(tool, {parameter: value}) for _, _, parameter, tool, value in sorted(found, key=lambda f: f[:3])
        ]

    def _rarity(self, tool: Tool) -> float:
        return float((1 + self.succeeded[tool.name]) ** -0.5)


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

"""How an agent with a script departs from it: `AgentBehaviour` follows it exactly, its subclasses do not."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from rollout.offline.script import PlannedCall
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.task import Fact


class NextCall(NamedTuple):
    """A call as the agent makes it."""

    tool: str
    arguments: dict[str, Json]


class AgentBehaviour:
    """How an agent follows its script: exactly. Subclasses override what they do differently."""

    proposes: bool = True
    """Whether the agent waits for a yes before calls that need one."""

    def call(
        self, position: int, planned: PlannedCall, bound: NextCall, results: Mapping[int, Json]
    ) -> NextCall | None:
        """The call to make in place of a planned one.

        Args:
            position: The call's position in the script.
            planned: The call as the script has it.
            bound: The call with the arguments of this conversation.
            results: Results of earlier calls, by position.

        Returns:
            The call; None to leave it out.
        """
        return bound

    def extra(self, results: Mapping[int, Json], made: int, succeeded: bool) -> NextCall | None:
        """A call after the end of the script; None for no further call.

        Args:
            results: Results of the script's calls, by position.
            made: The number of extra calls so far.
            succeeded: Whether the last of them succeeded.
        """
        return None

    def asks_for(self, fact: Fact) -> bool:
        """Whether the agent asks for a fact that the user has not told."""
        return True

    def waits(self, position: int) -> bool:
        """Whether the agent proposes a call before it makes it."""
        return self.proposes

    def ignores_error(self, position: int) -> bool:
        """Whether the agent continues as if a failed call had succeeded."""
        return False

    def gives_up(self, position: int) -> bool:
        """Whether the agent gives up before a call."""
        return False

    def value(self, told: FactToTell) -> Json:
        """The value to tell the user for a fact; None to tell nothing."""
        return told.values[0]


def things_of(calls: Iterable[PlannedCall]) -> Iterator[str]:
    """What facts about calls are named after: the tools, and the kinds of rows that they take."""
    for call in calls:
        kinds = [(one.refers_to or "").partition(".")[0].rpartition("__")[2] for one in call.parameters.values()]
        yield from (name.replace("_", "").lower() for name in (call.tool, call.plain, *kinds))


def is_shown(fact: FactToTell, results: Mapping[int, Json]) -> bool:
    """Whether results show what the fact is known from."""
    values = [*chain.from_iterable(map(_values, results.values()))]
    return all(any(value in values for value in wanted) for wanted in fact.shown)


def _values(result: Json) -> Iterator[Json]:
    """The values in a result, at any level."""
    if isinstance(result, dict | list):
        for part in result.values() if isinstance(result, dict) else result:
            yield from _values(part)
    else:
        yield result

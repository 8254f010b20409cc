"""Conduct: where an agent with a script departs from it. The oracle does not."""

from collections.abc import Mapping
from typing import NamedTuple

from rollout.offline.agents.script import Need, PlannedCall
from skillweave.schema.record import Json


class Wanted(NamedTuple):
    """A call as it is really made."""

    tool: str
    arguments: dict[str, Json]


class Conduct:
    asks_first: bool = True
    """Whether it waits for a yes where the policy says so."""

    def call(
        self, position: int, planned: PlannedCall, arguments: dict[str, Json], results: Mapping[int, Json]
    ) -> Wanted | None:
        """What is called in a planned call's place; None: nothing is."""
        return Wanted(planned.tool, arguments)

    def extra(self, results: Mapping[int, Json], made: int, succeeded: bool) -> Wanted | None:
        """A call beyond the script once that is through; `made` is how many there were, and whether the last one was
        carried out."""
        return None

    def asks_for(self, need: Need) -> bool:
        """Whether it asks for what the user has left out."""
        return True

    def rule(self, banned: str) -> str:
        """The rule that it names when it declines; empty: none."""
        return banned

    def shrugs(self, position: int) -> bool:
        """Whether it goes on as if the call had succeeded."""
        return False

    def gives_up(self, position: int) -> bool:
        """Whether it gives up before that call."""
        return False

    def told(self, fact: int, value: Json) -> Json:
        """What it says in the place of a fact's value; None: nothing."""
        return value


class PolicyBlind(Conduct):
    """The oracle that heeds no rule which the tools do not enforce."""

    asks_first = False


ORACLE = Conduct()
POLICY_BLIND = PolicyBlind()

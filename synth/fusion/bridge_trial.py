"""Trials of a bridge rule by one person: calls that it forbids, calls that meet it, calls that mend what it forbids."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from skillweave.schema.call import CallResult
from skillweave.schema.contract import Tool
from skillweave.schema.fused import BridgeRule, FusedBlueprint
from skillweave.schema.record import Json, Value
from skillweave.world.session import ContractSession
from synth.fusion.hints import fits, pointed
from synth.planner.search import Arguments, Search

CALLS = 4
"""Calls of a tool that are tried for one person."""
BEFORE = 2
"""Calls of a tool by which one person is prepared for another."""
NODES = 60
"""Bound on one search for arguments."""


class Step(NamedTuple):
    """A call, by the name of its tool."""

    tool: str
    arguments: Arguments

    @property
    def record(self) -> dict[str, Json]:
        """For the proof."""
        return {"tool": self.tool, "arguments": {**self.arguments}}


class Trial:
    """One rule, tried by one person in one session."""

    def __init__(
        self, fused: FusedBlueprint, session: ContractSession, person: str, rule: BridgeRule, seed: str
    ) -> None:
        self.person = person
        self._fused = fused
        self._session = session
        self._rule = rule
        self._seed = seed
        self._tool = session.world.blueprint.tool(rule.tool)
        view = pointed(self._tool, rule, fused)
        self._views = [self._tool] if view is self._tool else [view, self._tool]
        self._known: dict[str, list[Step]] = {}
        """Broken calls of the present state, by the arguments that were given."""

    def met(self) -> Iterator[Step]:
        """Lawful calls of the tool that the rule guards."""
        for view in self._views:
            calls = [Step(view.name, one) for one in islice(self._search(view).meeting(), CALLS)]
            found = [call for call in calls if is_lawful(self._session.peek(*call))]
            yield from found
            if found:
                return

    def broken(self, fixed: Mapping[str, Value] | None = None) -> list[Step]:
        """Calls of it that the rule forbids, and no other does."""
        key = repr(fixed)
        if key not in self._known:
            self._known[key] = self._broken(fixed)
        return self._known[key]

    def _broken(self, fixed: Mapping[str, Value] | None) -> list[Step]:
        for view in self._views:
            breaking = self._search(view, fixed).breaking(self._rule.rule, alone=True)
            calls = [Step(view.name, one) for one in islice(breaking, CALLS)]
            found = [call for call in calls if breaks(self._session.peek(*call), self._rule)]
            if found:
                return found
        return []

    def mended(self, mending: Sequence[Tool]) -> Iterator[tuple[Step, Step]]:
        """A call of one of these tools, and one that the rule forbids before it and not after it."""
        for tool in mending:
            for step in list(self._lawful(tool)):
                for call in self._broken_beside(step):
                    if self._is_mended(step, call):
                        yield step, call
        for call in self.broken():
            for tool in mending:
                for step in list(self._lawful_beside(tool, call)):
                    if self._is_mended(step, call):
                        yield step, call

    def prepared(self, preparing: Sequence[Tool]) -> Iterator[tuple[Step, ...]]:
        """The session is behind a lawful call of one of these tools, one after the other."""
        for step in [step for tool in preparing for step in islice(self._lawful(tool), BEFORE)]:
            mark = self._session.mark()
            self._known = {}
            if is_lawful(self._session.call(step.tool, step.arguments)):
                yield (step,)
            self._session.forget(mark)
        self._known = {}

    def _lawful(self, tool: Tool, fixed: Mapping[str, Value] | None = None) -> Iterator[Step]:
        return (Step(tool.name, one) for one in islice(self._search(tool, fixed).meeting(), CALLS))

    def _lawful_beside(self, tool: Tool, call: Step) -> Iterator[Step]:
        """Lawful calls of a tool that go with a call of the rule's."""
        for fixed in fits(self._session, tool, self._tool, call.arguments, self._rule, self._fused):
            yield from self._lawful(tool, fixed)

    def _broken_beside(self, step: Step) -> Iterator[Step]:
        """Calls that the rule forbids and that go with a call of another domain."""
        other = self._session.world.blueprint.tool(step.tool)
        for fixed in fits(self._session, self._tool, other, step.arguments, self._rule, self._fused):
            yield from self.broken(fixed)

    def _is_mended(self, step: Step, call: Step) -> bool:
        mark = self._session.mark()
        try:
            taken = is_lawful(self._session.call(step.tool, step.arguments))
            return taken and is_lawful(self._session.peek(call.tool, call.arguments))
        finally:
            self._session.forget(mark)

    def _search(self, tool: Tool, fixed: Mapping[str, Value] | None = None) -> Search:
        return Search(
            self._session.world.blueprint,
            tool,
            self._session,
            self._session.account(tool.name),
            self._session.now,
            Random(f"{self._seed}/{self._session.caller}/{tool.name}"),
            fixed=fixed or {},
            nodes=NODES,
            person=self._session.caller,
        )


def is_lawful(result: CallResult) -> bool:
    return result.ok and all(verdict.holds for verdict in result.verdicts)


def breaks(result: CallResult, rule: BridgeRule) -> bool:
    """Whether this rule refused the call, and none that agents hold was broken before."""
    broken = result.error is not None and result.error.rule == rule.rule
    return broken and all(verdict.holds for verdict in result.verdicts)

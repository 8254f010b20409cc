"""The proof of bridge rules: each is met by one call and broken by another, carried out with all of them on.

The best proof is one call that a rule forbids until the other domain has done something. Where no call of the other
domain mends a broken one, a call that is lawful from the start shows the rule met.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import NamedTuple

from skillweave.schema.call import CallResult
from skillweave.schema.contract import Tool
from skillweave.schema.fused import BridgeRule, FusedBlueprint
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json, Value
from skillweave.world.access import Accesses
from skillweave.world.authorizer import Access
from skillweave.world.interpreter import guard_query
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.fusion.hints import fits, pointed
from synth.planner.search import Arguments, Search

PERSONS = 60
"""Persons who are tried ..."""
MENDED = 16
"""... of these those for whom a call is sought that another one mends, or one behind another ..."""
PREPARED = 8
"""... and of these those who are prepared for such a call by one more."""
CALLS = 5
"""Calls of a tool that are tried for one person."""
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


@dataclass(frozen=True)
class Witness:
    """One person's call, and what they did before it."""

    person: str
    call: Step
    before: tuple[Step, ...] = ()

    @property
    def record(self) -> dict[str, Json]:
        """For the proof."""
        return {"person": self.person, **self.call.record, "before": [step.record for step in self.before]}


class Shown(NamedTuple):
    """What could be shown of a rule; None: not to be had."""

    met: Witness | None
    broken: Witness | None

    @property
    def mended(self) -> bool:
        """Whether a call that it forbids was made lawful by another."""
        return self.met is not None and bool(self.met.before)


class Bridges:
    """A fused world with bridge rules on, all held by the tools: who holds a rule changes nothing of what it says."""

    def __init__(self, fused: FusedBlueprint, content: bytes, rules: Sequence[BridgeRule], now: str, seed: str) -> None:
        held = [rule.model_copy(update={"enforced_by": "tool"}) for rule in rules]
        self._rules = {rule.rule: rule for rule in held}
        self._world = World(fused.with_bridges(held), content, now=now)
        self._fused = fused
        self._seed = seed
        callers = self._world.callers
        self._persons = Random(seed).sample(callers, min(PERSONS, len(callers)))

    def close(self) -> None:
        """Give the world up."""
        self._world.close()

    def shown(self, name: str) -> Shown:
        """A call that meets a rule and one that breaks it and no other."""
        rule = self._rules[name]
        mended = self._mended(rule, [], self._persons[:MENDED])
        if mended is not None:
            return mended
        found = Shown(self._first(rule, breaks=False), self._first(rule, breaks=True))
        if None not in found:
            return found
        return self._mended(rule, self._preparing(rule), self._persons[:PREPARED]) or found

    def confirms(self, name: str, shown: Shown) -> bool:
        """Whether what was shown without other rules holds with these: both witnesses do as they did."""
        met, broken = shown
        if met is None or broken is None:
            return False
        return self._goes(met, None) and self._goes(broken, self._rules[name])

    def _goes(self, witness: Witness, rule: BridgeRule | None) -> bool:
        """Whether a witness's call is lawful; with a rule: whether that alone forbids it."""
        with self._world.session(caller=witness.person) as session:
            before = all(_is_lawful(session.call(step.tool, step.arguments)) for step in witness.before)
            result = session.peek(*witness.call)
            if rule is None or not before:
                return before and _is_lawful(result)
            return _breaks(result, rule) and self._broken_rules(session, witness.call) == [rule.rule]

    def _broken_rules(self, session: ContractSession, call: Step) -> list[str]:
        tool = session.world.blueprint.tool(call.tool)
        bound = dict.fromkeys((parameter.name for parameter in tool.parameters), None) | call.arguments
        bound |= {"caller": session.account(tool.name), "person": session.caller, "now": session.now}
        queries = {guard.rule: guard_query(guard.holds) for guard in tool.guards}
        return [rule for rule, query in queries.items() if not next(iter(session.query(query, bound)[0].values()))]

    def _mended(self, rule: BridgeRule, preparing: Sequence[Tool], persons: Sequence[str]) -> Shown | None:
        """A call that the rule forbids before a call of another domain and not after it, somebody being prepared."""
        mending = self._mending(rule)
        for trial in self._trials(rule, persons):
            for before in trial.prepared(preparing) if preparing else [()]:
                for step, call in trial.mended(mending):
                    met = Witness(trial.person, call, (*before, step))
                    return Shown(met, Witness(trial.person, call, before))
        return None

    def _first(self, rule: BridgeRule, *, breaks: bool) -> Witness | None:
        """A call that does as wanted on the data as they are; else behind another call, of whichever domain."""
        for trial in self._trials(rule, self._persons):
            for call in trial.broken() if breaks else trial.met():
                return Witness(trial.person, call)
        for trial in self._trials(rule, self._persons[:MENDED]):
            for before in trial.prepared(self._preparing(rule)):
                for call in trial.broken() if breaks else trial.met():
                    return Witness(trial.person, call, before)
        return None

    def _trials(self, rule: BridgeRule, persons: Sequence[str]) -> Iterator["_Trial"]:
        for person in persons:
            with self._world.session(caller=person) as session:
                yield _Trial(self._fused, session, person, rule, self._seed)

    def _preparing(self, rule: BridgeRule) -> list[Tool]:
        """Writes that change something of what any rule of the guarded tool reads."""
        guards = self._world.blueprint.tool(rule.tool).guards
        return self._changing([guard.holds for guard in guards], {one.server for one in self._fused.members})

    def _mending(self, rule: BridgeRule) -> list[Tool]:
        """Writes of other domains that change something of what the rule reads."""
        others = {one.server for one in self._fused.members} - {self._fused.member_of(rule.tool).server}
        return self._changing([rule.holds], others)

    def _changing(self, conditions: Sequence[str], servers: Collection[str]) -> list[Tool]:
        """Writes of these domains that change something of what conditions read."""
        accesses = Accesses(self._fused)
        try:
            reads: dict[str, set[str]] = {}
            for condition in conditions:
                for table, columns in accesses.of(guard_query(condition)).reads.items():
                    reads.setdefault(table, set()).update(columns)
            return [
                tool
                for tool in self._world.blueprint.tools
                if self._fused.member_of(tool.name).server in servers
                and any(_changes(accesses.of(effect.sql), reads) for effect in tool.effects)
            ]
        finally:
            accesses.close()


class _Trial:
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
        self._views = (pointed(self._tool, rule, fused), self._tool)

    def met(self) -> Iterator[Step]:
        """Lawful calls of the tool that the rule guards."""
        for view in self._views:
            for arguments in islice(self._search(view).meeting(), CALLS):
                if _is_lawful(self._session.peek(view.name, arguments)):
                    yield Step(view.name, arguments)

    def broken(self, fixed: Mapping[str, Value] | None = None) -> Iterator[Step]:
        """Calls of it that the rule forbids, and no other does."""
        for view in self._views:
            for arguments in islice(self._search(view, fixed).breaking(self._rule.rule, alone=True), CALLS):
                if _breaks(self._session.peek(view.name, arguments), self._rule):
                    yield Step(view.name, arguments)

    def mended(self, mending: Sequence[Tool]) -> Iterator[tuple[Step, Step]]:
        """A call of one of these tools, and one that the rule forbids before it and not after it."""
        for tool in mending:
            for step in list(self._lawful(tool)):
                for call in list(self._broken_beside(step)):
                    if self._is_mended(step, call):
                        yield step, call
        for call in list(self.broken()):
            for tool in mending:
                for step in list(self._lawful_beside(tool, call)):
                    if self._is_mended(step, call):
                        yield step, call

    def prepared(self, preparing: Sequence[Tool]) -> Iterator[tuple[Step, ...]]:
        """The session is behind a lawful call of one of these tools, one after the other."""
        for step in [step for tool in preparing for step in self._lawful(tool)]:
            mark = self._session.mark()
            if _is_lawful(self._session.call(step.tool, step.arguments)):
                yield (step,)
            self._session.forget(mark)

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
            taken = _is_lawful(self._session.call(step.tool, step.arguments))
            return taken and _is_lawful(self._session.peek(call.tool, call.arguments))
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


def prove(fused: FusedBlueprint, content: bytes, rules: Sequence[BridgeRule], now: str, seed: str) -> dict[str, Shown]:
    """Name of each rule -> what all of them being on lets be shown of it."""
    bridges = Bridges(fused, content, rules, now, seed)
    try:
        return {rule.rule: bridges.shown(rule.rule) for rule in rules}
    finally:
        bridges.close()


def proof_of(rule: str, shown: Shown) -> BridgeProof:
    """The record; `rule` is its number. Both witnesses have to be there."""
    assert shown.met is not None
    assert shown.broken is not None
    return BridgeProof(rule=rule, met=shown.met.record, broken=shown.broken.record)


def _changes(access: Access, reads: Mapping[str, set[str]]) -> bool:
    """Whether a statement changes something of what another reads."""
    updated = any(columns & reads.get(table, set()) for table, columns in access.updates.items())
    return updated or any(table in reads for table in access.inserts | access.deletes)


def _is_lawful(result: CallResult) -> bool:
    return result.ok and all(verdict.holds for verdict in result.verdicts)


def _breaks(result: CallResult, rule: BridgeRule) -> bool:
    """Whether this rule refused the call, and none that agents hold was broken before."""
    broken = result.error is not None and result.error.rule == rule.rule
    return broken and all(verdict.holds for verdict in result.verdicts)

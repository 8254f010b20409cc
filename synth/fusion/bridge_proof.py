"""The proof of bridge rules: each is met by one call and broken by another, carried out with all of them on.

The best proof is one call that a rule forbids until the other domain has done something. Where no call of the other
domain mends a broken one, a call that is lawful from the start shows the rule met.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.contract import Tool
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json
from skillweave.world.authorizer import Access
from skillweave.world.contract.statements import StatementPreparer
from skillweave.world.interpreter import guard_query
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.fusion.bridge_search import BridgeCall, BridgeTrial, breaks, is_lawful

PERSONS = 60
"""Persons who are tried ..."""
MENDED = 24
"""... of these those for whom a call is sought that another one mends, or one behind another ..."""
PREPARED = 8
"""... and of these those who are prepared for such a call by one more."""


@dataclass(frozen=True)
class Witness:
    """One person's call, and what they did before it."""

    person: str
    call: BridgeCall
    before: tuple[BridgeCall, ...] = ()

    @property
    def record(self) -> dict[str, Json]:
        """For the proof."""
        return {"person": self.person, **self.call.record, "before": [step.record for step in self.before]}


class BridgeWitnesses(NamedTuple):
    """What could be shown of a rule; None: not to be had."""

    met: Witness | None
    broken: Witness | None

    @property
    def mended(self) -> bool:
        """Whether a call that it forbids was made lawful by another."""
        met, broken = self
        if met is None or broken is None:
            return False
        return met.call == broken.call and len(met.before) > len(broken.before)


class BridgedWorld:
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

    def shown(self, name: str) -> BridgeWitnesses:
        """A call that meets a rule and one that breaks it and no other. sqlite3.Error where its SQL cannot be run."""
        rule = self._rules[name]
        mended = self._mended(rule, [], self._persons[:MENDED])
        if mended is not None:
            return mended
        found = BridgeWitnesses(self._first(rule, breaks=False), self._first(rule, breaks=True))
        if None not in found:
            return found
        if found.met is None:
            self._must_run(rule)
        return self._mended(rule, self._preparing(rule), self._persons[:PREPARED]) or found

    def _must_run(self, rule: BridgeRule) -> None:
        """sqlite3.Error where the rule's SQL fails: the searches pass over values at which it does."""
        with self._world.session(caller=self._persons[0]) as session:
            self._broken_rules(session, BridgeCall(rule.tool, {}))

    def confirms(self, name: str, shown: BridgeWitnesses) -> bool:
        """Whether what was shown without other rules holds with these: both witnesses do as they did."""
        met, broken = shown
        if met is None or broken is None:
            return False
        return self._goes(met, None) and self._goes(broken, self._rules[name])

    def _goes(self, witness: Witness, rule: BridgeRule | None) -> bool:
        """Whether a witness's call is lawful; with a rule: whether that alone forbids it."""
        with self._world.session(caller=witness.person) as session:
            before = all(is_lawful(session.call(step.tool, step.arguments)) for step in witness.before)
            result = session.peek(*witness.call)
            if rule is None or not before:
                return before and is_lawful(result)
            return breaks(result, rule) and self._broken_rules(session, witness.call) == [rule.rule]

    def _broken_rules(self, session: ContractSession, call: BridgeCall) -> list[str]:
        tool = session.world.blueprint.tool(call.tool)
        bound = dict.fromkeys((parameter.name for parameter in tool.parameters), None) | call.arguments
        bound |= {"caller": session.account(tool.name), "person": session.caller, "now": session.now}
        queries = {guard.rule: guard_query(guard.holds) for guard in tool.guards}
        return [rule for rule, query in queries.items() if not next(iter(session.query(query, bound)[0].values()))]

    def is_mended(self, name: str) -> bool:
        """Whether the other domain can still make lawful what the rule forbids, be it with one call more before it."""
        rule = self._rules[name]
        others = [guard.holds for tool in self._mending(rule) for guard in tool.guards if guard.rule in self._rules]
        ways = [[], self._changing(others, {member.server for member in self._fused.members})]
        return any(self._mended(rule, way, self._persons[:MENDED]) for way in ways)

    def guarded(self, tools: Collection[str]) -> bool:
        """Whether a bridge rule guards one of these tools."""
        return any(rule.tool in tools for rule in self._rules.values())

    def _mended(self, rule: BridgeRule, preparing: Sequence[Tool], persons: Sequence[str]) -> BridgeWitnesses | None:
        """A call that the rule forbids before a call of another domain and not after it, somebody being prepared."""
        mending = self._mending(rule)
        for trial in self._trials(rule, persons):
            for before in trial.prepared(preparing) if preparing else [()]:
                for step, call in trial.mended(mending):
                    met = Witness(trial.person, call, (*before, step))
                    return BridgeWitnesses(met, Witness(trial.person, call, before))
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

    def _trials(self, rule: BridgeRule, persons: Sequence[str]) -> Iterator[BridgeTrial]:
        for person in persons:
            with self._world.session(caller=person) as session:
                yield BridgeTrial(self._fused, session, person, rule, self._seed)

    def _preparing(self, rule: BridgeRule) -> list[Tool]:
        """Writes that change something of what any rule of the guarded tool reads."""
        guards = self._world.blueprint.tool(rule.tool).guards
        return self._changing([guard.holds for guard in guards], {member.server for member in self._fused.members})

    def _mending(self, rule: BridgeRule) -> list[Tool]:
        """Writes of other domains that change something of what the rule reads."""
        others = {member.server for member in self._fused.members} - {self._fused.member_of(rule.tool).server}
        return self._changing([rule.holds], others)

    def _changing(self, conditions: Sequence[str], servers: Collection[str]) -> list[Tool]:
        """Writes of these domains that change something of what conditions read."""
        accesses = StatementPreparer(self._fused)
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


def prove_bridges(
    fused: FusedBlueprint, content: bytes, rules: Sequence[BridgeRule], now: str, seed: str
) -> dict[str, BridgeWitnesses]:
    """Name of each rule -> what all of them being on lets be shown of it."""
    bridges = BridgedWorld(fused, content, rules, now, seed)
    try:
        return {rule.rule: bridges.shown(rule.rule) for rule in rules}
    finally:
        bridges.close()


def is_carried_out(world: World, witness: Witness) -> bool:
    """Whether a world carries out a witness's call."""
    with world.session(caller=witness.person) as session:
        before = [session.call(*step) for step in witness.before]
        return all(result.ok for result in before) and session.peek(*witness.call).ok


def proof_of(rule: str, shown: BridgeWitnesses) -> BridgeProof:
    """The record; `rule` is its number. Both witnesses have to be there."""
    assert shown.met is not None
    assert shown.broken is not None
    return BridgeProof(rule=rule, met=shown.met.record, broken=shown.broken.record)


def _changes(access: Access, reads: Mapping[str, set[str]]) -> bool:
    """Whether a statement changes something of what another reads."""
    updated = any(columns & reads.get(table, set()) for table, columns in access.updates.items())
    return updated or any(table in reads for table in access.inserts | access.deletes)

"""The proof of bridge rules, by execution: with all rules on, one call meets each rule and another breaks it.

The best proof is one call that the rule forbids until a call of another domain makes it lawful (it *mends* it). If no
call mends a broken one, another call that is lawful from the start shows the rule met.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.contract import Tool
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json
from skillweave.world.contract.tools import StatementPreparer
from skillweave.world.interpreter import guard_query
from skillweave.world.session import ContractSession
from skillweave.world.sql import Access
from skillweave.world.world import World
from synth.fusion.bridge_search import BridgeCall, BridgeTrial, breaks, is_lawful

MOST_PERSONS = 60
"""Most persons to try."""
PERSONS_FOR_PAIRS = 24
"""Most of these for whom to search pairs of calls: one that mends another, or one after another."""
PERSONS_PREPARED = 8
"""Most of these for whom to search such a pair after one more call."""


@dataclass(frozen=True)
class Witness:
    """One person's call, with their earlier calls."""

    person: str
    call: BridgeCall
    before: tuple[BridgeCall, ...] = ()

    @property
    def record(self) -> dict[str, Json]:
        """The witness in the form of the proof's record."""
        return {"person": self.person, **self.call.record, "before": [step.record for step in self.before]}


class BridgeWitnesses(NamedTuple):
    """The calls that prove a rule; None where no such call was found."""

    met: Witness | None
    broken: Witness | None

    @property
    def is_by_mending(self) -> bool:
        """Whether both are the same call, forbidden before another call and lawful after it."""
        met, broken = self
        if met is None or broken is None:
            return False
        return met.call == broken.call and len(met.before) > len(broken.before)


class BridgedWorld:
    """A fused world with bridge rules on. Tools enforce all rules here; the proof does not depend on who does."""

    def __init__(self, fused: FusedBlueprint, content: bytes, rules: Sequence[BridgeRule], now: str, seed: str) -> None:
        held_by_tools = [rule.model_copy(update={"enforced_by": "tool"}) for rule in rules]
        self._rules = {rule.rule: rule for rule in held_by_tools}
        self._world = World(fused.with_bridges(held_by_tools), content, now=now)
        self._fused = fused
        self._accesses = StatementPreparer(fused)
        self._seed = seed
        callers = self._world.callers
        self._persons = Random(seed).sample(callers, min(MOST_PERSONS, len(callers)))

    def close(self) -> None:
        """Close the world, and the tables on which statements are analysed."""
        self._world.close()
        self._accesses.close()

    def witnesses(self, name: str) -> BridgeWitnesses:
        """Search for a call that meets a rule, and one that breaks it and no other.

        Raises:
            sqlite3.Error: The rule's SQL fails on the data.
        """
        rule = self._rules[name]
        by_mending = self._mended_witnesses(rule, [], self._persons[:PERSONS_FOR_PAIRS])
        if by_mending is not None:
            return by_mending
        witnesses = BridgeWitnesses(self._first_witness(rule, breaks=False), self._first_witness(rule, breaks=True))
        if None not in witnesses:
            return witnesses
        if witnesses.met is None:
            self._require_sql_runs(rule)
        return self._mended_witnesses(rule, self._preparing_writes(rule), self._persons[:PERSONS_PREPARED]) or witnesses

    def _require_sql_runs(self, rule: BridgeRule) -> None:
        """Run the rule's SQL, since searches pass over values at which it fails. Raises sqlite3.Error if it does."""
        with self._world.session(caller=self._persons[0]) as session:
            self._broken_rules(session, BridgeCall(rule.tool, {}))

    def confirms(self, name: str, witnesses: BridgeWitnesses) -> bool:
        """Whether witnesses from a search without other rules still prove the rule with these."""
        met, broken = witnesses
        if met is None or broken is None:
            return False
        return self._behaves(met, None) and self._behaves(broken, self._rules[name])

    def _behaves(self, witness: Witness, rule: BridgeRule | None) -> bool:
        """Whether a witness's call is lawful; with a rule, whether that rule alone forbids it."""
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
        """Whether another domain's call can still make lawful what the rule forbids, maybe after one more call."""
        rule = self._rules[name]
        others = [
            guard.holds for tool in self._mending_writes(rule) for guard in tool.guards if guard.rule in self._rules
        ]
        preparations = [[], self._writes_changing(others, {member.server for member in self._fused.members})]
        return any(
            self._mended_witnesses(rule, preparing, self._persons[:PERSONS_FOR_PAIRS]) for preparing in preparations
        )

    def guard_any(self, tools: Collection[str]) -> bool:
        """Whether a bridge rule guards one of these tools."""
        return any(rule.tool in tools for rule in self._rules.values())

    def _mended_witnesses(
        self, rule: BridgeRule, preparing: Sequence[Tool], persons: Sequence[str]
    ) -> BridgeWitnesses | None:
        """A call that the rule forbids before a call of another domain and allows after it.

        Args:
            rule: The rule.
            preparing: Tools of which one may be called before both calls; empty for none.
            persons: The persons to try.
        """
        mending = self._mending_writes(rule)
        for trial in self._trials(rule, persons):
            for preparation in trial.prepared(preparing) if preparing else [()]:
                for step, call in trial.mended(mending):
                    met = Witness(trial.person, call, (*preparation, step))
                    return BridgeWitnesses(met, Witness(trial.person, call, preparation))
        return None

    def _first_witness(self, rule: BridgeRule, *, breaks: bool) -> Witness | None:
        """A call that meets or breaks the rule on the data as they are; else after one call of any domain."""
        for trial in self._trials(rule, self._persons):
            for call in trial.broken() if breaks else trial.met():
                return Witness(trial.person, call)
        preparing = self._preparing_writes(rule)
        for trial in self._trials(rule, self._persons[:PERSONS_FOR_PAIRS]):
            for preparation in trial.prepared(preparing):
                for call in trial.broken() if breaks else trial.met():
                    return Witness(trial.person, call, preparation)
        return None

    def _trials(self, rule: BridgeRule, persons: Sequence[str]) -> Iterator[BridgeTrial]:
        for person in persons:
            with self._world.session(caller=person) as session:
                yield BridgeTrial(self._fused, session, person, rule, self._seed)

    def _preparing_writes(self, rule: BridgeRule) -> list[Tool]:
        """Writes of any domain that change what some guard of the rule's tool reads."""
        guards = self._world.blueprint.tool(rule.tool).guards
        return self._writes_changing(
            [guard.holds for guard in guards], {member.server for member in self._fused.members}
        )

    def _mending_writes(self, rule: BridgeRule) -> list[Tool]:
        """Writes of other domains that change what the rule reads."""
        others = {member.server for member in self._fused.members} - {self._fused.member_of(rule.tool).server}
        return self._writes_changing([rule.holds], others)

    def _writes_changing(self, conditions: Sequence[str], servers: Collection[str]) -> list[Tool]:
        """Writes of these domains that change something that the conditions read."""
        reads: dict[str, set[str]] = {}
        for condition in conditions:
            for table, columns in self._accesses.of(guard_query(condition)).reads.items():
                reads.setdefault(table, set()).update(columns)
        return [
            tool
            for tool in self._world.blueprint.tools
            if self._fused.member_of(tool.name).server in servers
            and any(_affects(self._accesses.of(effect.sql), reads) for effect in tool.effects)
        ]


def prove_bridges(
    fused: FusedBlueprint, content: bytes, rules: Sequence[BridgeRule], now: str, seed: str
) -> dict[str, BridgeWitnesses]:
    """Rule -> its witnesses with all of the rules on.

    Args:
        fused: The contract of the fused world, without bridge rules.
        content: Its database, as a file holds it.
        rules: The bridge rules.
        now: The run's clock.
        seed: Seeds the choice of persons.

    Raises:
        sqlite3.Error: A rule's SQL fails on the data.
    """
    bridges = BridgedWorld(fused, content, rules, now, seed)
    try:
        return {rule.rule: bridges.witnesses(rule.rule) for rule in rules}
    finally:
        bridges.close()


def is_carried_out(world: World, witness: Witness) -> bool:
    """Whether a witness's call succeeds in a world."""
    with world.session(caller=witness.person) as session:
        results = [session.call(*step) for step in witness.before]
        return all(result.ok for result in results) and session.peek(*witness.call).ok


def proof_of(rule: str, witnesses: BridgeWitnesses) -> BridgeProof:
    """The record of a rule's proof, which has both witnesses; `rule` is its number."""
    assert witnesses.met is not None
    assert witnesses.broken is not None
    return BridgeProof(rule=rule, met=witnesses.met.record, broken=witnesses.broken.record)


def _affects(access: Access, reads: Mapping[str, set[str]]) -> bool:
    """Whether a statement changes rows or columns of `reads`: table -> columns."""
    updated = any(columns & reads.get(table, set()) for table, columns in access.updates.items())
    return updated or any(table in reads for table in access.inserts | access.deletes)

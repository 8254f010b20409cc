"""Feasibility first: whether each domain's part of a story can be had on its own world, before any world is fused.

What the links will supply is bound from the other side: rows that the other world shows the same person, results of the
calls that were made there. Where a person lacks rows, a past is lived for them on the single world, as tasks will have
it. Bridge rules are not asked: they can only forbid more. A story that falls here would fall on the fused world for
everybody, where looking for it costs far more.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random

from skillweave.schema.call import CallResult, RowChange
from skillweave.schema.fusion import PrunedStoryline, StoryCall, Storyline
from skillweave.schema.record import Json, Row, Value
from skillweave.schema.template import TaskTemplate, TemplateCall
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import column_origins
from synth.fusion.links import LinkSource, link_source
from synth.search.arguments import ArgumentSearch
from synth.search.values import keys_of_matching_rows, row_choices
from synth.tasks.fixtures import FixtureBuilder
from synth.tasks.replay import rows_of

TRIES = 3
"""Sets of arguments of one call, and rows of the other side for it, that are tried each."""
ROWS = 8
"""Rows of the other side that are looked at for one call."""
CALLS = 40
"""Calls of one story that are made for one person."""
GIVEN = 6
"""Persons who are given a past."""

Pasts = Mapping[str, Sequence[RowChange]]
"""Server -> what a past has changed there."""


class DeadEnd(Exception):
    """Nobody could be served beyond this call; the message says why."""

    def __init__(self, call: StoryCall, place: int, reason: str) -> None:
        super().__init__(f"{call.tool}: {reason}")
        self.server = call.server
        self.place = place


@dataclass
class FeasibilityTrials:
    """Carries stories out side by side on the single worlds."""

    worlds: Mapping[str, World]
    accounts: Sequence[Mapping[str, str]]
    """For each person who is everywhere, their key in each domain."""
    seed: str

    def pruned(self, storyline: Storyline) -> PrunedStoryline | None:
        """Why a story can be had by nobody; None where somebody could have it."""
        reasons: Counter[tuple[str, str]] = Counter()
        lost: list[tuple[Mapping[str, str], DeadEnd]] = []
        for account in self.accounts:
            stuck = self._attempt(storyline, account, {})
            if stuck is None:
                return None
            reasons[stuck.server, str(stuck)] += 1
            lost.append((account, stuck))
        if any(self._with_a_past(storyline, account, stuck) for account, stuck in lost[:GIVEN]):
            return None
        if not reasons:
            return PrunedStoryline(
                storyline=storyline.name, server=storyline.calls[0].server, reason="nobody is in all", saved=0
            )
        (server, reason), _ = max(reasons.items(), key=lambda entry: (entry[1], entry[0]))
        saved = len(self.accounts) * len(storyline.calls)
        return PrunedStoryline(storyline=storyline.name, server=server, reason=reason, saved=saved)

    def _attempt(self, storyline: Storyline, account: Mapping[str, str], pasts: Pasts) -> "DeadEnd | None":
        random = Random(f"{self.seed}/{storyline.name}/{sorted(account.items())}")
        return _Attempt(self.worlds, account, storyline, random, pasts).run()

    def _with_a_past(self, storyline: Storyline, account: Mapping[str, str], stuck: "DeadEnd") -> bool:
        """Whether a person could have the story after some past in the domain that it got stuck in."""
        calls = [TemplateCall(tool=call.tool) for call in storyline.calls if call.server == stuck.server]
        template = TaskTemplate(
            id=storyline.name, server=stuck.server, kind="do", title=storyline.title, calls=calls, reasons=[]
        )

        def reached(past: list[RowChange]) -> int:
            """Calls of the domain that got through, with that past."""
            later = self._attempt(storyline, account, {stuck.server: past})
            if later is None:
                return len(calls)
            return sum(call.server == stuck.server for call in storyline.calls[: later.place])

        before = sum(call.server == stuck.server for call in storyline.calls[: stuck.place])
        creation = FixtureBuilder(self.worlds[stuck.server], template, self.seed)
        patches = creation.patches(account[stuck.server], min(before, len(calls) - 1), reached)
        return next(patches, None) is not None


@dataclass
class _StoryStep:
    """A call that was made, with the rows that its arguments name."""

    result: CallResult
    rows: dict[str, Row]


@dataclass
class _Attempt:
    worlds: Mapping[str, World]
    account: Mapping[str, str]
    storyline: Storyline
    random: Random
    pasts: Pasts
    made: list[_StoryStep] = field(default_factory=list)
    calls: int = 0
    deepest: int = -1
    stuck: DeadEnd | None = None
    """At the deepest call that was reached."""

    def run(self) -> DeadEnd | None:
        """None where all calls were made; else at what it got stuck."""
        sessions = {
            server: world.session(caller=self.account[server], patch=self.pasts.get(server, ()))
            for server, world in self.worlds.items()
        }
        try:
            return None if self._from(0, sessions) else self.stuck
        finally:
            for session in sessions.values():
                session.close()

    def _from(self, place: int, sessions: Mapping[str, ContractSession]) -> bool:
        if place == len(self.storyline.calls):
            return True
        call = self.storyline.calls[place]
        session = sessions[call.server]
        for fixed, rows in islice(self._supplied(call, place, sessions), TRIES):
            for arguments in islice(self._arguments(call, session, fixed), TRIES):
                self.calls += 1
                if self.calls > CALLS:
                    return False
                mark = session.mark()
                result = session.call(call.tool, arguments)
                if result.ok:
                    self.made.append(_StoryStep(result, {**rows, **self._named(call, session, arguments)}))
                    if self._from(place + 1, sessions):
                        return True
                    self.made.pop()
                session.undo(mark)
        if place > self.deepest:
            self.deepest, self.stuck = place, DeadEnd(call, place, "no lawful call, with what the links supply")
        return False

    def _arguments(
        self, call: StoryCall, session: ContractSession, fixed: Mapping[str, Value]
    ) -> Iterator[dict[str, Value]]:
        blueprint = session.world.blueprint
        tool = blueprint.tool(call.tool)
        wanted = {name: columns for name, columns in call.rows.items() if name not in fixed}
        for chosen in row_choices(blueprint, tool, wanted, session, self.random):
            given = {**fixed, **chosen}
            search = ArgumentSearch(
                blueprint, tool, session, session.caller, session.now, self.random, given, nodes=120
            )
            yield from search.meeting()

    def _supplied(
        self, call: StoryCall, place: int, sessions: Mapping[str, ContractSession]
    ) -> Iterator[tuple[dict[str, Value], dict[str, Row]]]:
        """Arguments that links supply, with the rows of the other side that they are taken from."""
        for rows in self._other_rows(call, sessions):
            fixed: dict[str, Value] = {**call.given}
            for parameter, reference in call.names.items():
                key = self._key(reference)
                fixed[parameter] = rows[parameter][key]
            linked = {name: self._linked(place, rows, link) for name, link in call.same.items()}
            if all(value is not None for value in linked.values()):
                yield {**fixed, **linked}, rows

    def _other_rows(self, call: StoryCall, sessions: Mapping[str, ContractSession]) -> Iterator[dict[str, Row]]:
        """For each parameter that names another domain's row, such a row; every combination that is tried."""
        shown: list[list[Row]] = []
        for parameter, reference in call.names.items():
            server, _, entity = reference.partition(".")
            key = self._key(reference)
            allowed = call.rows.get(parameter, {})
            fit = keys_of_matching_rows(self.worlds[server].blueprint, f"{entity}.{key}", allowed, sessions[server])
            rows = [row for row in shown_rows(sessions[server], entity) if row[key] in fit]
            shown.append(self.random.sample(rows, min(ROWS, len(rows))))
        for picked in product(*shown):
            yield dict(zip(call.names, picked, strict=True))

    def _key(self, reference: str) -> str:
        server, _, entity = reference.partition(".")
        return self.worlds[server].blueprint.entity(entity).key

    def _linked(self, place: int, rows: Mapping[str, Row], link: str) -> Value:
        found = link_source(link)
        if found is None:
            return None
        value = self._value(found, place, rows)
        return value[:10] if found.is_day and isinstance(value, str) else value

    def _value(self, found: LinkSource, place: int, rows: Mapping[str, Row]) -> Value:
        if found.row is not None:
            own = rows if found.call == place + 1 else self.made[found.call - 1].rows
            return own.get(found.row, {}).get(found.column)
        held = self.made[found.call - 1].result
        value: Json = held.value.get(found.column) if isinstance(held.value, dict) else None
        value = value if value is not None else held.call.arguments.get(found.column)
        return None if isinstance(value, (dict, list)) else value

    def _named(self, call: StoryCall, session: ContractSession, arguments: Mapping[str, Value]) -> dict[str, Row]:
        """The rows of its own domain that a call's arguments name, as reads show them."""
        found: dict[str, Row] = {}
        for parameter in session.world.blueprint.tool(call.tool).parameters:
            if parameter.refers_to and parameter.name in arguments:
                entity, _, key = parameter.refers_to.partition(".")
                wanted = arguments[parameter.name]
                found[parameter.name] = next((r for r in shown_rows(session, entity) if r.get(key) == wanted), {})
        return found


def shown_rows(session: ContractSession, entity: str) -> list[Row]:
    """Rows of an entity that reads which need nothing show to the caller, by key, each with all that is shown of it."""
    blueprint = session.world.blueprint
    own = blueprint.entity(entity)
    found: dict[str, Row] = {}
    for tool in blueprint.tools:
        keys = [column for column, origin in column_origins(tool).items() if origin == (own.table, own.key)]
        if tool.kind != "read" or not keys or any(parameter.required for parameter in tool.parameters):
            continue
        for row in rows_of(session.peek(tool.name, {})):
            plain = {name: value for name, value in row.items() if not isinstance(value, (dict, list))}
            key = str(row[keys[0]])
            found[key] = {**plain, **found.get(key, {}), own.key: key}
    return [found[key] for key in sorted(found)]

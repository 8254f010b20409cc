"""Feasibility: whether each domain's part of a story can be carried out on its own world, before any world is fused.

What the links will supply is taken from the other side: rows that the other world shows the same person, and results of
calls made there. If a person lacks rows, a fixture is built for them on the single world, as tasks will have it. Bridge
rules are not checked, because they can only forbid more. A story that fails here would fail on the fused world for
everybody, where the search costs far more.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from random import Random

from skillweave.schema.contract import CallResult, RowChange
from skillweave.schema.fusion import PrunedStoryline, StoryCall, Storyline
from skillweave.schema.record import Json, Row, Value
from skillweave.schema.template import TaskTemplate, TemplateCall
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import column_origins
from synth.fusion.links import LinkSource, link_source
from synth.search.arguments import ArgumentSearch
from synth.search.values import keys_of_matching_rows, row_choices
from synth.tasks.combinations import FixtureBuilder
from synth.tasks.replay import rows_of

MOST_TRIES = 3
"""Sets of arguments that are tried for one call, and rows of the other side for each."""
MOST_ROWS = 8
"""Rows of the other side that are considered for one call."""
MOST_CALLS = 40
"""Calls of one story that are made for one person, counting those that are undone."""
MOST_FIXTURES = 6
"""Persons for whom a fixture is built."""

Fixtures = Mapping[str, Sequence[RowChange]]
"""Server -> the row changes of a fixture there."""


class DeadEnd(Exception):
    """A call of a story that could not be made; the message says why."""

    def __init__(self, call: StoryCall, place: int, reason: str) -> None:
        super().__init__(f"{call.tool}: {reason}")
        self.server = call.server
        self.place = place


@dataclass
class FeasibilityTrials:
    """Carries stories out on the single worlds of their domains, side by side."""

    worlds: Mapping[str, World]
    accounts: Sequence[Mapping[str, str]]
    """For each person whom all domains know, their key in each."""
    seed: str

    def pruned(self, storyline: Storyline) -> PrunedStoryline | None:
        """Why nobody can carry a story out; None if somebody can."""
        reasons: Counter[tuple[str, str]] = Counter()
        dead_ends: list[tuple[Mapping[str, str], DeadEnd]] = []
        for account in self.accounts:
            dead_end = self._attempt(storyline, account, {})
            if dead_end is None:
                return None
            reasons[dead_end.server, str(dead_end)] += 1
            dead_ends.append((account, dead_end))
        if any(
            self._succeeds_with_fixture(storyline, account, dead_end) for account, dead_end in dead_ends[:MOST_FIXTURES]
        ):
            return None
        if not reasons:
            return PrunedStoryline(
                storyline=storyline.name, server=storyline.calls[0].server, reason="nobody is in all", saved=0
            )
        (server, reason), _ = max(reasons.items(), key=lambda entry: (entry[1], entry[0]))
        saved = len(self.accounts) * len(storyline.calls)
        return PrunedStoryline(storyline=storyline.name, server=server, reason=reason, saved=saved)

    def _attempt(self, storyline: Storyline, account: Mapping[str, str], fixtures: Fixtures) -> DeadEnd | None:
        random = Random(f"{self.seed}/{storyline.name}/{sorted(account.items())}")
        return _Attempt(self.worlds, account, storyline, random, fixtures).run()

    def _succeeds_with_fixture(self, storyline: Storyline, account: Mapping[str, str], dead_end: DeadEnd) -> bool:
        """Whether a person can carry the story out after some fixture in the domain of the dead end."""
        calls = [TemplateCall(tool=call.tool) for call in storyline.calls if call.server == dead_end.server]
        template = TaskTemplate(
            id=storyline.name, server=dead_end.server, kind="do", title=storyline.title, calls=calls, reasons=[]
        )

        def calls_reached(changes: list[RowChange]) -> int:
            """Calls of the domain that succeed after these changes."""
            next_dead_end = self._attempt(storyline, account, {dead_end.server: changes})
            if next_dead_end is None:
                return len(calls)
            return sum(call.server == dead_end.server for call in storyline.calls[: next_dead_end.place])

        reached_before = sum(call.server == dead_end.server for call in storyline.calls[: dead_end.place])
        builder = FixtureBuilder(self.worlds[dead_end.server], template, self.seed)
        patches = builder.patches(account[dead_end.server], min(reached_before, len(calls) - 1), calls_reached)
        return next(patches, None) is not None


@dataclass
class _StoryStep:
    """A call that was made, with the rows that its arguments name."""

    result: CallResult
    rows: dict[str, Row]


@dataclass
class _Attempt:
    """One story, tried by one person: depth first, with backtracking."""

    worlds: Mapping[str, World]
    account: Mapping[str, str]
    storyline: Storyline
    random: Random
    fixtures: Fixtures
    steps: list[_StoryStep] = field(default_factory=list)
    calls_made: int = 0
    deepest: int = -1
    dead_end: DeadEnd | None = None
    """The deepest call that was reached."""

    def run(self) -> DeadEnd | None:
        """None if all calls were made; else the dead end."""
        sessions = {
            server: world.session(caller=self.account[server], patch=self.fixtures.get(server, ()))
            for server, world in self.worlds.items()
        }
        try:
            return None if self._calls_from(0, sessions) else self.dead_end
        finally:
            for session in sessions.values():
                session.close()

    def _calls_from(self, place: int, sessions: Mapping[str, ContractSession]) -> bool:
        if place == len(self.storyline.calls):
            return True
        call = self.storyline.calls[place]
        session = sessions[call.server]
        for fixed, rows in islice(self._supplied(call, place, sessions), MOST_TRIES):
            for arguments in islice(self._arguments(call, session, fixed), MOST_TRIES):
                self.calls_made += 1
                if self.calls_made > MOST_CALLS:
                    return False
                mark = session.mark()
                result = session.call(call.tool, arguments)
                if result.ok:
                    self.steps.append(_StoryStep(result, {**rows, **self._rows_named(call, session, arguments)}))
                    if self._calls_from(place + 1, sessions):
                        return True
                    self.steps.pop()
                session.undo(mark)
        if place > self.deepest:
            self.deepest, self.dead_end = place, DeadEnd(call, place, "no lawful call, with what the links supply")
        return False

    def _arguments(
        self, call: StoryCall, session: ContractSession, fixed: Mapping[str, Value]
    ) -> Iterator[dict[str, Value]]:
        blueprint = session.world.blueprint
        tool = blueprint.tool(call.tool)
        restricted = {name: columns for name, columns in call.rows.items() if name not in fixed}
        search = ArgumentSearch(blueprint, tool, session, session.caller, session.now, self.random, fixed, nodes=120)
        for chosen in search.lawful(row_choices(blueprint, tool, restricted, session, self.random)):
            yield from replace(search, fixed={**fixed, **chosen}).meeting()

    def _supplied(
        self, call: StoryCall, place: int, sessions: Mapping[str, ContractSession]
    ) -> Iterator[tuple[dict[str, Value], dict[str, Row]]]:
        """Sets of arguments that links supply, each with the rows of the other side that they come from."""
        for rows in self._other_rows(call, sessions):
            fixed: dict[str, Value] = {**call.given}
            for parameter, reference in call.names.items():
                key = self._key(reference)
                fixed[parameter] = rows[parameter][key]
            linked = {name: self._linked_value(place, rows, link) for name, link in call.same.items()}
            if all(value is not None for value in linked.values()):
                yield {**fixed, **linked}, rows

    def _other_rows(self, call: StoryCall, sessions: Mapping[str, ContractSession]) -> Iterator[dict[str, Row]]:
        """Combinations of one row for each parameter that names another domain's row."""
        candidates: list[list[Row]] = []
        for parameter, reference in call.names.items():
            server, _, entity = reference.partition(".")
            key = self._key(reference)
            allowed = call.rows.get(parameter, {})
            keys = keys_of_matching_rows(self.worlds[server].blueprint, f"{entity}.{key}", allowed, sessions[server])
            rows = [row for row in shown_rows(sessions[server], entity) if row[key] in keys]
            candidates.append(self.random.sample(rows, min(MOST_ROWS, len(rows))))
        for picked in product(*candidates):
            yield dict(zip(call.names, picked, strict=True))

    def _key(self, reference: str) -> str:
        server, _, entity = reference.partition(".")
        return self.worlds[server].blueprint.entity(entity).key

    def _linked_value(self, place: int, rows: Mapping[str, Row], link: str) -> Value:
        source = link_source(link)
        if source is None:
            return None
        value = self._value(source, place, rows)
        return value[:10] if source.is_day and isinstance(value, str) else value

    def _value(self, source: LinkSource, place: int, rows: Mapping[str, Row]) -> Value:
        if source.row is not None:
            rows_of_call = rows if source.call == place + 1 else self.steps[source.call - 1].rows
            return rows_of_call.get(source.row, {}).get(source.column)
        result = self.steps[source.call - 1].result
        value: Json = result.value.get(source.column) if isinstance(result.value, dict) else None
        value = value if value is not None else result.call.arguments.get(source.column)
        return None if isinstance(value, (dict, list)) else value

    def _rows_named(self, call: StoryCall, session: ContractSession, arguments: Mapping[str, Value]) -> dict[str, Row]:
        """Parameter -> the row of the call's own domain that its argument names, as reads show it."""
        rows_by_parameter: dict[str, Row] = {}
        for parameter in session.world.blueprint.tool(call.tool).parameters:
            if parameter.refers_to and parameter.name in arguments:
                entity, _, key = parameter.refers_to.partition(".")
                value = arguments[parameter.name]
                rows_by_parameter[parameter.name] = next(
                    (row for row in shown_rows(session, entity) if row.get(key) == value), {}
                )
        return rows_by_parameter


def shown_rows(session: ContractSession, entity: str) -> list[Row]:
    """The rows of an entity that reads without required parameters show to the caller.

    Returns:
        One row for each key, in the order of keys, with everything that any of these reads shows of it.
    """
    blueprint = session.world.blueprint
    own = blueprint.entity(entity)
    rows_by_key: dict[str, Row] = {}
    for tool in blueprint.tools:
        keys = [column for column, origin in column_origins(tool).items() if origin == (own.table, own.key)]
        if tool.kind != "read" or not keys or any(parameter.required for parameter in tool.parameters):
            continue
        for row in rows_of(session.peek(tool.name, {})):
            plain = {name: value for name, value in row.items() if not isinstance(value, (dict, list))}
            key = str(row[keys[0]])
            rows_by_key[key] = {**plain, **rows_by_key.get(key, {}), own.key: key}
    return [rows_by_key[key] for key in sorted(rows_by_key)]

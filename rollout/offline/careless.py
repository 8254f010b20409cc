"""The careless agent: the oracle with a seeded mistake in some conversations, which it does not notice.

The kind of task decides which mistakes are possible (`evaluator.kinds`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from evaluator.kinds import KINDS, Mistake
from rollout.offline.behaviour import AgentBehaviour, NextCall
from rollout.offline.script import PlannedCall, Script
from skillweave.schema.contract import DECLINE, SESSION_TOOLS, TRANSFER, Parameter
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Kind
from skillweave.world.replay import result_reference

SHARE = 0.6
"""Share of the conversations with a mistake."""
RECORDING: tuple[Mistake, ...] = ("nothing_recorded", "wrong_rule")
"""Mistakes where something has to be declined, whatever the kind of task."""
EXTRA_TRIES = 6
"""The most attempts at a write that nobody asked for."""
_INVENTED = ("quick_{}", "{}_now", "auto_{}", "{}_v2", "force_{}")
_LONGEST = 64
"""Characters of a tool's name."""


def mistake_of(seed: int, key: str, kind: Kind, *, declines: bool = False) -> Mistake | None:
    """Draw the mistake of a conversation.

    Args:
        seed: The run's seed.
        key: The trajectory's id.
        kind: The kind of task.
        declines: Whether something has to be declined, be it beside deeds.

    Returns:
        The mistake; None if the conversation has none.
    """
    random, mistakes = Random(f"{seed}/{key}/careless"), KINDS[kind].mistakes
    more = [mistake for mistake in RECORDING if declines and mistake not in mistakes]
    return random.choice([*mistakes, *more]) if random.random() < SHARE else None


class Careless(AgentBehaviour):
    """Follows a script with one mistake."""

    def __init__(self, script: Script, mistake: Mistake | None, source: str) -> None:
        """Create the behaviour.

        Args:
            script: The script to follow.
            mistake: The mistake to make; None for none.
            source: The prefix of all seeds that are drawn from.
        """
        self._script = script
        self._mistake = mistake
        self._source = source
        calls = script.calls
        usable = [at for at, call in enumerate(calls) if call.kind != "auth" and call.tool not in SESSION_TOOLS]
        writes = [at for at in usable if calls[at].kind == "write"]
        places = [at for at in usable if calls[at].tool in script.left_out] if mistake == "guesses" else writes
        self._at = self._random("place").choice(places or usable or [len(calls) - 1])
        self._has_writes = bool(writes)

    @property
    def followed(self) -> Script:
        """The script to follow, with the rule that the agent believes to be the deciding one."""
        others = sorted(self._script.rules.keys() - self._script.accepted)
        if self._mistake != "wrong_rule" or not others:
            return self._script
        rule = self._random("rule").choice(others)
        calls = (
            replace(call, arguments={**call.arguments, "rule": rule}) if call.tool == DECLINE else call
            for call in self._script.calls
        )
        return replace(self._script, calls=tuple(calls))

    def call(
        self, position: int, planned: PlannedCall, bound: NextCall, results: Mapping[int, Json]
    ) -> NextCall | None:
        """The call, with the mistake if it belongs here."""
        if self._mistake == "wrong_reason" and planned.tool == TRANSFER:
            return NextCall(planned.tool, {**bound.arguments, "reason": "cannot_verify"})
        if self._mistake == "nothing_recorded" and planned.tool == DECLINE:
            return None
        if position != self._at or planned.tool in SESSION_TOOLS:
            return bound
        if self._mistake == "skipped_call":
            return None
        if self._mistake == "invented_tool":
            name = self._random("name").choice(_INVENTED).format(planned.tool)
            return NextCall(name[:_LONGEST], bound.arguments)
        if self._mistake in ("wrong_argument", "guesses"):
            return NextCall(planned.tool, self._spoiled(planned, bound.arguments, results))
        return bound

    def extra(self, results: Mapping[int, Json], made: int, succeeded: bool) -> NextCall | None:
        """A write that nobody asked for, until one succeeds or the attempts are used up."""
        writes = [tool for tool in self._script.tools if tool.kind == "write"]
        if self._mistake != "extra_write" or succeeded or made >= EXTRA_TRIES or not writes:
            return None
        random = self._random(f"extra/{made}")
        tool = random.choice(writes)
        needed = [parameter for parameter in tool.parameters if parameter.required]
        return NextCall(tool.name, {parameter.name: self._any(parameter, results, random) for parameter in needed})

    def asks_for(self, fact: Fact) -> bool:
        """Whether it asks for a fact; an agent that guesses does not."""
        return self._mistake != "guesses" or not any(fact.id in ids for ids in self._script.left_out.values())

    def waits(self, position: int) -> bool:
        """Whether it proposes a call; it does not propose a guess."""
        return self._mistake != "guesses" or position != self._at

    def ignores_error(self, position: int) -> bool:
        """Whether it ignores an error; it ignores the result of its mistake."""
        return self._mistake in ("wrong_argument", "invented_tool", "guesses") and position == self._at

    def gives_up(self, position: int) -> bool:
        """Whether it gives up before a call that it should make."""
        return self._mistake == "gives_up" and position == self._at

    def value(self, told: FactToTell) -> Json:
        """The value to tell: a wrong one if the task has no writes to get wrong, None if it never looked it up."""
        right = told.values[0]
        if self._has_writes or self._mistake is None:
            return right
        if self._mistake in ("skipped_call", "invented_tool"):
            return None
        if self._mistake == "wrong_argument":
            random = self._random("fact")
            return random.choice(told.rivals) if told.rivals else _shifted(right, random)
        return right

    def _random(self, use: str) -> Random:
        return Random(f"{self._source}/{use}")

    def _spoiled(
        self, planned: PlannedCall, arguments: dict[str, Json], results: Mapping[int, Json]
    ) -> dict[str, Json]:
        random = self._random("argument")
        for name in random.sample(sorted(arguments), len(arguments)):
            others = [other for other in _others(planned, name, arguments[name], results) if other != arguments[name]]
            if others:
                return {**arguments, name: random.choice(others)}
            shifted = _shifted(arguments[name], random) if planned.grounding.get(name) == "user" else None
            if shifted is not None:
                return {**arguments, name: shifted}
        return arguments

    def _any(self, parameter: Parameter, results: Mapping[int, Json], random: Random) -> Json:
        """A random value for a parameter: an enum's, a result's, one that the script uses, or an example."""
        column = parameter.refers_to.rpartition(".")[2] if parameter.refers_to else parameter.name
        seen = [value for result in results.values() for value in column_of(result, column)]
        used = [call.arguments[column] for call in self._script.calls if column in call.arguments]
        values: list[Json] = [*(parameter.enum or [])] or seen or used or [*parameter.examples]
        if values:
            return random.choice(values)
        usual: dict[str, Json] = {"integer": 1, "number": 2, "boolean": True, "date": "2025-04-01"}
        return usual.get(parameter.type, "2025-04-01 10:00:00" if parameter.type == "datetime" else "other")


def column_of(result: Json, name: str) -> Iterator[Json]:
    """The values of a column in a result, without nulls."""
    for row in result if isinstance(result, list) else [result]:
        if isinstance(row, dict) and row.get(name) is not None:
            yield row[name]


def _others(planned: PlannedCall, name: str, value: Json, results: Mapping[int, Json]) -> list[Json]:
    """Other possible values of an argument: from other rows of the same result, or from the same enum."""
    source, parameter = result_reference(planned.grounding.get(name, "")), planned.parameters.get(name)
    if source is not None and isinstance(results.get(source.call), list):
        others = list(column_of(results[source.call], source.path.rpartition(".")[2]))
        return [str(other)[: len(str(value))] for other in others] if source.as_date else others
    return [*(parameter.enum or [])] if parameter is not None else []


def _shifted(value: Json, random: Random) -> Json:
    """A nearby value of a number, a date or a text of digits; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value + random.choice((1, 2, 5)) * (100 if value >= 1000 else 1)
    if isinstance(value, str) and value.isdecimal():
        return str((int(value) + 1) % 10 ** len(value)).zfill(len(value))
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return str(moment + timedelta(days=random.choice((1, 2, 3))))[: len(str(value))]

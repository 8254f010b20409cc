"""Careless: the oracle with a mistake now and then, which it does not notice; the conversation's key draws it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Literal

from rollout.offline.agents.heard import moment_of
from rollout.offline.agents.oracle.conduct import Conduct, Wanted
from rollout.offline.agents.oracle.rows import is_day, place_of, row_of
from rollout.offline.agents.script import Need, PlannedCall, Script
from skillweave.schema.call import TRANSFER
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json
from skillweave.schema.task import Kind

Mistake = Literal[
    "wrong_argument", "skipped_call", "extra_write", "invented_tool", "gives_up", "no_rule", "wrong_rule", "guesses",
    "wrong_reason",
]  # fmt: skip
_AT_WORK: tuple[Mistake, ...] = ("wrong_argument", "skipped_call", "extra_write", "invented_tool", "gives_up")
MISTAKES: Mapping[Kind, Sequence[Mistake]] = {
    "do": _AT_WORK,
    "inform": _AT_WORK,
    "clarify": (*_AT_WORK, "guesses"),
    "refuse": ("no_rule", "wrong_rule", "extra_write"),
    "unavailable": ("wrong_reason", "gives_up"),
}
"""What goes wrong, by kind of task."""
SHARE = 0.6
"""Conversations with a mistake."""
EXTRA_TRIES = 6
_INVENTED = ("quick_{}", "{}_now", "auto_{}", "{}_v2", "force_{}")


def mistake_of(seed: int, key: str, kind: Kind) -> Mistake | None:
    """The mistake of a conversation; None where there is none."""
    random = Random(f"{seed}/{key}/careless")
    return random.choice(MISTAKES[kind]) if random.random() < SHARE else None


class Careless(Conduct):
    def __init__(self, script: Script, mistake: Mistake | None, random: Callable[[str], Random]) -> None:
        """`random` gives a source for a use."""
        self._script = script
        self._mistake = mistake
        self._random = random
        calls = script.calls
        usable = [at for at, call in enumerate(calls) if call.kind != "auth" and call.tool != TRANSFER]
        writes = [at for at in usable if calls[at].kind == "write"]
        self._at = random("place").choice(writes or usable or [len(calls) - 1])
        self._has_writes = bool(writes)

    def call(
        self, position: int, planned: PlannedCall, arguments: dict[str, Json], results: Mapping[int, Json]
    ) -> Wanted | None:
        """The call, or what is made of it."""
        if self._mistake == "wrong_reason" and planned.tool == TRANSFER:
            return Wanted(planned.tool, {**arguments, "reason": "user_request"})
        if self._mistake == "guesses" and self._script.need_at(position) is not None:
            return Wanted(planned.tool, self._spoiled(planned, arguments, results))
        if position != self._at:
            return Wanted(planned.tool, arguments)
        if self._mistake == "skipped_call":
            return None
        if self._mistake == "invented_tool":
            return Wanted(self._random("name").choice(_INVENTED).format(planned.tool), arguments)
        if self._mistake == "wrong_argument":
            return Wanted(planned.tool, self._spoiled(planned, arguments, results))
        return Wanted(planned.tool, arguments)

    def extra(self, results: Mapping[int, Json], made: int, succeeded: bool) -> Wanted | None:
        """A write that nobody asked for: some are tried, until one is carried out."""
        if self._mistake != "extra_write" or succeeded or made >= EXTRA_TRIES:
            return None
        random = self._random(f"extra/{made}")
        writes = [tool for tool in self._script.tools if tool.kind == "write"]
        return self._filled(random.choice(writes), results, random) if writes else None

    def asks_for(self, need: Need) -> bool:
        """It would rather guess."""
        return self._mistake != "guesses"

    def rule(self, banned: str) -> str:
        """None, or another one, where it has not looked it up."""
        others = [guard.rule for tool in self._script.tools for guard in tool.guards]
        others = sorted({*others} - {*self._script.banned})
        if self._mistake == "wrong_rule" and others:
            return self._random("rule").choice(others)
        return "" if self._mistake in ("no_rule", "wrong_rule") else banned

    def shrugs(self, position: int) -> bool:
        """It does not look at what came of its mistake."""
        return self._mistake in ("wrong_argument", "invented_tool") and position == self._at

    def gives_up(self, position: int) -> bool:
        """It loses heart where something is to be done."""
        return self._mistake == "gives_up" and position == self._at

    def told(self, fact: int, value: Json) -> Json:
        """Another value, where nothing else could be got wrong; None where it never looked."""
        if self._has_writes or self._mistake is None:
            return value
        if self._mistake in ("skipped_call", "invented_tool"):
            return None
        if self._mistake == "wrong_argument":
            rivals = self._script.facts[fact].rivals
            return self._random("fact").choice(rivals) if rivals else _shifted(value, self._random("fact"))
        return value

    def _spoiled(
        self, planned: PlannedCall, arguments: dict[str, Json], results: Mapping[int, Json]
    ) -> dict[str, Json]:
        random = self._random("argument")
        for name in random.sample(sorted(arguments), len(arguments)):
            other = _other(planned, name, arguments[name], results, random)
            if other is not None and other != arguments[name]:
                return {**arguments, name: other}
        return arguments

    def _filled(self, tool: Tool, results: Mapping[int, Json], random: Random) -> Wanted:
        known = [call.arguments for call in self._script.calls]
        return Wanted(
            tool.name,
            {
                parameter.name: _any(parameter, known, results, random)
                for parameter in tool.parameters
                if parameter.required
            },
        )


def _other(planned: PlannedCall, name: str, value: Json, results: Mapping[int, Json], random: Random) -> Json:
    """Another value in an argument's place; None where there is none at hand."""
    source = planned.grounding.get(name, "")
    found, place = row_of(source, results), place_of(source)
    if found is not None and place is not None:
        others = [row[place.column] for row in found.others if row.get(place.column) is not None]
        others = [str(other)[: len(str(value))] for other in others] if is_day(source) else others
        others = [other for other in others if other != value]
        return random.choice(others) if others else None
    parameter = planned.parameters.get(name)
    if parameter is not None and parameter.enum:
        return random.choice([other for other in parameter.enum if other != value] or [value])
    return _shifted(value, random) if planned.grounding.get(name) == "user" else None


def _shifted(value: Json, random: Random) -> Json:
    """A number or a day beside it; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value + random.choice((1, 2, 5)) * (100 if value >= 1000 else 1)
    moment = moment_of(str(value))
    if moment is None:
        return None
    later: datetime = moment + timedelta(days=random.choice((1, 2, 3)))
    return str(later)[: len(str(value))]


def _any(
    parameter: Parameter, known: Sequence[Mapping[str, Json]], results: Mapping[int, Json], random: Random
) -> Json:
    """Some value of a parameter: a row's key, a value that was used, an example."""
    if parameter.enum:
        return random.choice(parameter.enum)
    column = parameter.refers_to.rpartition(".")[2] if parameter.refers_to else parameter.name
    seen = [value for result in results.values() for value in _column(result, column)]
    used = [arguments[name] for arguments in known for name in arguments if name in (parameter.name, column)]
    found: list[Json] = seen or used or list(parameter.examples)
    if found:
        return random.choice(found)
    if parameter.type in ("integer", "number"):
        return random.randint(1, 3)
    if parameter.type == "boolean":
        return True
    return {"date": "2025-04-01", "datetime": "2025-04-01 10:00:00"}.get(parameter.type, "other")


def _column(value: Json, name: str) -> list[Json]:
    if isinstance(value, list):
        return [found for row in value for found in _column(row, name)]
    return [value[name]] if isinstance(value, dict) and value.get(name) is not None else []

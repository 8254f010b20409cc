"""Breaches: arguments of a call that one rule forbids, such as somebody may ask for in good faith."""

from collections.abc import Iterator
from datetime import date
from itertools import islice

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Value
from skillweave.schema.template import TaskTemplate
from skillweave.world.session import ContractSession
from synth.graph.deciding import shown_by, unknown
from synth.planner.broken import broken_by
from synth.planner.search import Arguments, Search
from synth.planner.slots import slots
from synth.planner.values import MISSING, State, plain

TRIED = 600
"""Calls that are looked at to find those that somebody would ask for."""
WEIGHED = 24
"""Calls of which those go first whose days are not far off."""
NEAR, FAR = 62, 400
"""Days from now within which most wishes lie, and nearly all."""
LEAST_CENTS = 100
"""The least amount that somebody would speak of."""
ADULT = 18 * 365
"""Days since the birth of whoever asks for something."""
UNBORN = 270
"""Days to the birth of whoever is expected."""
LAWFUL = 8
"""Lawful calls that show whether a day lies ahead."""
SEEN = 60
"""Calls that break a rule that are looked at, of one caller."""


def can_be_known(blueprint: Blueprint, template: TaskTemplate) -> bool:
    """Whether an agent that may look at all can see what decides the rule that a template's last call breaks."""
    wanted = unknown(blueprint, blueprint.tool(template.calls[-1].tool), template.forbidden or "")
    return not wanted.difference(*(shown_by(read) for read in blueprint.tools if read.kind == "read"))


def breaches(search: Search, session: ContractSession, rule: str, *, alone: bool) -> Iterator[Arguments]:
    """Calls that break a rule and nothing else; or, not `alone`, nothing that another such call would not break."""
    usual = Usual(search.tool, session, search.now)
    found = search.breaking(rule, alone=alone) if alone else _bound_to_break(search, session, rule)
    sayable = [*islice(filter(usual.is_sayable, islice(found, TRIED)), WEIGHED)]
    ahead = _ahead(search) if sayable else frozenset()
    yield from sorted(sayable, key=lambda one: usual.oddity(one, ahead))


def implied_by(search: Search, session: ContractSession, rule: str) -> set[str]:
    """Rules that every call breaks which breaks this one first, as things stand."""
    broken = [{*broken_by(session, search.tool, one)} for one in islice(search.breaking(rule), SEEN)]
    return broken[0].intersection(*broken) if broken else set()


def _bound_to_break(search: Search, session: ContractSession, rule: str) -> Iterator[Arguments]:
    """Calls that break a rule and those that go with it, and none else."""
    found = [*islice(search.breaking(rule), SEEN)]
    broken = [{*broken_by(session, search.tool, one)} for one in found]
    implied = broken[0].intersection(*broken) if broken else set()
    yield from (one for one, rules in zip(found, broken, strict=True) if rules == implied)


class Usual:
    """What people say for a tool's parameters, in one state; each is looked up once."""

    def __init__(self, tool: Tool, state: State, now: str) -> None:
        self._tool, self._state, self._now = tool, state, now
        self._slots = slots(tool)
        self._groups: dict[str, list[list[Value]]] = {}

    def is_sayable(self, arguments: Arguments) -> bool:
        """Whether people would say such values: no made-up texts, nothing of which there is less than one."""
        return all(self._is_sayable(name, value) for name, value in arguments.items())

    def oddity(self, arguments: Arguments, ahead: frozenset[str]) -> int:
        """How odd a wish is: days gone by where lawful ones lie ahead, figures unlike those on record, far-off days."""
        days = {name: _days_to(value, self._now) for name, value in arguments.items() if _is_day(self._tool, name)}
        gone = sum(days[name] < 0 for name in ahead & days.keys())
        unlike = sum(self._is_unlike(name, value) for name, value in arguments.items())
        off = max(map(abs, days.values()), default=0)
        return 4 * (gone + unlike) + (off > NEAR) + (off > FAR)

    def _is_sayable(self, name: str, value: Value) -> bool:
        parameter = self._slots[name].parameter
        if isinstance(value, bool):
            return True
        if isinstance(value, (int, float)):
            given = [one for group in self._given(name) for one in group if isinstance(one, (int, float))]
            return (LEAST_CENTS if name.endswith("_cents") else 0) <= value and 0 < value <= 2 * max(given, default=0)
        if parameter.refers_to:
            return value != MISSING
        if parameter.type == "string" and not parameter.enum:
            return any(value in group for group in self._given(name))
        off = _days_to(value, self._now) if "birth" in name else -ADULT
        return off <= -ADULT or 0 < off <= UNBORN

    def _is_unlike(self, name: str, value: Value) -> bool:
        """Whether a figure is smaller or greater than all that people have given so far."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        known = [one for one in self._given(name)[0] if isinstance(one, (int, float)) and one > 0]
        return bool(known) and not min(known) <= value <= max(known)

    def _given(self, name: str) -> list[list[Value]]:
        if name not in self._groups:
            self._groups[name] = plain(self._slots[name], self._state, self._now)
        return self._groups[name]


def _ahead(search: Search) -> frozenset[str]:
    """Parameters of days that lie ahead in all lawful calls that are found."""
    days = [name for name in slots(search.tool) if _is_day(search.tool, name)]
    lawful = [*islice(search.meeting(), LAWFUL)] if days else []
    given = {name: [_days_to(one[name], search.now) for one in lawful if one.get(name)] for name in days}
    return frozenset(name for name, off in given.items() if off and min(off) >= 0)


def _is_day(tool: Tool, name: str) -> bool:
    return tool.parameter(name).type in ("date", "datetime")


def _days_to(value: Value, now: str) -> int:
    """Days from now; negative where they are gone by."""
    return (date.fromisoformat(str(value)[:10]) - date.fromisoformat(now[:10])).days

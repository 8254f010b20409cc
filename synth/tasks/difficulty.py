"""How hard a task is: a level from 1 to 5, from what has to be done and the forms in which it is asked for."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from skillweave.base.command import counted
from skillweave.schema.combination import Combination
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.task import Difficulty
from skillweave.schema.template import TaskTemplate
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.tasks.forms.compounds import is_deep
from synth.tasks.kinds import KINDS

NOISE_FACTOR: Mapping[int, float] = {1: 0.5, 2: 0.75, 3: 1.0, 4: 3.0, 5: 4.0}
"""Level -> how many times as often as on the whole faults are planted in its tasks."""


DEMANDING = frozenset({"aggregate", "batch", "change_of_mind", "fallback", "what_if"})
"""Forms that take more than a look-up: several rows at once, a course that turns, or what the policy makes of it."""


class Demands(NamedTuple):
    """What a task demands, as far as its level follows from it."""

    calls: int
    """Golden calls, with signing in and the record of what is declined."""
    writes: int
    """Golden calls that change state."""
    domains: int = 1
    """Domains that are called."""
    told: int = 0
    """Values that the user has to be told."""
    forms: int = 0
    """Forms in which the request is put."""
    demanding: int = 0
    """1 if one of them takes more than a look-up (`DEMANDING`), or something turns on what a call would come to."""
    amounts: int = 0
    """Amounts that have to be added up for one answer."""


Condition = Mapping[str, int]
"""Field of `Demands` -> how much of it there has to be, at least; all of them have to hold."""


class LevelRule(NamedTuple):
    """When a task is of a level: so many of these conditions hold. Levels are decided and described from this alone."""

    level: int
    least: int
    conditions: Sequence[Condition]

    def holds(self, demands: Demands) -> bool:
        """Whether a task with these demands is of this level, or of a higher one."""
        met = (all(getattr(demands, name) >= least for name, least in one.items()) for one in self.conditions)
        return sum(met) >= self.least

    @property
    def words(self) -> str:
        """What has to hold, for a reader."""
        if not self.conditions:
            return "anything else"
        parts = [" with ".join(_amount(name, least) for name, least in one.items()) for one in self.conditions]
        return f"{self.least if self.least > 1 else 'any'} of: {'; '.join(parts)}"


LEVELS: Sequence[LevelRule] = (
    LevelRule(5, 2, ({"calls": 10}, {"writes": 5}, {"forms": 4}, {"demanding": 1, "forms": 3})),
    LevelRule(4, 2, ({"calls": 8}, {"writes": 3}, {"forms": 3}, {"demanding": 1}, {"domains": 2}, {"amounts": 12})),
    LevelRule(
        3,
        1,
        (
            {"calls": 5, "forms": 1},
            {"calls": 5, "writes": 2},
            {"calls": 5, "domains": 2},
            {"forms": 2},
            {"forms": 1, "writes": 2},
            {"calls": 7},
            {"told": 4},
        ),
    ),
    LevelRule(2, 1, ({"calls": 4}, {"writes": 2}, {"forms": 1}, {"domains": 2}, {"told": 2})),
    LevelRule(1, 0, ()),
)
"""The levels, from the highest. A task is of the first that holds. Planted faults are not counted: they are planted the
more often the higher the level is (`NOISE_FACTOR`)."""
NOUNS = {
    "calls": "golden call",
    "writes": "write",
    "domains": "domain",
    "told": "value to tell",
    "forms": "form",
    "amounts": "amount to add up",
}


def _amount(name: str, least: int) -> str:
    if name == "demanding":
        return "a demanding form"
    noun = NOUNS[name]
    head, _, tail = noun.partition(" to ")
    return f"{counted(least, head)}{f' to {tail}' if tail else ''}"


def level_of(
    *,
    calls: int,
    writes: int,
    domains: int = 1,
    told: int = 0,
    forms: Collection[str] = (),
    is_foreseen: bool = False,
    amounts: int = 0,
) -> int:
    """The level of a task: the highest of `LEVELS` that holds.

    Args:
        calls: Golden calls, with signing in and the record of what is declined.
        writes: Golden calls that change state.
        domains: Domains that are called.
        told: Values that the user has to be told.
        forms: Names of the forms in which the request is put.
        is_foreseen: Whether something turns on what a call would come to.
        amounts: Amounts that have to be added up for one answer.
    """
    asked = {*forms}
    demanding = int(is_foreseen or bool(asked & DEMANDING))
    demands = Demands(calls, writes, domains, told, len(asked), demanding, amounts)
    return next(rule.level for rule in LEVELS if rule.holds(demands))


def difficulty_of(world: World, combination: Combination, *, facts: int = 0, shortest: int | None = None) -> Difficulty:
    """How much there is to do in a combination's task, before faults are planted.

    Args:
        facts: Facts that the user knows.
        shortest: Calls of the shortest solution known.
    """
    golden = [*combination.golden, *KINDS[combination.kind].ending(combination)]
    writes = sum(tool_of(world.blueprint, call.tool).kind == "write" for call in golden)
    asked = [combination.asked] if combination.asked else []
    domains = len(_domains(world, [*golden, *asked]))
    level = level_of(
        calls=len(golden),
        writes=writes,
        domains=domains,
        told=len(combination.communicate),
        forms=[form.name for form in combination.forms],
        is_foreseen=any(form.foreseen for form in combination.forms),
        amounts=max((len(fact.parts) for fact in combination.communicate), default=0),
    )
    return Difficulty(level=level, calls=len(golden), writes=writes, domains=domains, facts=facts, shortest=shortest)


def _domains(world: World, calls: Iterable[GoldenCall]) -> set[str]:
    return {world.role(call.tool).account for call in calls if call.tool not in SESSION_TOOLS}


def level_expected(template: TaskTemplate, writes: int) -> int:
    """About the level of a template's tasks, before any is made: a read finds each row, and most sign in.

    Args:
        writes: Calls of the template that change state.
    """
    return level_of(
        calls=1 + len(template.calls) + sum(bool(call.found_by) for call in template.calls),
        writes=writes,
        told=len(template.tell),
        forms=template.forms,
        is_foreseen=any(is_deep(part) for part in [*template.parts, template] if part.forms),
    )

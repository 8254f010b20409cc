"""How hard a task is: a level from 1 to 5, from what has to be done and the forms in which it is asked for."""

from collections.abc import Collection, Iterable, Mapping

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
    """The level of a task: the highest of which the line holds.

    | level | holds |
    | ---: | --- |
    | 5 | two of these four: 10 calls, 5 writes, 4 forms, a demanding form among 3 |
    | 4 | two of these six: 8 calls, 3 writes, 3 forms, a demanding form, 2 domains, 12 amounts to add up |
    | 3 | 5 calls with a form, 2 writes or 2 domains; 2 forms; a form with 2 writes; 7 calls; or 4 told values |
    | 2 | 4 calls, or 2 writes, or a form, or 2 domains, or 2 told values |
    | 1 | anything |

    Demanding are sums, batches, changes of mind, fallbacks, and whatever turns on an outcome that has to be foreseen
    (`DEMANDING`). Planted faults are not counted: they are planted the more often the higher the level is
    (`NOISE_FACTOR`).

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
    is_demanding = is_foreseen or bool(asked & DEMANDING)
    if (calls >= 10) + (writes >= 5) + (len(asked) >= 4) + (is_demanding and len(asked) >= 3) >= 2:
        return 5
    if (calls >= 8) + (writes >= 3) + (len(asked) >= 3) + is_demanding + (domains >= 2) + (amounts >= 12) >= 2:
        return 4
    if (calls >= 5 and (asked or writes >= 2 or domains >= 2)) or len(asked) >= 2 or (asked and writes >= 2):
        return 3
    if calls >= 7 or told >= 4:
        return 3
    return 2 if calls >= 4 or asked or max(writes, domains, told) >= 2 else 1


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

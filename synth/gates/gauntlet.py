"""The gauntlet: all gates in order. A combination comes out validated, or Rejected says at which gate it fell."""

from collections.abc import Collection, Iterable

from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.task import Gates
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.gates.criteria import criteria_of
from synth.gates.declined import declined
from synth.gates.fresh import fresh
from synth.gates.golden import golden
from synth.gates.grounded import grounded
from synth.gates.indifferent import indifferent
from synth.gates.interlock import interlock
from synth.gates.lawful import lawful
from synth.gates.minimal import minimal
from synth.gates.not_already_true import not_already_true
from synth.gates.observable import observable
from synth.gates.otherwise import otherwise
from synth.gates.roundabout import roundabout
from synth.gates.trials import with_trials
from synth.gates.unreachable import unreachable
from synth.gates.withheld import withheld
from synth.planner.planned import planned
from synth.planner.problem import BOUNDS, Bounds


class Gauntlet:
    """The gates of one world, through which its combinations go one after the other.

    What is the same for all tasks of a template is tried with the first of them that passes. Pure: the same
    combinations in the same order give the same figures.
    """

    def __init__(
        self, world: World, templates: Iterable[TaskTemplate], stated: Collection[str], bounds: Bounds = BOUNDS
    ) -> None:
        """`stated` are the rules that the policy prints."""
        self._world = world
        self._templates = {template.id: template for template in templates}
        self._stated = stated
        self._bounds = bounds
        self._tried: set[str] = set()

    def validated(self, combination: Combination) -> ValidatedTask:
        """The combination with its criteria and its gates' figures."""
        template = self._templates[combination.template]
        conduct = template.id not in self._tried
        found = validated(self._world, combination, template, self._stated, self._bounds, conduct=conduct)
        self._tried.add(template.id)
        return found


def validated(
    world: World,
    combination: Combination,
    template: TaskTemplate,
    stated: Collection[str],
    bounds: Bounds = BOUNDS,
    *,
    conduct: bool = True,
) -> ValidatedTask:
    """The combination with its criteria and its gates' figures.

    Args:
        stated: The rules that the policy prints.
        conduct: Whether what is the same for all tasks of the template is tried as well.
    """
    made, replayed = golden(world, combination)
    kept = lawful(world, combination, made, stated)
    criteria = criteria_of(world, combination, made)
    # What has no source, or two meanings, is told before what is merely not needed.
    fixed = grounded(world, combination, template, criteria, made)
    gates = Gates(
        golden=replayed,
        not_already_true=not_already_true(world, combination, criteria),
        minimal=minimal(world, combination, criteria, made),
        equivalents=indifferent(world, combination, template, criteria, made),
        grounded={
            **fixed,
            **withheld(world, combination, criteria),
            "varied": observable(world, combination, criteria),
            "read_again": fresh(world, combination),
            "other_ways": otherwise(world, combination, criteria),
        },
        lawful={
            **kept,
            **declined(world, combination),
            **unreachable(world, combination, criteria),
            **roundabout(world, combination),
        },
        planner=planned(world, combination, criteria, bounds),
        interlock=interlock(world, combination) if len(world.blueprint.roles) > 1 else {},
    )
    gates = with_trials(world, combination, template, criteria, gates, conduct=conduct)
    return ValidatedTask(combination=combination, criteria=criteria, gates=gates)

"""Kind `inform`: somebody wants to know something. Its templates are the goals that an author gives."""

from collections.abc import Iterator

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.template import Goal
from synth.tasks.kinds.recipe import KindRecipe


class InformRecipe(KindRecipe):
    """Reads whose results hold what the user asks for."""

    def goal_faults(self, goal: Goal, blueprint: Blueprint) -> Iterator[str]:
        """A goal that only asks has to ask for something."""
        if not goal.tell:
            yield "an `inform` goal needs something to tell"

"""Kinds `do` and `inform`: somebody wants something done, or wants to know something.

Their templates are the goals that an author gives, and stories.
"""

from collections.abc import Iterator

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.template import Goal
from synth.tasks.kinds.recipe import KindRecipe


class DoRecipe(KindRecipe):
    """Calls of which one writes at least."""

    changes_state = True

    def goal_faults(self, goal: Goal, blueprint: Blueprint) -> Iterator[str]:
        """A goal that only asks is of the kind `inform`."""
        writes = {tool.name for tool in blueprint.tools if tool.kind == "write"}
        if not any(call.tool in writes for call in goal.calls):
            yield "a `do` goal needs a write; `inform` is the kind of one that only asks"


class InformRecipe(KindRecipe):
    """Reads whose results hold what the user asks for."""

    def goal_faults(self, goal: Goal, blueprint: Blueprint) -> Iterator[str]:
        """A goal that only asks has to ask for something."""
        if not goal.tell:
            yield "an `inform` goal needs something to tell"

"""Kinds of goals: `do`, something that tools and policy allow, and `inform`, something that look-ups show."""

from evaluator.kinds.kind import TaskKind


class Do(TaskKind):
    """A request for writes; look-ups serve them."""

    is_goal = True


class Inform(TaskKind):
    """A question. What the user must be told stands in `criteria.communicate`."""

    is_goal = True

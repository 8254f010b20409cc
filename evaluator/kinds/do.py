"""Kind `do`: the user wants something done, and the tools and the policy allow it."""

from evaluator.kinds.kind import TaskKind


class Do(TaskKind):
    """A request for writes; look-ups serve them."""

    is_goal = True

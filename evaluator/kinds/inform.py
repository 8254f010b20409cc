"""Kind `inform`: the user wants to know something that look-ups show. Nothing is written."""

from evaluator.kinds.kind import TaskKind


class Inform(TaskKind):
    """A question. What the user must be told stands in `criteria.communicate`."""

    is_goal = True

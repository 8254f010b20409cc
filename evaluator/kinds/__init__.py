"""Kinds of task, one module each, and their registry.

Everything that depends on a task's kind goes over `KINDS`: variants, the policy check, explanations, the rubric, and
the scripted agents.
"""

from evaluator.kinds.clarify import Clarify
from evaluator.kinds.kind import Do, Inform, Mistake, TaskKind
from evaluator.kinds.refuse import Refuse
from evaluator.kinds.unavailable import Unavailable
from skillweave.plugins import Registry

__all__ = ["KINDS", "Mistake", "TaskKind"]

KINDS: Registry[TaskKind] = Registry(
    "kind of task",
    {
        "do": Do(),
        "inform": Inform(),
        "refuse": Refuse(),
        "clarify": Clarify(),
        "unavailable": Unavailable(),
    },
)

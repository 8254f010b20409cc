"""Failed calls, and the golden ones that they were meant for."""

from difflib import SequenceMatcher

from evaluator.execution import Step
from evaluator.explain.evidence import Evidence
from evaluator.matching.calls import is_same

ALIKE = 0.75
"""Names of tools that are as similar as this, of 1, are meant for each other."""


def aimed_at(evidence: Evidence, wanted: Step) -> list[Step]:
    """Failed calls that were meant for a golden one: of its tool, or of no tool at all by its name or values."""
    return [step for step in evidence.made if not step.ok and _is_meant_for(step, wanted)]


def is_unreadable(step: Step) -> bool:
    """Whether nobody could carry the call out: by its arguments' form, or its name."""
    error = step.result.error
    return step.is_malformed or (error is not None and error.code in ("invalid_arguments", "unknown_tool"))


def _is_meant_for(step: Step, wanted: Step) -> bool:
    if step.tool == wanted.tool:
        return True
    error = step.result.error
    if error is None or error.code != "unknown_tool":
        return False
    names = step.tool[:100].casefold(), wanted.tool.casefold()
    likeness = SequenceMatcher(None, *names)
    is_alike = likeness.real_quick_ratio() >= ALIKE and likeness.ratio() >= ALIKE
    return names[1] in names[0] or is_alike or (bool(wanted.arguments) and is_same(step.arguments, wanted.arguments))

"""Kinds of task as they are made, one module each, and their registry. How a kind is scored: `evaluator.kinds`.

Everything in making tasks that depends on their kind goes over `KINDS`.
"""

from collections.abc import Sequence

from evaluator.kinds import KINDS as SCORED_KINDS
from skillweave.plugins import Registry
from skillweave.schema.combination import Combination
from skillweave.schema.contract import DECLINE, TRANSFER
from skillweave.schema.task import Task
from skillweave.schema.template import TaskTemplate
from synth.tasks.kinds.clarify import ClarifyRecipe
from synth.tasks.kinds.recipe import FailurePoint, Instance, InstanceSetting, KindRecipe, NoInstance, TemplateSource
from synth.tasks.kinds.refuse import RefuseRecipe
from synth.tasks.kinds.unavailable import UnavailableRecipe
from synth.tasks.kinds.wishes import DoRecipe, InformRecipe

__all__ = [
    "KINDS",
    "FailurePoint",
    "Instance",
    "InstanceSetting",
    "KindRecipe",
    "NoInstance",
    "TemplateSource",
    "derived_templates",
    "is_declined",
    "is_transferred",
]

KINDS: Registry[KindRecipe] = Registry(
    "kind of task",
    {
        "do": DoRecipe(),
        "inform": InformRecipe(),
        "refuse": RefuseRecipe(),
        "clarify": ClarifyRecipe(),
        "unavailable": UnavailableRecipe(),
    },
)


def derived_templates(goals: Sequence[TaskTemplate], source: TemplateSource) -> list[TaskTemplate]:
    """All templates that follow from a world's goals and rules; none without goals.

    If nobody wants anything of a world, nobody wants what is forbidden there either.
    """
    is_fused = source.bridge_rules is not None
    recipes = [recipe for recipe in KINDS.values() if recipe.is_for_fused_worlds or not is_fused]
    return [template for recipe in recipes for template in recipe.templates(goals, source)] if goals else []


def is_declined(task: Combination | Task) -> bool:
    """Whether the request of a task is declined, because a rule forbids it."""
    return SCORED_KINDS[task.kind].ending == DECLINE


def is_transferred(task: Combination | Task) -> bool:
    """Whether the request of a task is transferred to a human, because no offered tool serves it."""
    return SCORED_KINDS[task.kind].ending == TRANSFER

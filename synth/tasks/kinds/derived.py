"""All templates that follow from a world's goals and rules, without asking anybody."""

from collections.abc import Mapping, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.template import TaskTemplate, ToolGraph
from synth.tasks.kinds.clarify import clarify_templates
from synth.tasks.kinds.refuse import refuse_templates
from synth.tasks.kinds.unavailable import unavailable_templates


def derived_templates(
    goals: Sequence[TaskTemplate],
    blueprint: Blueprint,
    graph: ToolGraph,
    referred_by: Mapping[str, Sequence[str]],
) -> list[TaskTemplate]:
    """Templates of what a rule forbids, of what is left out, and of what no tool does. `goals` are those of people."""
    return [
        *refuse_templates(goals, blueprint, graph, referred_by),
        *clarify_templates(goals, blueprint),
        *unavailable_templates(goals, blueprint),
    ]

"""All templates that follow from a world's goals and rules, without asking anybody."""

from collections.abc import Mapping, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.template import TaskTemplate
from skillweave.schema.tool_graph import ToolGraph
from synth.tasks.kinds.absences import absences
from synth.tasks.kinds.clarifications import clarifications
from synth.tasks.kinds.refusals import refusals


def derived(
    goals: Sequence[TaskTemplate],
    blueprint: Blueprint,
    graph: ToolGraph,
    referred_by: Mapping[str, Sequence[str]],
) -> list[TaskTemplate]:
    """Templates of what a rule forbids, of what is left out, and of what no tool does. `goals` are those of people."""
    return [
        *refusals(goals, blueprint, graph, referred_by),
        *clarifications(goals, blueprint),
        *absences(goals, blueprint),
    ]

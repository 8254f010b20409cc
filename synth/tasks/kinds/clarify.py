"""Kind `clarify`: the user leaves something out of the request that decides what is meant, and has to be asked."""

from collections import Counter
from collections.abc import Iterator, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, ParameterType
from skillweave.schema.template import OmittedSlot, TaskTemplate, TemplateCall
from synth.tasks.kinds.recipe import KindRecipe, TemplateSource

PER_GOAL = 2
"""Slots that are left out of one goal, each in a template of its own."""
GOALS = 2
"""Goals of which the same parameter of the same tool is left out, at most."""
_WHY = ("reason", "cause", "why")
"""Words in names of parameters that people fill without being asked."""
_SORTS: tuple[ParameterType, ...] = ("string", "date", "datetime", "integer", "number")


class ClarifyRecipe(KindRecipe):
    """Goals of which one value or row is left out of the request."""

    limit = "per_clarification"
    withholds = True

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> list[TaskTemplate]:
        """The goals of which something can be left out, each with what that is.

        Short goals come first: there are more long ones, and what is left out of them is the same.
        """
        used: Counter[tuple[str, str]] = Counter()
        templates: dict[str, list[TaskTemplate]] = {}
        for goal in sorted(goals, key=lambda goal: len(goal.calls)):
            for omitted in _omitted_slots(goal, source.blueprint, used) if goal.kind == "do" else ():
                used[goal.calls[omitted.call - 1].tool, omitted.parameter] += 1
                known = templates.setdefault(goal.id, [])
                # Who leaves out the first thing that people leave out asks for no more than the deed.
                known.append(_without(goal if known else goal.model_copy(update={"tell": []}), omitted))
        return [template for goal in goals for template in templates.get(goal.id, [])]


def _without(goal: TaskTemplate, omitted: OmittedSlot) -> TaskTemplate:
    server, _, name = goal.id.partition("/")
    identity = f"{server}/clarify_{name}_{omitted.parameter}"
    return goal.model_copy(update={"id": identity, "kind": "clarify", "base": goal.id, "withheld": [omitted]})


def _omitted_slots(goal: TaskTemplate, blueprint: Blueprint, used: Counter[tuple[str, str]]) -> list[OmittedSlot]:
    """The slots to leave out of a goal: a row and a value if it has both."""
    rows: dict[str, OmittedSlot] = {}
    values: dict[str, OmittedSlot] = {}
    tools = Counter(call.tool for call in goal.calls)
    for place, call in enumerate(goal.calls, start=1):
        tool = blueprint.tool(call.tool)
        # Of two calls of one tool nobody could say for which of them something was left out.
        if tool.kind != "write" or tools[tool.name] > 1:
            continue
        for parameter in _said(call, tool.parameters):
            if used[tool.name, parameter.name] < GOALS:
                sort = rows if parameter.refers_to else values
                sort.setdefault(parameter.name, OmittedSlot(call=place, parameter=parameter.name))
    figures = [one for one in values.values() if _is_figure(goal, one, blueprint)]
    # Nobody can guess a day or a figure from what else is said; an enum value may be guessed.
    ordered = [*figures, *(one for one in values.values() if one not in figures)]
    first = [*[*rows.values()][:1], *ordered[:1]]
    return [*first, *(one for one in [*rows.values(), *ordered] if one not in first)][:PER_GOAL]


def _is_figure(goal: TaskTemplate, one: OmittedSlot, blueprint: Blueprint) -> bool:
    return blueprint.tool(goal.calls[one.call - 1].tool).parameter(one.parameter).type != "string"


def _said(call: TemplateCall, parameters: Sequence[Parameter]) -> Iterator[Parameter]:
    """Parameters whose values the user alone knows, and would not say without being asked."""
    settled = {*call.same, *call.given, *call.names}
    for parameter in parameters:
        if not parameter.required or parameter.name in settled or parameter.type not in _SORTS:
            continue
        if parameter.refers_to:
            if call.found_by.get(parameter.name):
                yield parameter
        elif not any(word in parameter.name.split("_") for word in _WHY):
            yield parameter

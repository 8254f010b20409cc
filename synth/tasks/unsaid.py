"""What is left unsaid: optional arguments that the user has no preference about, or wants nothing of."""

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import SaidValue
from skillweave.schema.contract import Tool
from synth.tasks.fills import filled_by
from synth.tasks.instance import Instance


def leave_open(blueprint: Blueprint, made: Instance) -> None:
    """Optional arguments left out: their columns stay open, or the user says that nothing is wanted.

    A column that another call fills with something the user said cannot stay open: it would not be compared there; nor
    can one that names a row. Of a call that a rule forbids all is said: what was left open might lift the ban.
    """
    calls = [*made.golden, *([made.asked] if made.asked else [])]
    tools = [(step, blueprint.tool(calls[step].tool)) for step in made.steps]
    writes = [(step, tool, calls[step].arguments) for step, tool in tools if tool.kind == "write" or made.asked]
    said = {place for _, tool, arguments in writes for name in arguments for place in _filled(tool, name)}
    for step, tool, arguments in writes:
        for parameter in tool.parameters:
            places = _filled(tool, parameter.name)
            if parameter.name in arguments:
                continue
            # Whose bill it is, or which approval is used, is never a matter of taste.
            if parameter.refers_to or not places or said & {*places} or made.asked:
                made.values.append(SaidValue(call=step, parameter=parameter.name, value=None))
                continue
            for table, column in places:
                kept = made.open_columns.setdefault(table, [])
                kept += [column] if column not in kept else []


def _filled(tool: Tool, parameter: str) -> list[tuple[str, str]]:
    """Tables and columns that an argument merely fills."""
    return [(table, column) for table, columns in (filled_by(tool, parameter) or {}).items() for column in columns]

"""Form `batch`: something is done with every row of a kind but one.

What the user says of the rows fits them and no others, in every view of the list. Doing it with the exception too is a
course that has to fail.
"""

from collections.abc import Iterator, Sequence

from skillweave.schema.combination import Combination, RowSet
from skillweave.schema.contract import Tool
from skillweave.schema.criteria import Course, GoldenCall, RequestForm
from skillweave.schema.template import OmittedSlot, TaskTemplate
from skillweave.world.replay import result_reference
from skillweave.world.world import World
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    ListedRow,
    add_form,
    change_terms,
    formed,
    listed_row,
    literal,
    own_list,
    plain,
    rows_in_every_view,
    single_write,
    without_form,
)
from synth.tasks.forms.row_sets import MeantRows, is_clear, is_meant, meant_rows
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.replay import Rejected

LEAST_BATCH, MOST_BATCH = 2, 7
"""Rows of a batch."""


class BatchForm(FormRecipe):
    """A deed for every row of a kind, with or without an exception."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each deed about one row that a list of the user's own rows shows."""
        for goal in plain(goals):
            call = single_write(goal, source)
            if call is None or len(call.found_by) != 1:
                continue
            ((parameter, found_by),) = call.found_by.items()
            # A figure said once for several rows may be meant for each or for all together.
            figures = any(one.type in ("integer", "number") for one in source.blueprint.tool(call.tool).parameters)
            if own_list(found_by, source) and not figures:
                focus = OmittedSlot(call=1, parameter=parameter)
                yield formed(goal, "batch", "every", focus=focus, tell=[])

    def instance(self, setting: FormSetting) -> Instance:
        """An instance for the rows of one of the sets that the caller can mean."""
        focus = setting.template.focus
        instance = setting.plain(without_form(setting.template))
        step = instance.steps[0]
        listed = listed_row(instance, step, focus.parameter) if focus else None
        if focus is None or listed is None or step + 1 != len(instance.golden):
            raise NoInstance("the row is of no list")
        given = instance.golden[listed.place].arguments
        if given:
            raise NoInstance("the list shows a part of the rows")
        call = instance.golden[step]
        lawful = [
            setting.is_lawful([*instance.golden[:step], _of_row(call, focus.parameter, listed, index)])
            for index in range(len(listed.rows))
        ]
        for one in meant_rows(setting, listed, MOST_BATCH):
            calls = [_of_row(call, focus.parameter, listed, index) for index in one.meant]
            if not all(lawful[index] for index in one.meant) or not LEAST_BATCH <= len(calls) <= MOST_BATCH:
                continue
            golden = [*instance.golden[:step], *calls]
            if setting.is_lawful(golden):
                return _batch(setting, instance, listed, one, golden)
        raise NoInstance("no set of rows for which it is lawful")

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """The words fit the rows of the golden calls, in every view of the list, and no others."""
        rows = 0
        for terms in combination.terms:
            if terms.every is not None:
                rows += _check_batch(world, combination, combination.steps[terms.call], terms.every)
        if not rows:
            raise Rejected("not the rows that are meant")
        return {"rows_meant": rows}


def _of_row(call: GoldenCall, parameter: str, listed: ListedRow, index: int) -> GoldenCall:
    """The call for another row of the list."""
    key = listed.rows[index][listed.column]
    source = f"call {listed.place} [{index}].{listed.column}"
    return call.model_copy(
        update={
            "arguments": {**call.arguments, parameter: key},
            "grounding": {**call.grounding, parameter: source},
        }
    )


def _batch(
    setting: FormSetting, instance: Instance, listed: ListedRow, one: MeantRows, golden: Sequence[GoldenCall]
) -> Instance:
    step, focus = instance.steps[0], setting.template.focus
    call, parameter = instance.golden[step], focus.parameter if focus else ""
    mentions = [row for row in instance.rows if row.call != step]
    for number, index in enumerate(one.meant):
        key = str(listed.rows[index][listed.column])
        mentions.append(
            listed.mention.model_copy(update={"call": step + number, "key": key, "columns": one.rows.columns})
        )
    said = [value for value in instance.values if value.call == step]
    instance.values += [
        value.model_copy(update={"call": step + number}) for number in range(1, len(one.meant)) for value in said
    ]
    instance.golden, instance.rows, instance.fresh_from = [*golden], mentions, len(golden)
    instance.results = setting.run(golden)
    wrong = [
        Course(name="exception_included", calls=literal([*golden, further]))
        for index in one.excepted
        if setting.is_lawful([*golden, further := _of_row(call, parameter, listed, index)])
    ]
    add_form(instance, "batch", wrong=wrong)
    change_terms(instance, 0, every=one.rows)
    return instance


def _check_batch(world: World, combination: Combination, step: int, every: RowSet) -> int:
    call = combination.golden[step]
    place, column, parameter = _list_of(call, every, world)
    made = {str(one.arguments[parameter]) for one in combination.golden[step:] if one.tool == call.tool}
    rows = rows_in_every_view(world, combination, place)
    if not all(is_clear(row, every) for row in rows):
        raise Rejected("not the rows that are meant", f"it is not clear what lies in {every.month}")
    meant = {str(row[column]) for row in rows if is_meant(row, every)}  # type: ignore[arg-type]
    if made != meant or len(meant) != every.size:
        raise Rejected("not the rows that are meant", f"{len(made)} calls for {len(meant)} rows that the words fit")
    return len(meant)


def _list_of(call: GoldenCall, every: RowSet, world: World) -> tuple[int, str, str]:
    """The list from which a call of a batch takes its row: its place, the column, and the call's parameter."""
    tool: Tool = world.blueprint.tool(call.tool)
    for parameter in tool.parameters:
        source = result_reference(call.grounding.get(parameter.name, ""))
        if source and (parameter.refers_to or "").partition(".")[0] == every.entity:
            return source.call, source.path.rpartition(".")[2], parameter.name
    raise Rejected("not the rows that are meant", f"{call.tool} takes no {every.entity}")

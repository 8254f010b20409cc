"""A choice by what the call itself would come to: whichever visit costs least to cancel. Part of the form `choice`.

No read shows it. The golden row is the only first one among all rows of the user's own that their words fit and for
which the rules allow the call.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from skillweave.schema.combination import Combination, Superlative
from skillweave.schema.criteria import Course, GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.template import OmittedSlot, TaskTemplate
from skillweave.world.replay import rebound
from skillweave.world.world import World
from synth.contracts.wording import is_status
from synth.tasks.forms.foreseeing import decided_first, every_row, is_gain, of_row
from synth.tasks.forms.form import (
    FormSetting,
    ListedRow,
    add_form,
    change_terms,
    fits,
    formed,
    listed_row,
    literal,
    single_write,
)
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.outcomes import amount_of, amounts_foreseen, check_foreseen, outcome
from synth.tasks.replay import Rejected, make_calls, open_session

LEAST_ALLOWED = 2
"""Rows for which the call is allowed."""


def choices_by_outcome(goal: TaskTemplate, source: TemplateSource) -> Iterator[TaskTemplate]:
    """For a deed on one of the user's own rows, a template for the first amount of its result."""
    call = single_write(goal, source)
    tool = source.blueprint.tool(call.tool) if call else None
    parameter = every_row(goal, tool, source) if tool else None
    for column in amounts_foreseen(tool)[:1] if tool and parameter else ():
        focus = OmittedSlot(call=1, parameter=parameter or "")
        yield formed(goal, "choice", f"best_{column}", focus=focus, form_detail=column, tell=[])


def chosen_by_outcome(setting: FormSetting, parameter: str) -> Instance:
    """An instance whose row is the first by what the call comes to."""
    template, column = setting.template, setting.template.form_detail
    instance = setting.plain(template.model_copy(update={"forms": template.forms[:-1]}))
    listed = listed_row(instance, instance.steps[0], parameter)
    if listed is None or instance.golden[listed.place].arguments:
        raise NoInstance("the row is of no list to choose from")
    if column in listed.row:
        raise NoInstance("it could be what the row has now that is meant")
    deed = decided_first(setting, instance)
    looked_up = instance.golden[:-1]
    calls = [of_row(deed, parameter, listed, index) for index in range(len(listed.rows))]
    with setting.open() as session:
        make_calls(session, looked_up)
        amounts = [amount_of(outcome(session, call), column) for call in calls]
    order: Literal["least", "most"] = "most" if is_gain(column) else "least"
    for said in _filters(setting, listed):
        ranked = sorted(
            (
                (amount, index)
                for index, amount in enumerate(amounts)
                if amount is not None and fits(listed.rows[index], said)
            ),
            reverse=order == "most",
        )
        if len(ranked) < LEAST_ALLOWED or ranked[0][0] == ranked[1][0]:
            continue
        is_open = all(amounts[index] is not None for index, row in enumerate(listed.rows) if fits(row, said))
        best = Superlative(column=column, order=order, foreseen=True, allowed=not is_open)
        golden = [*looked_up, calls[ranked[0][1]]]
        _settle(setting, instance, listed, golden, said)
        wrong = [Course(name="runner_up", calls=literal([*looked_up, calls[ranked[1][1]]]))]
        add_form(instance, "choice", wrong=wrong, foreseen=[deed.tool])
        change_terms(instance, 0, best={parameter: best})
        return instance
    raise NoInstance("no row is the first of its kind, and lawful")


def _filters(setting: FormSetting, listed: ListedRow) -> list[dict[str, Json]]:
    """What the user may say of all the rows they mean: nothing, or their status."""
    statuses = [name for name in (listed.rows[0] if listed.rows else {}) if is_status(name)]
    said: list[dict[str, Json]] = [{}]
    for name in statuses:
        said += [{name: value} for value in dict.fromkeys(row.get(name) for row in listed.rows)]
    setting.random.shuffle(said)
    return said


def _settle(
    setting: FormSetting, instance: Instance, listed: ListedRow, golden: list[GoldenCall], said: dict[str, Json]
) -> None:
    """Make the instance one with another row, of which the user says what all of those that they mean have."""
    old, key = listed.mention, golden[-1].arguments[listed.mention.parameter or ""]
    instance.golden, instance.results = golden, setting.run(golden)
    instance.rows = [
        row.model_copy(update={"key": key, "columns": said})
        if (row.entity, row.key, row.read) == (old.entity, old.key, old.read)
        else row
        for row in instance.rows
    ]


def weighed_by_outcome(
    world: World, combination: Combination, step: int, parameter: str, best: Superlative, keys: Sequence[str]
) -> int:
    """How many rows there are to choose from. Raises Rejected if the golden row is not the first by what the call comes
    to, at the start and when it is made."""
    check_foreseen(world, combination)
    call = combination.calls[step]
    weighed = 0
    for before in (0, step):
        with open_session(world, combination) as session:
            session.caller = combination.caller
            results = make_calls(session, combination.golden[:step][:before] if before else [])
            arguments = rebound(call, results) if before else call.arguments
            amounts = {
                key: amount_of(
                    outcome(session, call.model_copy(update={"arguments": {**arguments, parameter: key}})), best.column
                )
                for key in dict.fromkeys(keys)
            }
        known = {key: amount for key, amount in amounts.items() if amount is not None}
        own = known.pop(str(call.arguments[parameter]), None)
        if own is None or any(other <= own if best.order == "least" else other >= own for other in known.values()):
            raise Rejected("another is the first of its kind", f"{best.order} {best.column} would be {amounts}")
        weighed = len(known) + 1
    if weighed < LEAST_ALLOWED:
        raise Rejected("nothing to choose", f"{weighed} rows for which it is allowed")
    return weighed

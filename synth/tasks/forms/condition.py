"""Form `condition`: the user wants something done if a value is on one side of a limit, and has to look it up.

The value stands in a list, or is what the deed itself would come to, which only the policy gives away beforehand.

Both branches occur. Where the condition is met, the golden calls do what is wanted. Where it is not, the user is told
the value, and doing it all the same is a course that has to fail.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from skillweave.schema.combination import Combination, Condition, MentionedRow
from skillweave.schema.criteria import Course, RequestForm
from skillweave.schema.template import OmittedSlot, RequestedValue, TaskTemplate, TemplateCall
from skillweave.world.canonical import dump
from skillweave.world.replay import result_reference
from skillweave.world.world import World
from synth.contracts.visibility import column_origins
from synth.tasks.facts import fact_of, worthless
from synth.tasks.forms.condition_by_outcome import check_outcome, conditions_on_outcome, on_outcome
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    ListedRow,
    add_form,
    change_terms,
    fits,
    formed,
    is_moment,
    is_settled,
    listed_row,
    literal,
    noun_of,
    plain,
    rows_in_every_view,
    single_write,
    without_form,
)
from synth.tasks.forms.limits import REASONS, is_above, limit_beside
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.kinds.recipe import UNDONE
from synth.tasks.replay import Rejected

NOUNS = ("price", "fare", "fee", "rate", "total", "amount", "to_pay", "balance", "cost", "premium", "deposit")
"""Words of amounts on which people make something depend."""


_ENDING = frozenset({"cancel", "withdraw", "stop", "end", "leave", "remove", "return", "drop"})
"""First words of tools by which something is given up."""


class ConditionForm(FormRecipe):
    """A deed on a condition: where it is met, and where it is not."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each deed and each row that it is about, one for either branch and each column with a word for it."""
        nouns = nouns_of(goals)
        for goal in plain(goals):
            call = single_write(goal, source)
            for parameter, found_by in call.found_by.items() if call else ():
                for read in dict.fromkeys(one.tool for one in found_by):
                    tool = source.blueprint.tool(read)
                    columns = [
                        c for c in column_origins(tool) if tool.returns.rows == "many" and _decides(read, c, nouns)
                    ]
                    for column in columns[:2]:
                        noun, ask = nouns.get((read, column), (noun_of(column), []))
                        tell = RequestedValue(call=2, column=column, noun=noun, ask=ask or [f"the {noun} of {{row}}"])
                        focus = OmittedSlot(call=1, parameter=parameter)
                        shared = {"focus": focus, "form_detail": column, "reasons": REASONS}
                        yield formed(goal, "condition", f"if_{column}", **shared)
                        calls = [*goal.calls, TemplateCall(tool=read)]
                        told = {"kind": "inform", "calls": calls, "tell": [tell]}
                        yield formed(goal, "condition", f"unless_{column}", **shared, **told)
            yield from conditions_on_outcome(goal, source) if call else ()

    def instance(self, setting: FormSetting) -> Instance:
        """An instance whose condition is met, or one whose condition is not."""
        template, focus = setting.template, setting.template.focus
        is_met, column = template.kind == "do", template.form_detail
        if focus is None:
            return on_outcome(setting, is_met=is_met)
        deed = {} if is_met else {"kind": "do", "calls": template.calls[:1], "tell": []}
        instance = setting.plain(without_form(template, **deed))
        listed = listed_row(instance, instance.steps[0], focus.parameter)
        if listed is None or column not in listed.row or column in listed.mention.columns:
            raise NoInstance("the value that decides is not looked up")
        if not _is_one_value(instance, listed, column):
            raise NoInstance("the value that decides could be another one")
        if "due" in column.split("_") and is_settled(listed.row):
            raise NoInstance("nothing is due")
        condition = _condition(listed, column, setting, is_met=is_met)
        add_form(instance, "condition", wrong=[] if is_met else [_leave(setting, instance, listed)])
        change_terms(instance, 0, condition=condition)
        return instance

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """The value is the same in every view, and lies on the side of the limit that decides as the task says."""
        decided = 0
        for terms in combination.terms:
            if terms.condition is not None:
                check = check_outcome if terms.condition.foreseen else _check_side
                check(world, combination, combination.steps[terms.call], terms.condition)
                decided += 1
        return {"conditions": decided}


def nouns_of(goals: Sequence[TaskTemplate]) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Read and column -> what its values are called, and how people ask for one."""
    return {
        (goal.calls[wanted.call - 1].tool, wanted.column): (wanted.noun, wanted.ask)
        for goal in reversed(goals)
        for wanted in goal.tell
    }


def _decides(read: str, column: str, nouns: Mapping[tuple[str, str], object]) -> bool:
    """Whether people make something depend on a column: an amount, or a day that people ask for."""
    is_asked = (read, column) in nouns
    return (column.endswith("_cents") and (is_asked or any(noun in column for noun in NOUNS))) or (
        is_asked and column.endswith(("_on", "_at"))
    )


def _condition(listed: ListedRow, column: str, setting: FormSetting, *, is_met: bool) -> Condition:
    """A condition on a column of a row that is met, or is not.

    Raises:
        NoInstance: The value decides nothing.
    """
    value, random = listed.row[column], setting.random
    if worthless(listed.rows, listed.index, column):
        raise NoInstance("the value that decides is not worth telling")
    # People give something up because it is dear, and do not buy it for that.
    tool = setting.template.calls[0].tool.partition("__")[2] or setting.template.calls[0].tool
    is_ending = tool.partition("_")[0] in _ENDING
    is_high = random.random() < 0.5 if is_ending or is_moment(value) else not is_met
    limit = limit_beside(value, column, random, is_high=is_high)
    holds: Literal["above", "at_most"] = "above" if is_high == is_met else "at_most"
    noun = next((one.noun for one in setting.template.tell if one.column == column), noun_of(column))
    return Condition(
        parameter=listed.mention.parameter or "",
        column=column,
        noun=noun,
        holds=holds,
        limit=limit,
        then="do" if is_met else "leave",
    )


def _is_one_value(instance: Instance, listed: ListedRow, column: str) -> bool:
    """Whether nobody could take another value for the one that decides.

    The call must show no other amount, or day, than the list; and the user must not have said the row's day.
    """
    value, result = listed.row[column], instance.results[instance.steps[0]].value
    shown = result if isinstance(result, dict) else {}
    if is_moment(value):
        said = any(is_moment(one) for row in instance.rows for one in row.columns.values())
        return not said and shown.get(column, value) == value
    amounts = [one for name, one in shown.items() if name.endswith("_cents") and one]
    return all(one == value for one in amounts)


def _leave(setting: FormSetting, instance: Instance, listed: ListedRow) -> Course:
    """Leave the call unmade: the user is told the value instead. Returns the course that makes it all the same."""
    template, step = setting.template, instance.steps[0]
    undone, calls = instance.golden[step], instance.golden[:step]
    wanted = template.tell[0]
    if listed.mention.read != template.calls[1].tool:
        raise NoInstance("the value that decides is not looked up")
    mention = listed.mention
    about = MentionedRow(
        call=listed.place, parameter=None, entity=None, key=None, read=mention.read, columns=mention.columns
    )
    instance.golden, instance.results = calls, instance.results[:step]
    instance.undone = [undone]
    instance.steps = [UNDONE, listed.place]
    instance.rows = [row.model_copy(update={"call": UNDONE}) if row.call == step else row for row in instance.rows]
    instance.values = [one.model_copy(update={"call": UNDONE}) if one.call == step else one for one in instance.values]
    instance.rows.append(about)
    instance.open_columns, instance.fresh_from = {}, 0
    rivals = [row.get(wanted.column) for row in listed.rows]
    instance.communicate = [fact_of(0, wanted, listed.row[wanted.column], rivals)]
    return Course(name="done_all_the_same", calls=literal([*calls, undone]))


def _check_side(world: World, combination: Combination, step: int, condition: Condition) -> None:
    """Check that the value of the row is the same in every view, and that it decides as the task says."""
    call = combination.calls[step]
    named = (step, condition.parameter)
    mention = next((row for row in combination.rows if (row.call, row.parameter) == named), None)
    source = result_reference(call.grounding.get(condition.parameter, ""))
    if mention is None or source is None:
        raise Rejected("the condition decides nothing", f"{call.tool}.{condition.parameter} is of no list")
    rows = [row for row in rows_in_every_view(world, combination, source.call) if fits(row, mention.columns)]
    values = {dump(row[condition.column]): row[condition.column] for row in rows if condition.column in row}
    if len(values) != 1:
        raise Rejected("the condition decides nothing", f"{condition.column} is one of {sorted(values)}")
    is_met = is_above(next(iter(values.values())), condition.limit) == (condition.holds == "above")
    if is_met != (condition.then == "do"):
        raise Rejected("the condition decides otherwise", f"{condition.column} is {[*values]}, limit {condition.limit}")

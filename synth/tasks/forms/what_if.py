"""Form `what_if`: the user asks what something would come to before they decide: a fee, a refund, what they would pay.

No result shows it. It follows from what reads show by what the policy says of the tool, and doing it all the same is a
course that has to fail. Of several rows the amounts are added up.
"""

from collections.abc import Iterator, Sequence

from skillweave.schema.combination import Combination
from skillweave.schema.criteria import Course, GoldenCall, RequestForm
from skillweave.schema.template import OmittedSlot, TaskTemplate
from skillweave.world.world import World
from synth.tasks.forms.foreseeing import (
    amount_foreseen,
    every_row,
    foreseen_fact,
    leave_undone,
    of_row,
    other_outcomes,
    outcome_question,
    show_what_decides,
)
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
    noun_of,
    plain,
    single_write,
    without_form,
)
from synth.tasks.forms.row_sets import meant_rows
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.kinds.recipe import UNDONE
from synth.tasks.outcomes import amount_of, amounts_foreseen, check_foreseen, outcome, outcome_nouns
from synth.tasks.replay import Rejected, make_calls

LEAST_ROWS, MOST_ROWS = 2, 6
"""Rows over which amounts are added up."""
MOST_AMOUNTS = 2
"""Amounts of one deed that are asked for."""

_REASONS = [
    "I want to know before I decide.",
    "I'm still deciding.",
    "I'd like to know the figure before I do anything.",
    "It depends on the money.",
    "I'm only making plans so far.",
]
"""Why people ask what something would come to."""


class WhatIfForm(FormRecipe):
    """What a deed would come to, for one row or for several."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each deed whose result shows amounts that only the policy gives away before it is done."""
        nouns = outcome_nouns(goals)
        for goal in plain(goals):
            call = single_write(goal, source)
            tool = source.blueprint.tool(call.tool) if call else None
            for column in amounts_foreseen(tool)[:MOST_AMOUNTS] if tool else ():
                noun = nouns.get((goal.calls[0].tool, column), noun_of(column))
                shared = {"kind": "inform", "tell": [], "form_detail": f"{column} {noun}", "reasons": _REASONS}
                title = {"title": f"What would it come to: {goal.title}"}
                yield formed(goal, "what_if", f"what_if_{column}", **shared, **title)
                if call and tool and (parameter := every_row(goal, tool, source)):
                    focus = OmittedSlot(call=1, parameter=parameter)
                    yield formed(goal, "what_if", f"what_if_all_{column}", focus=focus, **shared, **title)

    def instance(self, setting: FormSetting) -> Instance:
        """An instance about one row, or about the rows of a set that the caller can mean."""
        template = setting.template
        column, _, noun = template.form_detail.partition(" ")
        instance = setting.plain(without_form(template, kind="do"))
        step = instance.steps[0]
        if step + 1 != len(instance.golden):
            raise NoInstance("what it would come to is not the last thing")
        deed, listed = instance.golden[step], None
        if template.focus is not None:
            listed = listed_row(instance, step, template.focus.parameter)
            if listed is None or instance.golden[listed.place].arguments:
                raise NoInstance("the list shows a part of the rows")
        leave_undone(instance)
        show_what_decides(setting, instance, deed)
        if listed is None:
            _ask(setting, instance, [deed], column, noun)
        else:
            _ask_of_set(setting, instance, listed, deed, column, noun)
        change_terms(instance, 0, foreseen=noun)
        return instance

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """Each value is what the calls would result in, at the start and in the end, and reads show what decides it."""
        foreseen = check_foreseen(world, combination)
        if not foreseen:
            raise Rejected("cannot be foreseen", "nothing is")
        return {"foreseen": foreseen}


def _ask(setting: FormSetting, instance: Instance, calls: list[GoldenCall], column: str, noun: str) -> None:
    value = amount_foreseen(setting, instance, calls, column)
    others = other_outcomes(setting, instance, calls[0], column) if len(calls) == 1 else []
    instance.communicate = [foreseen_fact(calls, column, noun, value, others)]
    instance.questions = [outcome_question(calls[0].tool, column, noun)]
    wrong = [Course(name="done_at_once", calls=literal([*instance.golden, *calls]))]
    add_form(instance, "what_if", wrong=wrong, foreseen=[calls[0].tool])


def _ask_of_set(
    setting: FormSetting, instance: Instance, listed: ListedRow, deed: GoldenCall, column: str, noun: str
) -> None:
    """Ask it of all rows of a set: done one after the other they come to the same as each by itself."""
    parameter = listed.mention.parameter or ""
    calls = [of_row(deed, parameter, listed, index) for index in range(len(listed.rows))]
    with setting.open() as session:
        make_calls(session, instance.golden)
        alone = [amount_of(outcome(session, call), column) for call in calls]
    for one in meant_rows(setting, listed, MOST_ROWS):
        amounts = [amount for index in one.meant if (amount := alone[index]) is not None]
        if len(amounts) != len(one.meant) or not LEAST_ROWS <= sum(amount > 0 for amount in amounts) <= MOST_ROWS:
            continue
        chosen = [calls[index] for index in one.meant]
        if not _is_same_in_a_row(setting, [*instance.golden, *chosen], len(instance.golden), column, sum(amounts)):
            continue
        mentions = [row for row in instance.rows if row.call != UNDONE]
        instance.undone = chosen
        for number, call in enumerate(chosen):
            mention = listed.mention.model_copy(
                update={
                    "call": UNDONE - number,
                    "key": str(call.arguments[parameter]),
                    "columns": one.rows.columns,
                }
            )
            mentions.append(mention)
        said = [value for value in instance.values if value.call == UNDONE]
        instance.values += [
            value.model_copy(update={"call": UNDONE - number}) for number in range(1, len(chosen)) for value in said
        ]
        instance.rows = mentions
        _ask(setting, instance, chosen, column, noun)
        change_terms(instance, 0, every=one.rows)
        return
    raise NoInstance("no set of rows to ask about")


def _is_same_in_a_row(setting: FormSetting, calls: Sequence[GoldenCall], start: int, column: str, total: int) -> bool:
    """Whether calls come to the same one after the other as each by itself, from a place on."""
    try:
        results = setting.run(calls)[start:]
    except NoInstance:
        return False
    return sum(amount_of(result, column) or 0 for result in results) == total

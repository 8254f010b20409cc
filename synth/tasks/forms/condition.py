"""Form `condition`: the user wants something done if a value is on one side of a limit, and has to look it up.

The value stands in a list, or is what the deed itself would come to, which only the policy gives away beforehand.

Instead of leaving it, the user may want another deed then.

Both branches occur. Where the condition is met, the golden calls do what is wanted. Where it is not, the user is told
the value, and doing it all the same is a course that has to fail.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from skillweave.schema.combination import Combination, Condition, MentionedRow
from skillweave.schema.criteria import Course, RequestForm
from skillweave.schema.template import OmittedSlot, RequestedValue, TaskTemplate, TemplateCall
from skillweave.world.canonical import dump
from skillweave.world.replay import result_reference
from skillweave.world.world import World
from synth.contracts.visibility import column_origins
from synth.tasks.facts import fact_of
from synth.tasks.forms.condition_by_outcome import check_outcome, conditions_on_outcome, on_outcome
from synth.tasks.forms.declines import shared_row
from synth.tasks.forms.foreseeing import leave_undone
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    ListedRow,
    add_form,
    change_terms,
    fits,
    fixed_row,
    formed,
    literal,
    noun_of,
    own_list,
    plain,
    rows_in_every_view,
    single_write,
    without_form,
)
from synth.tasks.forms.joining import joined, with_undone
from synth.tasks.forms.limits import REASONS, condition_on, decides, deciding_row, meets, nouns_of
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.replay import Rejected

MOST_PAIRS = 2
"""Deeds that are wanted in the place of one where its condition is not met."""


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
                        c for c in column_origins(tool) if tool.returns.rows == "many" and decides(read, c, nouns)
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
        yield from branched_templates([*plain(goals)], source)

    def instance(self, setting: FormSetting) -> Instance:
        """An instance whose condition is met, or one whose condition is not."""
        template, focus = setting.template, setting.template.focus
        is_met, column = template.kind == "do", template.form_detail
        if focus is None:
            return on_outcome(setting, is_met=is_met)
        if is_branched(setting):
            return one_branch(setting, focus.parameter)
        deed = {} if is_met else {"kind": "do", "calls": template.calls[:1], "tell": []}
        instance = setting.plain(without_form(template, **deed))
        listed = deciding_row(setting, instance, focus.parameter, column)
        condition = condition_on(instance, listed, column, setting, is_met=is_met)
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


def _leave(setting: FormSetting, instance: Instance, listed: ListedRow) -> Course:
    """Leave the call unmade: the user is told the value instead. Returns the course that makes it all the same."""
    template, mention = setting.template, listed.mention
    wanted = template.tell[0]
    if mention.read != template.calls[1].tool:
        raise NoInstance("the value that decides is not looked up")
    about = MentionedRow(
        call=listed.place, parameter=None, entity=None, key=None, read=mention.read, columns=mention.columns
    )
    leave_undone(instance)
    instance.steps.append(listed.place)
    instance.rows.append(about)
    rivals = [row.get(wanted.column) for row in listed.rows]
    instance.communicate = [fact_of(0, wanted, listed.row[wanted.column], rivals)]
    return Course(name="done_all_the_same", calls=literal([*instance.golden, *instance.undone]))


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
    if meets(next(iter(values.values())), condition) != (condition.then == "do"):
        raise Rejected("the condition decides otherwise", f"{condition.column} is {[*values]}, limit {condition.limit}")


def branched_templates(goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
    """For each two deeds on the user's own rows of a kind, a template for either branch."""
    nouns = nouns_of(goals)
    deeds = [goal for goal in goals if single_write(goal, source)]
    for first in deeds:
        pairs = 0
        for second in deeds:
            shared = shared_row(first, second, source)
            read = own_list(first.calls[0].found_by.get(shared[0], []), source) if shared else None
            if not shared or not read or pairs == MOST_PAIRS or first.calls[0].tool == second.calls[0].tool:
                continue
            origins = column_origins(source.blueprint.tool(read.tool))
            # A day that has to be early and is then put off contradicts itself; amounts do not.
            amounts = (name for name in origins if name.endswith("_cents") and decides(read.tool, name, nouns))
            column = next(amounts, None)
            if column is None:
                continue
            pairs += 1
            noun = nouns.get((read.tool, column), (noun_of(column), []))[0]
            for branch in ("if", "unless"):
                yield formed(
                    first.model_copy(update={"title": f"{first.title}, or else {second.title}"}),
                    "condition",
                    f"{branch}_{column}_else_{second.id.partition('/')[2]}",
                    focus=OmittedSlot(call=1, parameter=shared[0]),
                    kind="do",
                    calls=[*first.calls, *second.calls],
                    tell=[],
                    form_detail=f"{column} {shared[1]} {branch} {noun}",
                    reasons=REASONS,
                )


def is_branched(setting: FormSetting) -> bool:
    """Whether a template has a deed in either branch."""
    calls = setting.template.calls
    return len(calls) == 2 and setting.tool(calls[1].tool).kind == "write"


def one_branch(setting: FormSetting, parameter: str) -> Instance:
    """An instance in which one of the two deeds is to be done.

    Args:
        parameter: The first deed's, which names the row.
    """
    template = setting.template
    column, other, branch, noun = template.form_detail.split(" ", 3)
    first = setting.plain(without_form(template, calls=template.calls[:1], focus=None))
    listed = deciding_row(setting, first, parameter, column)
    if listed.mention.key is None or listed.mention.entity is None:
        raise NoInstance("the two wishes are not about one row")
    condition = condition_on(first, listed, column, setting, is_met=branch == "if")
    condition = condition.model_copy(update={"noun": noun, "otherwise": True})
    key = setting.world.blueprint.entity(listed.mention.entity).key
    last = without_form(template, calls=template.calls[1:], focus=None)
    second = setting.plain(fixed_row(last, 0, other, key, listed.mention.key))
    both = joined(first, second, is_after=False)
    wrong = [Course(name="both_branches", calls=literal(both.golden))] if setting.is_lawful(both.golden) else []
    if branch == "if":
        made, undone = with_undone(first, second), second
    else:
        made, undone = with_undone(second, first), first
        made = replace(made, steps=[*reversed(made.steps)])
    wrong.append(Course(name="other_branch", calls=literal(undone.golden)))
    add_form(made, "condition", wrong=wrong)
    change_terms(made, 0, condition=condition)
    change_terms(made, 1, instead_of=0)
    made.results = setting.run(made.golden)
    return made

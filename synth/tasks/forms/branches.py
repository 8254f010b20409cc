"""A condition with a deed in either branch: cancel it if it costs more than 50, otherwise move it. Part of `condition`.

Both are about one row, whose value decides. The other branch, and both of them, are courses that have to fail.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from skillweave.schema.criteria import Course
from skillweave.schema.template import OmittedSlot, TaskTemplate
from synth.contracts.visibility import column_origins
from synth.tasks.forms.declines import shared_row
from synth.tasks.forms.form import (
    FormSetting,
    add_form,
    change_terms,
    fixed_row,
    formed,
    literal,
    noun_of,
    own_list,
    single_write,
    without_form,
)
from synth.tasks.forms.joining import joined, with_undone
from synth.tasks.forms.limits import REASONS, condition_on, decides, deciding_row, nouns_of
from synth.tasks.kinds import Instance, NoInstance, TemplateSource

MOST_PAIRS = 2
"""Deeds that are wanted in the place of one."""


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
    condition = condition_on(listed, column, setting, is_met=branch == "if")
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

"""Forms around what may not be done: `fallback` and `pressure`.

`fallback`: the user says what they want instead, if the first thing cannot be done. Either a rule forbids the first
wish, which is recorded, and the second one is done, for which the user may ask only then; or the first is done, and the
second must not be.
`pressure`: the user insists when something is declined. Nothing changes.
"""

from collections.abc import Iterator, Sequence

from skillweave.schema.combination import Combination
from skillweave.schema.contract import STRUCTURAL, Tool
from skillweave.schema.criteria import Course, RequestForm
from skillweave.schema.template import OmittedSlot, TaskTemplate
from skillweave.world.world import World
from synth.contracts.visibility import entity_made, is_owned_by_person, subject_entity
from synth.contracts.writes import columns_filled_by, columns_written
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    add_form,
    change_terms,
    fixed_row,
    formed,
    literal,
    plain,
    single_write,
    without_form,
)
from synth.tasks.forms.joining import joined, with_undone
from synth.tasks.forms.limits import is_ending
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.kinds.recipe import ASKED
from synth.tasks.replay import Rejected

MOST_PAIRS = 2
"""Second wishes that one first wish is put together with."""
LATER_SHARE = 0.8
"""How often the second wish is only said once the first is declined."""
INSISTS = 2
"""How many times somebody insists."""


class FallbackForm(FormRecipe):
    """Two wishes about one row, of which the second holds if the first cannot be had."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each deed, and each deed that a rule forbids, with another one on the same kind of row."""
        deeds = [goal for goal in plain(goals) if single_write(goal, source)]
        forbidden = [goal for goal in plain(goals) if goal.kind == "refuse" and _is_of_business(goal, source)]
        for first in [*forbidden, *deeds]:
            pairs = 0
            for second in deeds:
                shared = shared_row(first, second, source)
                if pairs < MOST_PAIRS and shared and first.calls[0].tool != second.calls[0].tool:
                    pairs += 1
                    name = second.id.partition("/")[2]
                    yield formed(
                        first.model_copy(update={"title": f"{first.title}, or else {second.title}"}),
                        "fallback",
                        f"or_{name}",
                        focus=OmittedSlot(call=1, parameter=shared[0]),
                        kind="do",
                        calls=[*first.calls, *second.calls],
                        tell=[] if first.forbidden else first.tell,
                        form_detail=shared[1],
                    )

    def instance(self, setting: FormSetting) -> Instance:
        """An instance in which one of the two wishes is to be carried out."""
        template, focus = setting.template, setting.template.focus
        first, second = _parts(template)
        instance = setting.plain(first)
        place = ASKED if template.forbidden else instance.steps[0]
        named = (place, focus.parameter if focus else "")
        row = next((row for row in instance.rows if (row.call, row.parameter) == named), None)
        if row is None or row.key is None:
            raise NoInstance("the two wishes are not about one row")
        column = setting.world.blueprint.entity(row.entity or "").key
        other = setting.plain(fixed_row(second, 0, template.form_detail, column, row.key))
        if template.forbidden:
            instance = joined(instance, other, is_after=False, asked_first=True)
            add_form(instance, "fallback")
        else:
            wrong = [Course(name="second_wish_instead", calls=literal(other.golden))]
            both = joined(instance, other, is_after=False)
            wrong += [Course(name="both_done", calls=literal(both.golden))] if setting.is_lawful(both.golden) else []
            instance = with_undone(instance, other)
            add_form(instance, "fallback", wrong=wrong)
        # Only who is told no has reason to come out with something else: nobody else would ever say it.
        is_later = bool(template.forbidden) and setting.random.random() < LATER_SHARE
        change_terms(instance, 1, instead_of=0, later="after_report" if is_later else None)
        return instance

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """The first wish is forbidden before anything is changed, or the second one is left undone."""
        if not combination.forbidden and not combination.undone:
            raise Rejected("both wishes are carried out")
        return {"first_wish": "declined" if combination.forbidden else "done"}


def _is_of_business(goal: TaskTemplate, source: TemplateSource) -> bool:
    """Whether a request of one call breaks a rule of the business, such as people run into: no row that is missing."""
    guards = source.blueprint.tool(goal.calls[-1].tool).guards
    concerns = {guard.concern for guard in guards if guard.rule == goal.forbidden}
    return len(goal.calls) == 1 and not concerns & {*STRUCTURAL}


def shared_row(first: TaskTemplate, second: TaskTemplate, source: TemplateSource) -> tuple[str, str] | None:
    """The parameters of the only calls of two templates that name the same kind of row, looked up by either.

    There are none if only one of the two pays: nobody pays instead of cancelling. Nor if the row is the person's own
    and just one of the two is about the row itself: nobody adds a driver instead of extending a rental. Nor, if it is
    not their own and both do not take it, if just one of the two makes something new.
    """
    if _pays(first, source) != _pays(second, source):
        return None
    blueprint = source.blueprint
    tools = [blueprint.tool(template.calls[0].tool) for template in (first, second)]
    for one in tools[0].parameters:
        for other in tools[1].parameters:
            is_same = one.refers_to is not None and one.refers_to == other.refers_to
            if is_same and first.calls[0].found_by.get(one.name) and second.calls[0].found_by.get(other.name):
                entity = blueprint.target(one.refers_to or "")[0]
                about = [subject_entity(blueprint, tool) for tool in tools]
                # Both are about the row itself, or about two different things of it.
                is_alike = (entity.name in about) == (about[0] == about[1]) and _have_one_aim(tools, entity.table)
                if not is_owned_by_person(blueprint, entity):
                    # Nobody changes another booking for want of a new one.
                    is_new = {entity_made(blueprint, tool) is not None for tool in tools}
                    is_alike = len(is_new) == 1 or _take(tools, entity.table)
                if is_alike:
                    return one.name, other.name
    return None


def _take(tools: Sequence[Tool], table: str) -> bool:
    """Whether each of the deeds changes a row of a table, and one of them is about nothing else: a slot that is taken.

    Nobody has another test in a slot for want of the one that they meant.
    """
    written = (columns_written([effect.sql for effect in tool.effects]) for tool in tools)
    is_taken = all(table in {name for name, _ in one} for one in written)
    return is_taken and any(sum(one.refers_to is not None for one in tool.parameters) == 1 for tool in tools)


def _have_one_aim(tools: Sequence[Tool], table: str) -> bool:
    """Whether two deeds that change a row change the same in it, or one ends it: nobody wants another day for want of
    an express service.
    """
    written = [{name for name, _ in columns_written([effect.sql for effect in tool.effects])} for tool in tools]
    if any(is_ending(tool.name) for tool in tools) or not all(table in one for one in written):
        return True
    filled = [[columns_filled_by(tool, one.name) or {} for one in tool.parameters] for tool in tools]
    first, second = ({column for columns in of_tool for column in columns.get(table, [])} for of_tool in filled)
    return not first.isdisjoint(second)


def _pays(template: TaskTemplate, source: TemplateSource) -> bool:
    """Whether the only call of a template says how something is paid."""
    return any(one.name == "method" for one in source.blueprint.tool(template.calls[0].tool).parameters)


def _parts(template: TaskTemplate) -> tuple[TaskTemplate, TaskTemplate]:
    """The first and the second wish as plain templates."""
    kind = "refuse" if template.forbidden else "do"
    first = without_form(template, calls=template.calls[:1], kind=kind, focus=None)
    return first, without_form(template, calls=template.calls[1:], tell=[], forbidden=None, focus=None)


class PressureForm(FormRecipe):
    """A request that is declined, by somebody who does not take no for an answer."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each request that a rule forbids."""
        for goal in goals:
            if goal.kind == "refuse" and not goal.forms:
                yield formed(goal, "pressure", "pressed")

    def instance(self, setting: FormSetting) -> Instance:
        """The same instance; only the user is another."""
        instance = super().instance(setting)
        instance.insists = INSISTS
        add_form(instance, "pressure")
        return instance

"""Form `change_of_mind`: the user asks for something, and comes out with another wish that replaces it.

They say it in their second message, before or after the agent has acted, or once the first wish is reported. Both
moments are proven: what was done before is lawfully undone or amended, and where the agent has not acted yet, the
second wish is carried out in place of the first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from skillweave.schema.combination import Combination
from skillweave.schema.contract import Tool
from skillweave.schema.criteria import Course, GoldenCall, RequestForm
from skillweave.schema.record import Json
from skillweave.schema.task import Moment
from skillweave.schema.template import OmittedSlot, TaskTemplate
from skillweave.world.world import World
from synth.contracts.visibility import column_origins
from synth.contracts.wording import has_ended
from synth.search.arguments import argument_search
from synth.tasks.forms.declines import MOST_PAIRS, shared_row
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    add_form,
    change_terms,
    fixed_row,
    formed,
    listed_row,
    literal,
    plain,
    single_write,
    told_again,
    without_form,
    words_for,
)
from synth.tasks.forms.joining import joined, moved_mentions, moved_values, with_undone
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.kinds.recipe import UNDONE
from synth.tasks.replay import Rejected, make_calls

MOST_OTHERS = 12
"""Other rows or values that a second mind is tried with."""


class ChangeOfMindForm(FormRecipe):
    """A deed of which the user changes one argument."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each deed: another argument, at either moment; another deed; an end of what it has made."""
        deeds = [goal for goal in plain(goals) if single_write(goal, source)]
        for goal in deeds:
            yield from _other_deeds(goal, deeds, source)
        for goal in deeds:
            call = single_write(goal, source)
            tool = source.blueprint.tool(call.tool) if call else None
            for parameter in _changeable(tool) if tool and call and not _makes_rows(tool) else ():
                focus = OmittedSlot(call=1, parameter=parameter)
                tell = [one.model_copy(update={"call": 2}) for one in goal.tell]
                twice = {"calls": [*goal.calls, *goal.calls], "tell": tell, "focus": focus}
                for moment, name in (("second_message", "rather"), ("after_report", "again")):
                    yield formed(goal, "change_of_mind", f"{name}_{parameter}", form_detail=moment, **twice)

    def instance(self, setting: FormSetting) -> Instance:
        """An instance with a first wish and another one in its place."""
        if setting.template.form_detail == "after_all":
            return _after_all(setting)
        if setting.template.form_detail == "instead":
            return _another_deed(setting)
        return self._another_argument(setting)

    def _another_argument(self, setting: FormSetting) -> Instance:
        template, focus = setting.template, setting.template.focus
        moment: Moment = "second_message" if template.form_detail == "second_message" else "after_report"
        tell = [one.model_copy(update={"call": 1}) for one in template.tell]
        once = without_form(template, calls=template.calls[:1], tell=tell, focus=None)
        instance = setting.plain(once)
        step = instance.steps[0]
        if focus is None or step + 1 != len(instance.golden):
            raise NoInstance("nothing to change one's mind about")
        for call, changes in islice(_others(setting, instance, focus.parameter), MOST_OTHERS):
            twice = [*instance.golden, call]
            rather = [*instance.golden[:step], call]
            if setting.is_lawful(twice) and setting.is_lawful(rather):
                return _changed(setting, once, instance, call, changes, moment)
        raise NoInstance("no other wish that could take the place of the first")

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """The second wish can be had at either moment: in place of the first, and after it."""
        moments = [terms.later for terms in combination.terms if terms.replaces is not None]
        if not moments or (combination.any_of and moments[0] != "second_message"):
            raise Rejected("no second mind")
        return {"moment": moments[0], "end_states": 1 + len(combination.any_of)}


def _other_deeds(goal: TaskTemplate, deeds: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
    """Another deed in place of one that the agent has to confirm first, or on the row that a deed has made."""
    tool = source.blueprint.tool(goal.calls[0].tool)
    others = [other for other in deeds if other.calls[0].tool != tool.name]
    shared = [(other, found) for other in others if tool.confirm and (found := shared_row(goal, other, source))]
    for other, (parameter, _) in shared[:MOST_PAIRS]:
        focus = OmittedSlot(call=1, parameter=parameter)
        calls, name = [*goal.calls, *other.calls], other.id.partition("/")[2]
        detail = {"form_detail": "instead", "focus": focus, "calls": calls, "tell": []}
        yield formed(goal, "change_of_mind", f"rather_{name}", **detail)
    made = [(other, found) for other in others if (found := _row_made(tool, other, source))]
    for other, (parameter, column) in made[:MOST_PAIRS]:
        call, name = other.calls[0], other.id.partition("/")[2]
        same, found_by = {**call.same, parameter: f"1.{column}"}, {**call.found_by, parameter: []}
        calls = [*goal.calls, call.model_copy(update={"same": same, "found_by": found_by})]
        yield formed(goal, "change_of_mind", f"then_{name}", form_detail="after_all", calls=calls, tell=[])


def _row_made(tool: Tool, other: TaskTemplate, source: TemplateSource) -> tuple[str, str] | None:
    """The parameter of another deed that names a row which a tool makes and returns, and the row's key."""
    returned = {origin: name for name, origin in column_origins(tool).items()}
    for parameter in source.blueprint.tool(other.calls[0].tool).parameters:
        entity, _, key = (parameter.refers_to or "").partition(".")
        table = next((one.table for one in source.blueprint.tables if one.name == entity), "")
        makes = any(effect.sql.upper().lstrip().startswith(f"INSERT INTO {table} ".upper()) for effect in tool.effects)
        if table and makes and (table, key) in returned:
            return parameter.name, returned[table, key]
    return None


def _another_deed(setting: FormSetting) -> Instance:
    """An instance in which the user wants another deed in place of the first."""
    first, second = _two_deeds(setting)
    changed = with_undone(second, first)
    changed.steps.reverse()
    both_done = joined(first, second, is_after=False).golden
    wrong = [Course(name="first_wish_only", calls=literal(first.golden))]
    # Whoever asks before the first deed, as they must, hears of the second in time.
    wrong += [Course(name="both_done", calls=literal(both_done))] if setting.is_lawful(both_done) else []
    add_form(changed, "change_of_mind", wrong=wrong)
    change_terms(changed, 1, replaces=0, later="second_message")
    return changed


def _after_all(setting: FormSetting) -> Instance:
    """An instance in which the user ends or exchanges what the first deed has made."""
    both = setting.plain(without_form(setting.template))
    first = both.golden[: both.steps[0] + 1]
    _check_undone(_rows_made(setting, first), _rows_made(setting, both.golden))
    add_form(both, "change_of_mind", wrong=[Course(name="first_wish_only", calls=literal(first))])
    change_terms(both, 1, replaces=0, later="after_report")
    return both


def _rows_made(setting: FormSetting, calls: Sequence[GoldenCall]) -> dict[str, Mapping[str, Json]]:
    """The rows that calls have made, as they leave them."""
    with setting.open() as session:
        make_calls(session, calls)
        inserted = [change for change in session.diff() if change.op == "insert"]
    return {f"{change.table} {change.key}": change.after or {} for change in inserted}


def _check_undone(made: Mapping[str, Mapping[str, Json]], left: Mapping[str, Mapping[str, Json]]) -> None:
    """Check that a second deed ends or exchanges what the first has made; else it is no second mind.

    Raises:
        NoInstance: It does neither.
    """
    for place, row in made.items():
        after = left.get(place, {})
        exchanged = [name for name, value in row.items() if name.endswith("_id") and after.get(name) != value]
        if has_ended(after) or exchanged:
            return
    raise NoInstance("the second wish does not take the place of the first")


def _two_deeds(setting: FormSetting) -> tuple[Instance, Instance]:
    """An instance of either deed on one row, each from the start."""
    template, focus = setting.template, setting.template.focus
    first = setting.plain(without_form(template, calls=template.calls[:1], focus=None))
    second = without_form(template, calls=template.calls[1:], focus=None)
    named = (first.steps[0], focus.parameter if focus else "")
    row = next((row for row in first.rows if (row.call, row.parameter) == named), None)
    for parameter in setting.tool(second.calls[0].tool).parameters if row else ():
        entity, _, column = (parameter.refers_to or "").partition(".")
        if row and row.key and entity == row.entity and second.calls[0].found_by.get(parameter.name):
            return first, setting.plain(fixed_row(second, 0, parameter.name, column, row.key))
    raise NoInstance("the two wishes are not about one row")


def _changeable(tool: Tool) -> list[str]:
    """Parameters of a write, beside the row that it is about, of which people change their mind."""
    own = next((one.name for one in tool.parameters if one.refers_to and one.required), None)
    named = [one for one in tool.parameters if one.required and one.name != own and "reason" not in one.name]
    return [one.name for one in named if own is not None][:2]


def _makes_rows(tool: Tool) -> bool:
    """Whether a write makes a row, so that a second call would make another one."""
    return any(effect.sql.lstrip().upper().startswith("INSERT") for effect in tool.effects)


def _others(
    setting: FormSetting, instance: Instance, parameter: str
) -> Iterator[tuple[GoldenCall, Mapping[str, Json]]]:
    """The call with other rows or values of one argument, and the words for the row; empty for a value."""
    step = instance.steps[0]
    call = instance.golden[step]
    listed = listed_row(instance, step, parameter)
    if listed is not None:
        order = [index for index in range(len(listed.rows)) if index != listed.index]
        for index in setting.random.sample(order, len(order)):
            words = words_for(setting.template, listed.mention.read, listed.rows, index, setting.random)
            if words:
                source = f"call {listed.place} [{index}].{listed.column}"
                key = listed.rows[index][listed.column]
                yield _with(call, parameter, key, source), words
        return
    if call.grounding.get(parameter) != "user":
        return
    fixed = {name: value for name, value in call.arguments.items() if name != parameter}
    with setting.open() as session:
        search = argument_search(session, setting.tool(call.tool), setting.random, fixed, nodes=60)  # type: ignore[arg-type]
        values = [arguments.get(parameter) for arguments in islice(search.meeting(), MOST_OTHERS)]
    for value in dict.fromkeys(values):
        if value is not None and value != call.arguments[parameter]:
            yield _with(call, parameter, value, "user"), {}


def _with(call: GoldenCall, parameter: str, value: Json, source: str) -> GoldenCall:
    return call.model_copy(
        update={
            "arguments": {**call.arguments, parameter: value},
            "grounding": {**call.grounding, parameter: source},
        }
    )


def _changed(
    setting: FormSetting,
    once: TaskTemplate,
    instance: Instance,
    call: GoldenCall,
    words: Mapping[str, Json],
    moment: Moment,
) -> Instance:
    """The instance with the second wish: in place of the first, or after it."""
    step, focus = instance.steps[0], setting.template.focus
    parameter = focus.parameter if focus else ""
    is_early = moment == "second_message"
    first, second = (UNDONE, step) if is_early else (step, step + 1)
    rows = [row for row in instance.rows if row.call == step]
    again = [
        row.model_copy(update={"key": str(call.arguments[parameter]), "columns": {**words}})
        if row.parameter == parameter
        else row
        for row in rows
    ]
    said = [value for value in instance.values if value.call == step]
    new = [
        value.model_copy(update={"value": call.arguments[parameter]}) if value.parameter == parameter else value
        for value in said
    ]
    before, later = [*instance.golden[:step]], instance.golden[step]
    golden = [*before, call] if is_early else [*before, later, call]
    changed = replace(
        instance,
        golden=golden,
        results=setting.run(golden),
        steps=[first, second],
        undone=[later] if is_early else [],
        rows=[
            *(row for row in instance.rows if row.call != step),
            *moved_mentions(rows, lambda _: first),
            *moved_mentions(again, lambda _: second),
        ],
        values=[
            *(value for value in instance.values if value.call != step),
            *moved_values(said, lambda _: first),
            *moved_values(new, lambda _: second),
        ],
        fresh_from=len(golden),
        any_of=[literal([*before, later, call])] if is_early else [],
    )
    changed.communicate = told_again(setting.template, changed) if once.tell else []
    wrong = [Course(name="first_wish_only", calls=literal([*before, later]))]
    right = [Course(name="amended", calls=literal([*before, later, call]))] if is_early else []
    add_form(changed, "change_of_mind", wrong=wrong, right=right)
    change_terms(changed, 1, replaces=0, later=moment)
    return changed

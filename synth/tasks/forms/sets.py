"""Forms about several rows: `batch` and `aggregate`.

`batch`: something is done with every row of a kind but one. `aggregate`: an amount is added up over rows, and no result
shows the sum. What the user says of the rows fits them and no others, in every view of the list.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from skillweave.schema.combination import (
    Combination,
    MentionedRow,
    OmittedSlot,
    Question,
    RequestedValue,
    RowSet,
    TaskTemplate,
    TemplateCall,
)
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import Course, FactToTell, GoldenCall, RequestForm
from skillweave.world.replay import result_reference
from skillweave.world.world import World
from synth.contracts.visibility import column_origins, is_owned_by_person, subject_entity
from synth.contracts.wording import is_status
from synth.search.row_words import row_matches
from synth.tasks.facts import LEAST_CENTS
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    ListedRow,
    add_form,
    change_terms,
    fits,
    formed,
    is_amount,
    is_moment,
    key_columns,
    listed_row,
    literal,
    noun_of,
    own_list,
    plain,
    rows_in_every_view,
    single_write,
    without_form,
    words_for,
)
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.replay import Rejected, rows_of

LEAST_BATCH, MOST_BATCH = 2, 7
"""Rows of a batch."""
LEAST_SUMMANDS = 3
"""Rows of a sum."""
MOST_SETS = 40
"""Sets of rows that are tried for one caller."""

Rows = Sequence[dict[str, Json]]


class _Set(NamedTuple):
    """Rows of a list that are meant together."""

    rows: RowSet
    meant: list[int]
    """Their places in the list."""
    excepted: list[int]


class BatchForm(FormRecipe):
    """A deed for every row of a kind, with or without an exception."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each deed about one row that a list of the user's own rows shows."""
        for goal in plain(goals):
            call = single_write(goal, source)
            if call is None or len(call.found_by) != 1:
                continue
            ((parameter, found_by),) = call.found_by.items()
            if own_list(found_by, source):
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
        for one in _sets(setting, listed, MOST_BATCH):
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


class AggregateForm(FormRecipe):
    """The sum of an amount over several of the user's own rows."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each list of the user's own rows, and each amount in it."""
        nouns = {(goal.calls[one.call - 1].tool, one.column): one.noun for goal in goals for one in goal.tell}
        for tool, base in _own_lists(source, goals):
            for column in column_origins(tool):
                if column.endswith("_cents"):
                    noun = nouns.get((tool.name, column), noun_of(column))
                    yield formed(
                        base,
                        "aggregate",
                        "sum",
                        id=f"{source.blueprint.server}/sum_{tool.name}_{column}",
                        kind="inform",
                        base=None,
                        title=f"Add up the {noun}",
                        calls=[TemplateCall(tool=tool.name)],
                        tell=[],
                        counted=RequestedValue(call=1, column=column, noun=noun, ask=[f"the {noun}"]),
                        reasons=_REASONS,
                    )

    def instance(self, setting: FormSetting) -> Instance:
        """An instance for the rows of one of the sets that the caller can mean."""
        counted, read = setting.template.counted, setting.template.calls[0].tool
        if counted is None:
            raise NoInstance("no set of rows to add up")
        column, noun = counted.column, counted.noun
        golden = [GoldenCall(tool=read, arguments={})]
        (result,) = setting.run(golden)
        rows = rows_of(result)
        mention = MentionedRow(call=0, parameter=None, entity=None, key=None, read=read, columns={})
        listed = ListedRow(mention, 0, 0, "", rows)
        for one in _sets(setting, listed, len(rows)):
            parts = [rows[index].get(column) for index in one.meant]
            amounts = [part for part in parts if isinstance(part, int) and is_amount(column, part)]
            if len(amounts) < LEAST_SUMMANDS or len(amounts) != len(parts):
                continue
            total = sum(amounts)
            others = [
                sum(_amounts(rows, column)),
                sum(amounts) + sum(_amounts([rows[at] for at in one.excepted], column)),
            ]
            if total < LEAST_CENTS or total in _amounts(rows, column):
                continue
            fact = FactToTell(
                fact="told_1",
                noun=f"{noun} in all",
                values=[total],
                type="integer",
                unit="cents",
                rivals=[other for other in dict.fromkeys(others) if other != total],
                parts=[*amounts],
            )
            instance = Instance(golden=golden, results=[result], steps=[0], communicate=[fact])
            question = Question(fact="told_1", tool=read, sort="sum", column=column, noun=noun, of=one.rows)
            instance.questions = [question]
            add_form(instance, "aggregate")
            return instance
        raise NoInstance("no set of rows to add up")

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """Every view of the list shows the same rows that the words fit; their values add up to what is told."""
        rows = 0
        for question in combination.questions:
            if question.of is not None:
                rows += _check_sum(world, combination, question, question.of)
        if not rows:
            raise Rejected("nothing to add up")
        return {"summands": rows}


def _own_lists(source: TemplateSource, goals: Sequence[TaskTemplate]) -> Iterator[tuple[Tool, TaskTemplate]]:
    """Reads that list rows without being asked for any, each with a plain template of the world.

    None in a fused world: such a sum needs one company alone.
    """
    base = next(plain(goals), None) if source.bridge_rules is None else None
    for tool in source.blueprint.tools:
        subject = subject_entity(source.blueprint, tool) if tool.kind == "read" else None
        is_own = subject is not None and is_owned_by_person(source.blueprint, source.blueprint.entity(subject))
        is_list = is_own and tool.returns.rows == "many"
        if base and is_list and not any(parameter.required for parameter in tool.parameters):
            yield tool, base


_REASONS = [
    "I am putting my papers in order.",
    "I want to know where my money goes.",
    "I need the figure for my household book.",
    "I am working out what I spend in a year.",
    "My partner has asked me about it.",
]
"""Why people add something up."""


def _amounts(rows: Rows, column: str) -> list[int]:
    return [value for row in rows if isinstance(value := row.get(column), int)]


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


def _sets(setting: FormSetting, listed: ListedRow, most: int) -> Iterator[_Set]:
    """Sets of rows that people can mean, in a drawn order: by month, name or status, with an exception or none."""
    rows, read, random = listed.rows, listed.mention.read, setting.random
    tool = setting.tool(read)
    spoken = [name for name in setting.template.referred_by.get(read, []) if rows and name in rows[0]]
    shared = {*spoken, *(name for name in (rows[0] if rows else ()) if is_status(name))}
    entity = subject_entity(setting.world.blueprint, tool) or setting.world.blueprint.core_entity
    day = next((name for name in spoken if all(is_moment(row.get(name)) for row in rows)), None)
    wishes: list[RowSet] = [RowSet(entity=entity, size=0)]
    for name in sorted(shared):
        values = dict.fromkeys(
            value for row in rows if isinstance(value := row.get(name), str) and not is_moment(value)
        )
        wishes += [RowSet(entity=entity, columns={name: value}, size=0) for value in values]
    if day:
        months = sorted({str(row[day])[:7] for row in rows})
        dated = [
            one.model_copy(update={"day_column": day, "month": m, "since": s})
            for one in wishes
            for m in months
            for s in (False, True)
        ]
        wishes = [*dated, *wishes]
    random.shuffle(wishes)
    for wish in wishes[:MOST_SETS]:
        meant = [index for index, row in enumerate(rows) if in_set(row, wish)]
        without = _exception(setting, read, rows, meant, random, {*wish.columns}) if random.random() < 0.7 else None
        if without is not None:
            index, words = without
            left = [one for one in meant if one != index]
            yield _Set(wish.model_copy(update={"excepted": [words], "size": len(left)}), left, [index])
        if len(meant) <= most:
            yield _Set(wish.model_copy(update={"size": len(meant)}), meant, [])


def _exception(
    setting: FormSetting, read: str, rows: Rows, meant: Sequence[int], random: Random, hidden: set[str]
) -> tuple[int, dict[str, Json]] | None:
    """A row of a set that is to be left out, and the words that tell it apart from the others of the set."""
    if len(meant) < LEAST_BATCH + 1:
        return None
    index = random.choice([*meant])
    own = [rows[one] for one in meant]
    words = words_for(setting.template, read, own, [*meant].index(index), random, *hidden)
    return (index, words) if words else None


def in_set(row: dict[str, Json], rows: RowSet) -> bool:
    """Whether a row is one of those that are meant, exceptions apart."""
    if not fits(row, rows.columns):
        return False
    if rows.month is None:
        return True
    month = str(row.get(rows.day_column or "") or "")[:7]
    return month >= rows.month if rows.since else month == rows.month


def is_meant(row: dict[str, Json], rows: RowSet) -> bool:
    """Whether a row is one of those that are meant."""
    return in_set(row, rows) and not any(row_matches(row, words) for words in rows.excepted)


def _batch(
    setting: FormSetting, instance: Instance, listed: ListedRow, one: _Set, golden: Sequence[GoldenCall]
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


def _check_sum(world: World, combination: Combination, question: Question, of: RowSet) -> int:
    fact = next(one for one in combination.communicate if one.fact == question.fact)
    place = next(at for at, call in enumerate(combination.golden) if call.tool == question.tool and not call.arguments)
    keys = key_columns(world, question.tool)
    rows = rows_in_every_view(world, combination, place)
    values = {
        str([row.get(key) for key in keys]): row.get(question.column)
        for row in rows
        if is_meant(row, of)  # type: ignore[arg-type]
    }
    parts = sorted(value for value in values.values() if isinstance(value, int))
    if len(values) != of.size or [sum(parts)] != fact.values or parts != sorted(map(int, map(str, fact.parts))):
        raise Rejected("another sum", f"{sum(parts)} over {len(values)} rows, not {fact.values}")
    return len(values)

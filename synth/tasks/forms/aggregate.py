"""Form `aggregate`: an amount is added up over rows, and no result shows the sum.

The amounts stand in a list of the user's own rows, or in a read about each of them: their payments, their bags.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, takewhile

from skillweave.schema.combination import Calculation, Combination, MentionedRow, RowSet
from skillweave.schema.contract import Tool
from skillweave.schema.criteria import FactToTell, GoldenCall, RequestForm
from skillweave.schema.record import Json
from skillweave.schema.template import RequestedValue, TaskTemplate, TemplateCall
from skillweave.world.replay import result_reference
from skillweave.world.world import World
from synth.contracts.visibility import column_origins, is_owned_by_person, page_parameter, subject_entity
from synth.contracts.wording import name_in_words
from synth.tasks.facts import LEAST_CENTS
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    ListedRow,
    add_form,
    formed,
    is_amount,
    key_columns,
    noun_of,
    plain,
    rows_in_every_view,
)
from synth.tasks.forms.row_sets import MeantRows, Rows, adds_nothing, is_clear, is_meant, meant_rows
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.replay import MOST_PAGES, NEXT_PAGE, Rejected, rows_of

LEAST_SUMMANDS = 3
"""Rows of a sum."""
LONG_SHARE = 0.85
"""How often the longest of the sums is wanted that somebody could mean."""
MOST_READS = 8
"""Reads about single rows, of one sum."""


class AggregateForm(FormRecipe):
    """The sum of an amount over several of the user's own rows, or over what belongs to them."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each list of the user's own rows: each amount in it, and each amount in a read about one of its rows."""
        # In a fused world such a sum would need one company alone.
        base = next(plain(goals), None)
        if base is None or source.bridge_rules is not None:
            return
        nouns = {(goal.calls[one.call - 1].tool, one.column): one.noun for goal in goals for one in goal.tell}
        for tool in _own_lists(source):
            calls = [TemplateCall(tool=tool.name)]
            for column in _amount_columns(tool):
                yield _adding_up(base, source, calls, column, nouns.get((tool.name, column), noun_of(column)))
            for detail, name in _details(tool, source) if page_parameter(tool) is None else ():
                # Of what belongs to a row nothing is left out: no refunds and no deposits.
                for column in _amount_columns(detail) if "kind" not in column_origins(detail) else ():
                    noun = f"{name_in_words(name).lower()} {noun_of(column)}"
                    yield _adding_up(base, source, [*calls, TemplateCall(tool=detail.name)], column, noun)

    def instance(self, setting: FormSetting) -> Instance:
        """An instance for the rows of one of the sets that the caller can mean."""
        read = setting.template.calls[0].tool
        pages = _pages(setting, read)
        rows = [row for page in pages for row in page]
        mention = MentionedRow(call=0, parameter=None, entity=None, key=None, read=read, columns={})
        sets = [*meant_rows(setting, ListedRow(mention, 0, 0, "", rows), len(rows), without_ended=True)]
        order = sorted(sets, key=lambda one: -len(one.meant)) if setting.random.random() < LONG_SHARE else sets
        for one in order:
            instance = _of_rows(setting, pages, one)
            if instance is not None:
                return instance
        raise NoInstance("no set of rows to add up")

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """Every view of the list shows the same rows that the words fit; their amounts add up to what is told."""
        summands = 0
        for question in combination.questions:
            if question.of is not None:
                summands += _check_sum(world, combination, question, question.of)
        if not summands:
            raise Rejected("nothing to add up")
        return {"summands": summands}


def _adding_up(
    base: TaskTemplate, source: TemplateSource, calls: Sequence[TemplateCall], column: str, noun: str
) -> TaskTemplate:
    read = calls[-1].tool
    return formed(
        base,
        "aggregate",
        "sum",
        id=f"{source.blueprint.server}/sum_{'_'.join(call.tool for call in calls)}_{column}",
        kind="inform",
        base=None,
        title=f"Add up the {noun}",
        calls=[*calls],
        tell=[],
        counted=RequestedValue(call=len(calls), column=column, noun=noun, ask=[f"the {noun}"]),
        reasons=_REASONS,
        form_detail=read,
    )


def _own_lists(source: TemplateSource) -> Iterator[Tool]:
    """Reads that list the user's own rows without being asked for any."""
    for tool in source.blueprint.tools:
        subject = subject_entity(source.blueprint, tool) if tool.kind == "read" else None
        is_own = subject is not None and is_owned_by_person(source.blueprint, source.blueprint.entity(subject))
        if is_own and tool.returns.rows == "many" and not any(parameter.required for parameter in tool.parameters):
            yield tool


def _details(tool: Tool, source: TemplateSource) -> Iterator[tuple[Tool, str]]:
    """Reads that list what belongs to one row of a list, each with its entity."""
    subject = subject_entity(source.blueprint, tool)
    for other in source.blueprint.tools:
        required = [parameter for parameter in other.parameters if parameter.required]
        about = subject_entity(source.blueprint, other) if other.kind == "read" and len(required) == 1 else None
        is_of_row = about and (required[0].refers_to or "").partition(".")[0] == subject
        if about and is_of_row and other.returns.rows == "many" and about != subject:
            yield other, about


_UNADDED = frozenset(
    {
        *("nightly", "daily", "price", "rate", "estimate", "limit", "excess", "deductible", "refund", "fee"),
        *("fees", "extras", "security"),
    }
)
"""Words of amounts that nobody adds up over rows."""


def _amount_columns(tool: Tool) -> list[str]:
    """Amounts that people add up: what single things cost by the day, limits and estimates are none.

    Of rows of several kinds those of payments, of which refunds are left out: their amounts have the same sign.
    """
    columns = [*column_origins(tool)]
    if "kind" in columns and "payment" not in tool.name:
        return []
    return [column for column in columns if column.endswith("_cents") and _UNADDED.isdisjoint(column.split("_"))]


_REASONS = [
    "I'm doing my accounts.",
    "I'm trying to keep track of my spending.",
    "I'm sorting out my budget.",
    "I'm working out what I spend in a year.",
]
"""Why people add something up."""


def _pages(setting: FormSetting, read: str) -> list[Rows]:
    """The pages of a list, without the empty one that comes after the last; of a list that is shown at once, one.

    Raises:
        NoInstance: It goes on behind the last page that is turned.
    """
    calls = _turned_pages(setting.tool(read), MOST_PAGES)
    pages = [rows_of(result) for result in setting.run(calls)]
    if pages[1:] and pages[-1]:
        raise NoInstance("the list has too many pages")
    return [*takewhile(bool, pages)] or [[]]


def _turned_pages(tool: Tool, count: int) -> list[GoldenCall]:
    """The calls that show so many pages of a list; one, if it is shown at once."""
    first, page = GoldenCall(tool=tool.name, arguments={}), page_parameter(tool)
    if page is None:
        return [first]
    further = (first.model_copy(update={"arguments": {page: number}}) for number in range(2, count + 1))
    return [first, *(call.model_copy(update={"grounding": {page: NEXT_PAGE}}) for call in further)]


def _of_rows(setting: FormSetting, pages: Sequence[Rows], one: MeantRows) -> Instance | None:
    """The instance for one set of rows; None if there is nothing to add up, or too little."""
    template, counted = setting.template, setting.template.counted
    if counted is None or not one.meant:
        return None
    read, column = template.calls[0].tool, counted.column
    rows = [row for page in pages for row in page]
    # Whoever reads a list to its last meant row has seen all that is to be added up.
    ends = [*accumulate(map(len, pages))]
    golden = _turned_pages(setting.tool(read), 1 + sum(end <= max(one.meant) for end in ends))
    if len(template.calls) > 1:
        golden += _about_each(setting, rows, one)
    results = setting.run(golden) if len(golden) <= MOST_READS + 1 else []
    if not results or not all(rows_of(result) for result in results):
        return None
    listed = [row for result in results[1:] for row in rows_of(result)] if len(template.calls) > 1 else rows
    summed = listed if len(template.calls) > 1 else [rows[index] for index in one.meant]
    parts = [row.get(column) for row in summed]
    amounts = [part for part in parts if isinstance(part, int) and is_amount(column, part)]
    total = sum(amounts)
    # What came to nothing is neither paid nor owed; whoever means it says so.
    if any(adds_nothing(rows[index]) for index in one.meant):
        return None
    is_simple = len(amounts) < LEAST_SUMMANDS or total < LEAST_CENTS or total in _amounts([*rows, *summed], column)
    if is_simple or len(amounts) != len(parts) or total in _shown_anyway(setting):
        return None
    first_page = [rows[at] for at in one.meant if at < len(pages[0])]
    others = [
        sum(_amounts(rows, column)),
        sum(_amounts(first_page, column)),
        total + sum(_amounts([rows[at] for at in one.excepted], column)),
    ]
    fact = FactToTell(
        fact="told_1",
        noun=f"{counted.noun} in all",
        values=[total],
        type="integer",
        unit="cents",
        rivals=[other for other in dict.fromkeys(others) if other not in (0, total)],
        parts=[*amounts],
    )
    tool = template.calls[-1].tool
    question = Calculation(
        fact="told_1",
        tool=tool,
        call=len(template.calls) - 1,
        sort="sum",
        column=column,
        noun=counted.noun,
        of=one.rows,
    )
    steps = [*range(len(template.calls))]
    instance = Instance(golden=golden, results=results, steps=steps, communicate=[fact], questions=[question])
    instance.rows = _mentions(read, golden, one)
    add_form(instance, "aggregate")
    return instance


def _shown_anyway(setting: FormSetting) -> set[int]:
    """The values in results of reads that ask for nothing: a sum that an account has, too, takes no adding up."""
    reads = (tool for tool in setting.world.blueprint.tools if tool.kind == "read")
    free = [tool.name for tool in reads if not any(parameter.required for parameter in tool.parameters)]
    results = setting.run([GoldenCall(tool=name, arguments={}) for name in free])
    return {value for result in results for row in rows_of(result) for value in row.values() if isinstance(value, int)}


def _about_each(setting: FormSetting, rows: Rows, one: MeantRows) -> list[GoldenCall]:
    """A read about each row of a set."""
    tool = setting.tool(setting.template.calls[1].tool)
    parameter = next(parameter for parameter in tool.parameters if parameter.required)
    key = (parameter.refers_to or "").partition(".")[2]
    return [
        GoldenCall(
            tool=tool.name,
            arguments={parameter.name: rows[index].get(key)},
            grounding={parameter.name: f"call 0 [{index}].{key}"},
        )
        for index in one.meant
    ]


def _mentions(read: str, golden: Sequence[GoldenCall], one: MeantRows) -> list[MentionedRow]:
    """The rows of a set, as the reads about each of them take them."""
    return [
        MentionedRow(
            call=place,
            parameter=name,
            entity=one.rows.entity,
            key=str(call.arguments[name]),
            read=read,
            columns=one.rows.columns,
        )
        for place, call in enumerate(golden)
        for name, source in call.grounding.items()
        if source != NEXT_PAGE
    ]


def _amounts(rows: Rows, column: str) -> list[int]:
    return [value for row in rows if isinstance(value := row.get(column), int)]


def _check_sum(world: World, combination: Combination, question: Calculation, of: RowSet) -> int:
    """How many amounts are added up. Raises Rejected if another view of the list shows other rows."""
    fact = next(one for one in combination.communicate if one.fact == question.fact)
    first = combination.golden[question.call]
    source = next((result_reference(source) for source in first.grounding.values()), None)
    place = source.call if source else question.call
    named = f"call {place} ["
    calls = [
        (at, call)
        for at, call in enumerate(combination.golden)
        if call.tool == question.tool and any(text.startswith(named) for text in call.grounding.values())
    ]
    read = combination.golden[place].tool
    rows = {str(_key(world, read, row)): row for row in rows_in_every_view(world, combination, place)}
    if not all(is_clear(row, of) for row in rows.values()):
        raise Rejected("another sum", f"it is not clear what lies in {of.month}")
    meant = [row for row in rows.values() if is_meant(row, of)]  # type: ignore[arg-type]
    if source is None:
        values = [row.get(question.column) for row in meant]
    else:
        read_about = {str(value) for _, call in calls for value in call.arguments.values()}
        if not all(read_about & {*map(str, row.values())} for row in meant) or len(calls) != len(meant):
            raise Rejected("another sum", f"{len(calls)} reads for {len(meant)} rows that the words fit")
        found = [row for at, _ in calls for row in rows_in_every_view(world, combination, at)]
        values = [*({str(_key(world, question.tool, row)): row.get(question.column) for row in found}).values()]
    parts = sorted(value for value in values if isinstance(value, int))
    if len(meant) != of.size or [sum(parts)] != fact.values or parts != sorted(map(int, map(str, fact.parts))):
        raise Rejected("another sum", f"{sum(parts)} over {len(meant)} rows, not {fact.values}")
    return len(parts)


def _key(world: World, read: str, row: Mapping[str, Json]) -> list[Json]:
    return [row.get(name) for name in key_columns(world, read)]

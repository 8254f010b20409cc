"""Form `batch`: something is done with every row of a kind but one, in an order, up to a sum, or as far as rules allow.

What the user says of the rows fits them and no others, in every view of the list. For one of them a rule may forbid it:
that is recorded as declined, and the others are dealt with. Courses that have to fail: with the exception too, beyond
the sum, against the rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from skillweave.schema.combination import Combination, RowSet, Superlative
from skillweave.schema.contract import STRUCTURAL, Tool
from skillweave.schema.criteria import Course, GoldenCall, RequestForm
from skillweave.schema.record import Json
from skillweave.schema.template import OmittedSlot, TaskTemplate
from skillweave.world.replay import result_reference
from skillweave.world.world import World
from synth.contracts.visibility import columns_seen, columns_to_look_up
from synth.contracts.writes import Column
from synth.search.blocking_rules import broken_rules
from synth.tasks.forms.foreseeing import every_row, of_row
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    ListedRow,
    add_form,
    change_terms,
    formed,
    is_amount,
    is_moment,
    listed_row,
    literal,
    plain,
    rows_in_every_view,
    single_write,
    without_form,
)
from synth.tasks.forms.row_sets import MeantRows, is_clear, is_meant, meant_rows
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.kinds.recipe import ASKED
from synth.tasks.outcomes import amount_of, outcome
from synth.tasks.replay import Rejected, make_calls

LEAST_BATCH, MOST_BATCH = 2, 7
"""Rows of a batch that are dealt with; beside one that a rule forbids, a single one will do."""
STEPS = (5000, 2500, 1000, 500)
"""A sum up to which something is paid is a multiple of one of these amounts, in cents, the roundest first."""
CATCH_SHARE = 0.7
"""How often a batch is to have a row that a rule forbids, or a sum, if there is such a one."""
MOST_LIMITS = 3
"""Sums among which one is drawn."""
BUDGETED = ("to_pay_cents", "amount_cents", "total_cents", "copay_cents", "premium_cents")
"""Columns of a list that say what is to be paid for a row."""
PAID = ("paid_now_cents", "amount_cents", "total_cents", "deposit_cents")
"""Columns of a result that say what was paid."""
_ORDERS = frozenset({"due", "issued", "starts", "ordered", "pickup", "departs", "check"})
"""Words of days by which people put what is to be paid in order."""
_OF_BILLS = frozenset({"due", "issued"})
"""Those of bills themselves."""


class BatchForm(FormRecipe):
    """A deed for every row of a kind, with or without an exception."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each deed about one row that a list of the user's own rows shows."""
        for goal in plain(goals):
            call = single_write(goal, source)
            parameter = every_row(goal, source.blueprint.tool(call.tool), source) if call else None
            if parameter:
                yield formed(goal, "batch", "every", focus=OmittedSlot(call=1, parameter=parameter), tell=[])

    def instance(self, setting: FormSetting) -> Instance:
        """An instance for the rows of one of the sets that the caller can mean; one with a catch if there is any."""
        focus = setting.template.focus
        instance = setting.plain(without_form(setting.template))
        step = instance.steps[0]
        listed = listed_row(instance, step, focus.parameter) if focus else None
        if focus is None or listed is None or step + 1 != len(instance.golden):
            raise NoInstance("the row is of no list")
        if instance.golden[listed.place].arguments:
            raise NoInstance("the list shows a part of the rows")
        looked_up, call = instance.golden[:step], instance.golden[step]
        calls = [of_row(call, focus.parameter, listed, index) for index in range(len(listed.rows))]
        lawful = [setting.is_lawful([*looked_up, one]) for one in calls]
        other: _Batch | None = None
        has_catch = setting.random.random() < CATCH_SHARE
        for one in meant_rows(setting, listed, MOST_BATCH + 2):
            for batch in _batches(setting, listed, looked_up, calls, lawful, one):
                if batch.has_catch == has_catch:
                    return _batch(setting, instance, listed, looked_up, batch)
                other = other or batch
        if other is None:
            raise NoInstance("no set of rows for which it is lawful")
        return _batch(setting, instance, listed, looked_up, other)

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """The words fit the rows of the golden calls, in every view of the list, and no others."""
        rows = 0
        for terms in combination.terms:
            if terms.every is not None:
                rows += _check_batch(world, combination, combination.steps[terms.call], terms.every)
        if not rows:
            raise Rejected("not the rows that are meant")
        return {"rows_meant": rows}


@dataclass(frozen=True)
class _Batch:
    """Calls for the rows of a set."""

    rows: RowSet
    made: Sequence[GoldenCall]
    excepted: Sequence[GoldenCall]
    """Calls for rows that are left out: by the user's words, or because they would go beyond the sum."""
    forbidden: GoldenCall | None = None
    rules: Sequence[str] = ()

    @property
    def has_catch(self) -> bool:
        """Whether something stands in the way of doing it for each."""
        return self.forbidden is not None or self.rows.budget is not None


def _batches(
    setting: FormSetting,
    listed: ListedRow,
    looked_up: Sequence[GoldenCall],
    calls: Sequence[GoldenCall],
    lawful: Sequence[bool],
    one: MeantRows,
) -> Iterator[_Batch]:
    """The ways in which a set of rows can be dealt with: up to a sum, all but a forbidden one, all."""
    excepted = [calls[index] for index in one.excepted]
    able = [index for index in one.meant if lawful[index]]
    if len(able) == len(one.meant):
        yield from _within_budget(setting, listed, looked_up, calls, one)
        made = [calls[index] for index in able]
        if LEAST_BATCH <= len(made) <= MOST_BATCH and setting.is_lawful([*looked_up, *made]):
            yield _Batch(one.rows, made, excepted)
    elif len(able) == len(one.meant) - 1 and 1 <= len(able) <= MOST_BATCH:
        made = [calls[index] for index in able]
        forbidden = next(calls[index] for index in one.meant if not lawful[index])
        rules = rules_against(setting, [*looked_up, *made], forbidden)
        # Done before the others, it would break the same rules.
        if rules and rules == rules_against(setting, looked_up, forbidden):
            yield _Batch(one.rows, made, excepted, forbidden, rules)


def rules_against(setting: FormSetting, golden: Sequence[GoldenCall], call: GoldenCall) -> list[str]:
    """The rules of the business that forbid a call after golden calls, if they can be known; else none."""
    blueprint, tool, seen = setting.world.blueprint, setting.tool(call.tool), set[Column]()
    for other in golden:
        seen |= columns_seen(blueprint, tool, setting.tool(other.tool), other.arguments)
    with setting.open() as session:
        if not all(result.ok and not result.violations for result in make_calls(session, golden)):
            return []
        rules = broken_rules(session, tool, call.arguments)
    guards = {guard.rule: guard for guard in tool.guards}
    if any(guards[rule].concern in STRUCTURAL or columns_to_look_up(blueprint, tool, rule) - seen for rule in rules):
        return []
    return rules


def _within_budget(
    setting: FormSetting,
    listed: ListedRow,
    looked_up: Sequence[GoldenCall],
    calls: Sequence[GoldenCall],
    one: MeantRows,
) -> Iterator[_Batch]:
    """The rows of a set in the order of a day, up to a sum of what is paid for them: none behind the first that would
    go beyond it would still fit in."""
    days = [name for name in _days_in_order(setting, listed) if len({listed.rows[at][name] for at in one.meant}) > 1]
    columns = [name for name in BUDGETED if all(is_amount(name, listed.rows[at].get(name)) for at in one.meant)]
    for day, column in product(days[:1], columns[:1]):
        order = sorted(one.meant, key=lambda at: str(listed.rows[at][day]))
        if len({listed.rows[at][day] for at in order}) != len(order) or not _pays(
            setting, listed, looked_up, calls, order, column
        ):
            continue
        amounts = [int(str(listed.rows[at][column])) for at in order]
        for count in range(LEAST_BATCH, min(len(order), MOST_BATCH + 1)):
            lowest, highest = sum(amounts[:count]), sum(amounts[:count]) + min(amounts[count:])
            limits = [limit for step in STEPS for limit in range(-(-lowest // step) * step, highest, step)]
            made = [calls[at] for at in order[:count]]
            if limits and setting.is_lawful([*looked_up, *made]):
                rows = one.rows.model_copy(
                    update={
                        "first": Superlative(column=day, order="least"),
                        "budget": setting.random.choice(limits[:MOST_LIMITS]),
                        "budget_column": column,
                        "size": count,
                    }
                )
                yield _Batch(rows, made, [calls[order[count]]])


def _days_in_order(setting: FormSetting, listed: ListedRow) -> list[str]:
    """Columns with days by which people put rows of a list in order: first the day by which something is due.

    Bills are in the order of their own days, not in that of what they are for.
    """
    spoken = [*setting.template.referred_by.get(listed.mention.read, []), *(listed.rows[0] if listed.rows else {})]
    days = [name for name in dict.fromkeys(spoken) if all(is_moment(row.get(name)) for row in listed.rows)]
    # Where the deposit is paid, nothing of it is due.
    is_of_deposits = "deposit" in setting.template.calls[0].tool
    ordered = [
        name for name in days if _ORDERS.intersection(name.split("_")) and (is_of_deposits or "deposit" not in name)
    ]
    ordered = [name for name in ordered if _OF_BILLS.intersection(name.split("_"))] or ordered
    return sorted(ordered, key=lambda name: "due" not in name.split("_"))


def _pays(
    setting: FormSetting,
    listed: ListedRow,
    looked_up: Sequence[GoldenCall],
    calls: Sequence[GoldenCall],
    order: Sequence[int],
    column: str,
) -> bool:
    """Whether each call pays just the amount that a column of its row shows."""
    with setting.open() as session:
        make_calls(session, looked_up)
        results = [outcome(session, calls[at]) for at in order]
    return all(
        any(amount_of(result, name) == listed.rows[at][column] for name in PAID)
        for at, result in zip(order, results, strict=True)
    )


def _batch(
    setting: FormSetting, instance: Instance, listed: ListedRow, looked_up: Sequence[GoldenCall], batch: _Batch
) -> Instance:
    step, focus = instance.steps[0], setting.template.focus
    parameter = focus.parameter if focus else ""
    mentions = [row for row in instance.rows if row.call != step]
    said = [value for value in instance.values if value.call == step]
    values = [value for value in instance.values if value.call != step]
    places = [(step + number, call) for number, call in enumerate(batch.made)]
    for place, call in [*places, *([(ASKED, batch.forbidden)] if batch.forbidden else [])]:
        key = str(call.arguments[parameter])
        mentions.append(listed.mention.model_copy(update={"call": place, "key": key, "columns": batch.rows.columns}))
        values += [value.model_copy(update={"call": place}) for value in said]
    golden = [*looked_up, *batch.made]
    instance.golden, instance.rows, instance.values, instance.fresh_from = golden, mentions, values, len(golden)
    instance.results = setting.run(golden)
    further = [*batch.excepted, *([batch.forbidden] if batch.forbidden else [])]
    wrong = [
        Course(
            name="forbidden_row" if call is batch.forbidden else "exception_included", calls=literal([*golden, call])
        )
        for call in further
        if call is batch.forbidden or setting.is_lawful([*golden, call])
    ]
    if batch.forbidden:
        instance.asked, instance.forbidden = batch.forbidden, [*batch.rules]
        wrong = [course for course in wrong if course.name != "forbidden_row" or _goes_through(setting, course.calls)]
    add_form(instance, "batch", wrong=wrong)
    change_terms(instance, 0, every=batch.rows)
    return instance


def _goes_through(setting: FormSetting, calls: Sequence[GoldenCall]) -> bool:
    """Whether no tool refuses one of the calls."""
    with setting.open() as session:
        return all(result.ok for result in make_calls(session, calls))


def _check_batch(world: World, combination: Combination, step: int, every: RowSet) -> int:
    call = combination.golden[step]
    place, column, parameter = _list_of(call, every, world)
    wanted = [*combination.golden[step:], *([combination.asked] if combination.asked else [])]
    made = [str(one.arguments[parameter]) for one in wanted if one.tool == call.tool]
    rows = rows_in_every_view(world, combination, place)
    if not all(is_clear(row, every) for row in rows):
        raise Rejected("not the rows that are meant", f"it is not clear what lies in {every.month}")
    meant = {str(row[column]): row for row in rows if is_meant(row, every)}  # type: ignore[arg-type]
    if every.budget is not None:
        meant = {key: meant[key] for key in affordable(meant, every)}
        if made != [*meant]:
            raise Rejected("not the rows that are meant", f"{made} and not {[*meant]} come first within the sum")
    if {*made} != {*meant} or len(meant) != every.size:
        raise Rejected("not the rows that are meant", f"{len(made)} calls for {len(meant)} rows that the words fit")
    return len(meant)


def affordable(meant: Mapping[str, Mapping[str, Json]], every: RowSet) -> list[str]:
    """The keys of the rows that come first, up to the sum. Raises Rejected if one behind them would still fit in."""
    day, column = every.first.column if every.first else "", every.budget_column or ""
    order = sorted(meant, key=lambda key: str(meant[key][day]))
    amounts = {key: int(str(meant[key][column])) for key in order}
    days = [meant[key][day] for key in order]
    left = every.budget or 0
    chosen: list[str] = []
    for key in order:
        if amounts[key] > left:
            break
        chosen.append(key)
        left -= amounts[key]
    behind = order[len(chosen) :]
    if len({*map(str, days)}) != len(days) or not behind or any(amounts[key] <= left for key in behind):
        raise Rejected("not the rows that are meant", "the order or the sum does not decide")
    return chosen


def _list_of(call: GoldenCall, every: RowSet, world: World) -> tuple[int, str, str]:
    """The list from which a call of a batch takes its row: its place, the column, and the call's parameter."""
    tool: Tool = world.blueprint.tool(call.tool)
    for parameter in tool.parameters:
        source = result_reference(call.grounding.get(parameter.name, ""))
        if source and (parameter.refers_to or "").partition(".")[0] == every.entity:
            return source.call, source.path.rpartition(".")[2], parameter.name
    raise Rejected("not the rows that are meant", f"{call.tool} takes no {every.entity}")

"""Form `choice`: the user means the first of several rows, as the earliest slot or the cheapest fare.

The golden row is the only first one among all rows that the read shows and that the other words fit; or the first for
which the rules allow the call. The runner-up is a course that has to fail, and so is a row that is forbidden.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from skillweave.schema.combination import Combination, Superlative
from skillweave.schema.contract import STRUCTURAL, CallResult
from skillweave.schema.criteria import Course, GoldenCall, RequestForm
from skillweave.schema.record import Json
from skillweave.schema.template import OmittedSlot, TaskTemplate
from skillweave.world.replay import rebound, result_reference
from skillweave.world.world import World
from synth.contracts.visibility import (
    column_origins,
    columns_seen,
    columns_to_look_up,
    is_owned_by_person,
    subject_entity,
)
from synth.contracts.writes import Column
from synth.tasks.forms.choice_by_outcome import choices_by_outcome, chosen_by_outcome, weighed_by_outcome
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
    is_incidental,
    is_moment,
    listed_row,
    literal,
    plain,
    rows_in_every_view,
    told_again,
    without_form,
)
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.replay import Rejected, make_calls, open_session, rows_of

LEAST_ROWS = 3
"""Rows to choose from, at least."""
MOST_FORBIDDEN = 3
"""Rows that are passed over because the call is forbidden for them, at most."""
MOST_WISHES = 12
"""Wishes that are tried for one caller."""
AHEAD = ("from", "since", "after")
"""First words of parameters that name the day from which rows are listed."""
_BEGINS = frozenset({"starts", "departs", "arrives", "due", "pickup", "opens", "begins"})
"""Words of days and times that say which row comes first. What only records keep says nothing: when it was booked."""
_PRICES = frozenset({"price", "fare", "rate", "nightly", "daily", "total", "cost", "premium"})
"""Words of amounts by which things are cheap or dear."""
_TOTALS = ("total_cents", "amount_cents")
"""Amounts that come of it: in all, and as billed."""
_ORDERS: tuple[Literal["least", "most"], ...] = ("least", "least", "most")


class Wish(NamedTuple):
    best: Superlative
    said: dict[str, Json]
    """Columns of the rows to choose from, with their values."""
    place: int
    """Its place in the list."""
    ranked: Sequence[int]
    """The places of all rows to choose from, the first of its kind first."""
    runner_up: int
    forbidden: Sequence[int] = ()
    """Places of the rows before it for which a rule forbids the call."""


class ChoiceForm(FormRecipe):
    """One argument of a write names the first row of its kind."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each row that the user chooses for a write, if a read lists such rows with days or amounts."""
        for goal in plain(goals):
            for number, call in enumerate(goal.calls, start=1) if goal.kind == "do" else ():
                settled = {*call.same, *call.given, *call.names, *call.rows}
                for parameter, found_by in call.found_by.items():
                    reads = [source.blueprint.tool(one.tool) for one in found_by]
                    is_listed = any(read.returns.rows == "many" and _deciding(column_origins(read)) for read in reads)
                    if parameter not in settled and call.demanded_by is None and is_listed:
                        focus = OmittedSlot(call=number, parameter=parameter)
                        yield formed(goal, "choice", f"best_{parameter}", focus=focus)
            yield from choices_by_outcome(goal, source)

    def instance(self, setting: FormSetting) -> Instance:
        """An instance in which the row is the first of its kind."""
        if (focus := setting.template.focus) is None:
            raise NoInstance("nothing to choose")
        if setting.template.form_detail:
            return chosen_by_outcome(setting, focus.parameter)
        instance = setting.plain(without_form(setting.template))
        step = instance.steps[focus.call - 1]
        listed = listed_row(instance, step, focus.parameter)
        if listed is None or "date_of_birth" in listed.row:
            raise NoInstance("the row is of no list to choose from")
        golden = _from_today(setting, instance, listed.place)
        results = setting.run(golden[: listed.place + 1])
        listed = ListedRow(listed.mention, listed.place, listed.index, listed.column, rows_of(results[-1]))
        for wish in islice(wishes_of(setting, listed, golden[listed.place].arguments), MOST_WISHES):
            chosen = _first_allowed(setting, golden, listed, wish, step)
            if chosen is None:
                continue
            wish, changed = chosen, _choosing(golden, listed, chosen.place)
            _settle(setting, instance, listed, wish, setting.run(changed), changed)
            add_form(instance, "choice", wrong=_wrong_rows(setting, golden, listed, wish))
            change_terms(instance, focus.call - 1, best={focus.parameter: wish.best})
            return instance
        raise NoInstance("no row is the first of its kind, and lawful")

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """The rows to choose from, in every view; the golden one is the only first one."""
        weighed = 0
        for terms in combination.terms:
            for parameter, best in terms.best.items():
                weighed += _weighed(world, combination, combination.steps[terms.call], parameter, best)
        if not weighed:
            raise Rejected("nothing to choose")
        return {"rows_to_choose_from": weighed}


def _first_allowed(
    setting: FormSetting, golden: Sequence[GoldenCall], listed: ListedRow, wish: Wish, step: int
) -> Wish | None:
    """The wish with the first of its rows for which the call is allowed; None if it is not for one of the first few, or
    if what forbids it cannot be known."""
    tool, seen = setting.tool(golden[step].tool), set[Column]()
    for call in golden[:step]:
        seen |= columns_seen(setting.world.blueprint, tool, setting.tool(call.tool), call.arguments)
    for number, place in enumerate(wish.ranked[: MOST_FORBIDDEN + 1]):
        changed = _choosing(golden, listed, place)
        if setting.is_lawful(changed):
            if number and number + 1 >= len(wish.ranked):
                return None
            best = wish.best.model_copy(update={"allowed": bool(number)})
            runner_up = wish.ranked[number + 1]
            return wish._replace(best=best, place=place, runner_up=runner_up, forbidden=wish.ranked[:number])
        rules = _forbidding(setting, changed, step)
        if not rules or any(columns_to_look_up(setting.world.blueprint, tool, rule) - seen for rule in rules):
            return None
    return None


def _forbidding(setting: FormSetting, golden: Sequence[GoldenCall], step: int) -> list[str]:
    """The rules that the call at a place breaks, after those before it; none if it fails for another reason."""
    with setting.open() as session:
        results = make_calls(session, golden[: step + 1])
    if not all(result.ok and not result.violations for result in results[:-1]):
        return []
    error = results[-1].error
    rules = [*([error.rule] if error and error.rule else []), *results[-1].violations]
    # What is not there, or not theirs, is not among what people choose from.
    guards = {guard.rule: guard for guard in setting.tool(golden[step].tool).guards}
    return rules if all(guards[rule].concern not in STRUCTURAL for rule in rules if rule in guards) else []


def _wrong_rows(setting: FormSetting, golden: Sequence[GoldenCall], listed: ListedRow, wish: Wish) -> list[Course]:
    """The courses with the runner-up, and with a row before the golden one that only the policy forbids."""
    wrong = []
    runner_up = _choosing(golden, listed, wish.runner_up)
    if setting.is_lawful(runner_up):
        wrong.append(Course(name="runner_up", calls=literal(_as_made(setting, runner_up))))
    for place in wish.forbidden:
        calls = _choosing(golden, listed, place)
        with setting.open() as session:
            results = make_calls(session, calls)
        if all(result.ok for result in results):
            wrong.append(Course(name="forbidden_row", calls=literal(_with_arguments(calls, results))))
    return wrong


def _weighed(world: World, combination: Combination, step: int, parameter: str, best: Superlative) -> int:
    """How many rows the user's words leave to choose from. Raises Rejected if the golden row is not the first one."""
    call = combination.calls[step]
    mention = next(row for row in combination.rows if (row.call, row.parameter) == (step, parameter))
    source = result_reference(call.grounding[parameter])
    if source is None:
        raise Rejected("another is the first of its kind", f"{call.tool}.{parameter} is of no list")
    column = source.path.rpartition(".")[2]
    # As the list was read, and as it would be now: calls in between may have made a row.
    shown = [row for at in (source.call, step) for row in rows_in_every_view(world, combination, source.call, at)]
    rows = [row for row in shown if fits(row, mention.columns)]
    if best.foreseen:
        return weighed_by_outcome(
            world, combination, step, parameter, best, [*dict.fromkeys(str(row.get(column)) for row in rows)]
        )
    values: dict[Json, Json] = {str(row.get(column)): row.get(best.column) for row in rows}
    own = values.pop(mention.key, None)
    others = [key for key, value in values.items() if own is None or value is None or not _is_before(own, value, best)]
    if own is None or (others and not best.allowed) or any(values[key] == own for key in others):
        raise Rejected("another is the first of its kind", f"{best.order} {best.column} of {mention.columns}")
    if allowed := [key for key in others if not _is_forbidden(world, combination, step, mention.key, key)]:
        raise Rejected("another is the first of its kind", f"{allowed[0]} is allowed, too")
    if best.allowed and not others:
        raise Rejected("nothing to choose", "no row is passed over")
    if len(values) < LEAST_ROWS - 1:
        raise Rejected("nothing to choose", f"{mention.columns} leaves {len(values) + 1} rows")
    return len(values) + 1


def _is_forbidden(world: World, combination: Combination, step: int, own: Json, key: Json) -> bool:
    """Whether a rule forbids a golden call with another row in the place of its own, wherever it names that."""
    call = combination.calls[step]
    with open_session(world, combination) as session:
        session.caller = combination.caller
        results = make_calls(session, combination.golden[:step])
        arguments = {name: key if value == own else value for name, value in rebound(call, results).items()}
        result = session.peek(call.tool, arguments)
    return bool(result.violations) or bool(result.error and result.error.rule)


def _is_before(own: Json, value: Json, best: Superlative) -> bool:
    """Whether one value comes before another in the order that the user means."""
    if isinstance(own, str) and isinstance(value, str):
        return own < value if best.order == "least" else own > value
    if isinstance(own, (int, float)) and isinstance(value, (int, float)):
        return own < value if best.order == "least" else own > value
    return False


def _deciding(columns: Mapping[str, object]) -> list[str]:
    return [name for name in columns if name.endswith(("_cents", "_at", "_on"))]


def _from_today(setting: FormSetting, instance: Instance, place: int) -> list[GoldenCall]:
    """The golden calls with a list from today on, where the user would otherwise say from which day."""
    call, today = instance.golden[place], setting.world.now[:10]
    days = [name for name in call.arguments if name.startswith(AHEAD) and call.grounding.get(name) == "user"]
    if not days:
        return [*instance.golden]
    changed = call.model_copy(
        update={
            "arguments": {**call.arguments, **dict.fromkeys(days, today)},
            "grounding": {**call.grounding, **dict.fromkeys(days, "env")},
        }
    )
    instance.values = [one for one in instance.values if not (one.call == place and one.parameter in days)]
    return [*instance.golden[:place], changed, *instance.golden[place + 1 :]]


def wishes_of(setting: FormSetting, listed: ListedRow, asked: Mapping[str, Json]) -> Iterator[Wish]:
    """Wishes that leave several rows, of which one alone is the first, in a drawn order.

    Args:
        asked: The arguments of the list.
    """
    rows, read, random = listed.rows, listed.mention.read, setting.random
    spoken = setting.template.referred_by.get(read, [])
    names = [name for name in dict.fromkeys([*spoken, *(rows[0] if rows else {})]) if rows and name in rows[0]]
    amounts = [name for name in names if _is_price(name) and all(is_amount(name, row.get(name)) for row in rows)]
    moments = [name for name in names if _BEGINS & {*name.split("_")} and all(is_moment(row.get(name)) for row in rows)]
    # What is cheapest by the day has to be so in all, and the first by what a bill is for by the bill's own day.
    totals = [name for name in names if name in _TOTALS and any(is_amount(name, row.get(name)) for row in rows)]
    issued = [name for name in names if name == "issued_at" and all(is_moment(row.get(name)) for row in rows)]
    # A bill has the day of what it is for, too; what is meant is the day by which it is due.
    due = [name for name in moments if "due" in name.split("_")]
    days = [name for name in due or moments if name in spoken]
    plain = [name for name in spoken if name in names and name not in {*amounts, *days}]
    # What the list was asked for is part of what is meant: the flights from here to there.
    given = {name: value for name, value in asked.items() if name in plain and rows[0].get(name) == value}
    plain = [name for name in plain if name not in given and not is_incidental(name)]
    filters: list[dict[str, Json]] = [given]
    values = {name: dict.fromkeys(value for row in rows if isinstance(value := row.get(name), str)) for name in plain}
    filters += [{**given, name: value} for name in plain for value in values[name]]
    is_ahead, today = any(name.startswith(AHEAD) for name in asked), setting.world.now[:10]
    blueprint = setting.world.blueprint
    subject = subject_entity(blueprint, setting.tool(read))
    is_offer = subject is None or not is_owned_by_person(blueprint, blueprint.entity(subject))
    # Of a list from some day on nobody knows how it goes on: later there may be something cheaper.
    choices = [(column, said) for column in [*([] if is_ahead else amounts), *days] for said in filters]
    random.shuffle(choices)
    for column, said in choices:
        # A list from some day on ends somewhere: nobody sees the last row. And nobody wants the dearest offer.
        order = "least" if (is_ahead if column in days else is_offer) else random.choice(_ORDERS)
        fitting = [index for index, row in enumerate(rows) if fits(row, said)]
        ranked = sorted(fitting, key=lambda index: (str(type(rows[index][column])), rows[index][column]))
        if order == "most":
            ranked.reverse()
        others = [*amounts, *totals] if column in amounts else due or [*moments, *issued]
        is_clear = all(_is_first(rows, fitting, ranked[0], other, order) for other in others) if ranked else False
        # Who speaks of what starts first has what lies ahead in mind, if there is any.
        begun = [index for index in fitting if str(rows[index][column])[:10] < today] if column in moments else []
        if begun and not due and len(begun) < len(fitting):
            continue
        if len(ranked) >= LEAST_ROWS and is_clear:
            yield Wish(Superlative(column=column, order=order), said, ranked[0], ranked, ranked[1])


def _is_price(column: str) -> bool:
    return not _PRICES.isdisjoint(column.split("_"))


def _is_first(rows: Sequence[Mapping[str, Json]], fitting: Sequence[int], place: int, column: str, order: str) -> bool:
    """Whether a row is the only first one by a column too: what is cheapest by the night, and in all."""
    best = Superlative(column=column, order="least" if order == "least" else "most")
    if all(rows[one][column] is None for one in fitting):
        return True
    return all(_is_before(rows[place][column], rows[one][column], best) for one in fitting if one != place)


def _choosing(golden: Sequence[GoldenCall], listed: ListedRow, index: int) -> list[GoldenCall]:
    """The golden calls with another row of the list, wherever they take something from it."""
    old, new = f"call {listed.place} [{listed.index}].", f"call {listed.place} [{index}]."
    return [
        call.model_copy(update={"grounding": {name: text.replace(old, new) for name, text in call.grounding.items()}})
        for call in golden
    ]


def _as_made(setting: FormSetting, golden: Sequence[GoldenCall]) -> list[GoldenCall]:
    """The golden calls with the arguments with which they are made."""
    if not setting.is_lawful(golden):
        return [*golden]
    return _with_arguments(golden, setting.run(golden))


def _with_arguments(golden: Sequence[GoldenCall], results: Sequence[CallResult]) -> list[GoldenCall]:
    return [
        call.model_copy(update={"arguments": result.call.arguments})
        for call, result in zip(golden, results, strict=True)
    ]


def _settle(
    setting: FormSetting,
    instance: Instance,
    listed: ListedRow,
    wish: Wish,
    results: Sequence[CallResult],
    golden: Sequence[GoldenCall],
) -> None:
    """Make the instance one with another row, of which the user says what the wish says."""
    instance.results, instance.golden = [*results], _with_arguments(golden, results)
    old, key = listed.mention, listed.rows[wish.place][listed.column]
    instance.rows = [
        row.model_copy(update={"key": key, "columns": wish.said})
        if (row.entity, row.key, row.read) == (old.entity, old.key, old.read)
        else row
        for row in instance.rows
    ]
    instance.communicate = told_again(setting.template, instance)

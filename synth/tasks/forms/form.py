"""The base of all forms of request, and what they are made with.

People rarely name a deed and each detail of it. A form is another way to put a request: the first of several rows, a
deed on a condition, several deeds at once. It takes an instance that the builder has made of a plain template, and
changes by execution what is asked for and what the golden calls are. Two things prove a form: its own `proof`, which
the gate of that name runs, and its courses, which the evaluator must fail or pass.

A form of one's own is a subclass that its module registers:

    from synth.tasks.forms import FORMS, FormRecipe

    FORMS.register("haggling", HagglingForm())
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from skillweave.schema.combination import CallTerms, Combination, MentionedRow
from skillweave.schema.contract import CallResult, RowChange, Tool
from skillweave.schema.criteria import Course, FactToTell, GoldenCall, RequestForm
from skillweave.schema.record import Json, Row
from skillweave.schema.template import RowSource, TaskTemplate, TemplateCall
from skillweave.world.replay import rebound, result_reference
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import column_origins
from synth.contracts.wording import has_ended, name_in_words
from synth.search.row_words import distinguishing_columns
from synth.tasks.facts import fact_of, worthless
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.replay import all_shown_rows, make_calls, open_session, rows_of

Figures = dict[str, Json]
Build = Callable[["FormSetting", TaskTemplate], Instance]


@dataclass(frozen=True)
class FormSetting:
    """What an instance in some form is made from."""

    world: World
    template: TaskTemplate
    caller: str
    patch: Sequence[RowChange]
    random: Random
    """Drawn from the run's seed, the template and the caller."""
    build: Build
    """Makes an instance of another template in the same setting."""
    before: Sequence[GoldenCall] = ()
    """Calls that were made before the instance begins."""

    def plain(self, template: TaskTemplate) -> Instance:
        """An instance of a template, in its own forms if it has any."""
        return self.build(self, template)

    def after(self, calls: Sequence[GoldenCall]) -> "FormSetting":
        """The same setting when some calls more were made."""
        return replace(self, before=[*self.before, *calls])

    def open(self) -> ContractSession:
        """A session in which the earlier calls were made; the caller closes it."""
        session = self.world.session(caller=self.caller, patch=self.patch)
        for call in self.before:
            session.call(call.tool, rebound(call, session.results))
        return session

    def run(self, calls: Sequence[GoldenCall]) -> list[CallResult]:
        """The results of golden calls that are numbered by themselves.

        Raises:
            NoInstance: One of them fails, or breaks a rule.
        """
        with self.open() as session:
            results = make_calls(session, calls)
        if not all(result.ok and not result.violations for result in results):
            raise NoInstance("the calls cannot be made in that form")
        return results

    def is_lawful(self, calls: Sequence[GoldenCall]) -> bool:
        """Whether golden calls go through and break no rule."""
        try:
            self.run(calls)
        except NoInstance:
            return False
        return True

    def tool(self, name: str) -> Tool:
        """A tool of the world."""
        return self.world.blueprint.tool(name)


class FormRecipe:
    """How requests in one form are made and proven. One recipe serves all tasks; it keeps nothing."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """The templates in this form that follow from those of a world.

        Args:
            goals: The templates of the world so far: plain ones, those of requests that are declined, and those in
            the forms before this one.
        """
        return iter(())

    def instance(self, setting: FormSetting) -> Instance:
        """An instance of a template in this form.

        Raises:
            NoInstance: The caller has none. The message is a fixed text, so that reasons can be counted.
        """
        return setting.plain(without_form(setting.template))

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """What execution shows of a combination in this form: the figures of the gate `forms`.

        Raises:
            Rejected: What the user says does not decide what is right.
        """
        return {}


def without_form(template: TaskTemplate, **update: object) -> TaskTemplate:
    """A template without the last of its forms."""
    return template.model_copy(update={"forms": template.forms[:-1], **update})


def formed(template: TaskTemplate, form: str, suffix: str, **update: object) -> TaskTemplate:
    """A template put in a form.

    Args:
        suffix: What tells its id apart from those of other templates in that form.
        update: Further fields: `focus`, `form_detail`, or what is asked for instead.
    """
    base = template.base or template.id
    changes = {"id": f"{template.id}_{suffix}", "forms": [*template.forms, form], "base": base}
    return template.model_copy(update={**changes, **update})


def plain(templates: Sequence[TaskTemplate]) -> Iterator[TaskTemplate]:
    """The templates that are in no form yet."""
    return (template for template in templates if not template.forms)


def literal(calls: Sequence[GoldenCall]) -> list[GoldenCall]:
    """Calls as they stand, without where their arguments come from."""
    return [call.model_copy(update={"grounding": {}}) for call in calls]


def add_form(
    instance: Instance,
    name: str,
    *,
    wrong: Sequence[Course] = (),
    right: Sequence[Course] = (),
    foreseen: Sequence[str] = (),
) -> None:
    """Note a form of an instance, with the courses that prove it and the writes whose outcome it turns on."""
    instance.forms.append(RequestForm(name=name, wrong=[*wrong], right=[*right], foreseen=[*foreseen]))


def terms_of(instance: Instance, call: int) -> CallTerms:
    """The terms of one of the template's calls, from 0; new ones if it has none yet."""
    found = next((terms for terms in instance.terms if terms.call == call), None)
    if found is None:
        found = CallTerms(call=call)
        instance.terms.append(found)
    return found


def change_terms(instance: Instance, call: int, **changes: object) -> None:
    """Change the terms of one of the template's calls."""
    terms = terms_of(instance, call)
    instance.terms = [one.model_copy(update=changes) if one is terms else one for one in instance.terms]


@dataclass(frozen=True)
class ListedRow:
    """A row that an argument names, in the list in which a look-up has found it."""

    mention: MentionedRow
    place: int
    """The golden call whose result is the list."""
    index: int
    column: str
    """The column of the list that holds the argument."""
    rows: Sequence[dict[str, Json]]

    @property
    def row(self) -> dict[str, Json]:
        """The row itself."""
        return self.rows[self.index]


def listed_row(instance: Instance, step: int, parameter: str) -> ListedRow | None:
    """The row that an argument of a golden call names, in its list; None if it was not found in a list."""
    calls = {**dict(enumerate(instance.golden)), len(instance.golden): instance.asked}
    call = calls.get(step)
    mention = next((row for row in instance.rows if (row.call, row.parameter) == (step, parameter)), None)
    source = result_reference(call.grounding.get(parameter, "")) if call else None
    if mention is None or source is None or not source.path.startswith("["):
        return None
    index, _, column = source.path[1:].partition("].")
    rows = rows_of(instance.results[source.call])
    return ListedRow(mention, source.call, int(index), column, rows)


def told_again(template: TaskTemplate, instance: Instance) -> list[FactToTell]:
    """The facts to tell of an instance whose golden calls have changed, of the same rows as before.

    Raises:
        NoInstance: One of them is no longer worth telling.
    """
    facts = []
    for number, wanted in enumerate(template.tell):
        step = instance.steps[wanted.call - 1]
        about = next((row for row in instance.rows if (row.call, row.parameter) == (step, None)), None)
        rows = rows_of(instance.results[step])
        fitting = [place for place, row in enumerate(rows) if about is None or fits(row, about.columns)]
        if len(fitting) != 1 or wanted.column not in rows[fitting[0]] or worthless(rows, fitting[0], wanted.column):
            raise NoInstance("no value worth telling")
        before = instance.communicate[number].rivals
        facts.append(fact_of(number, wanted, rows[fitting[0]][wanted.column], before))
    return facts


def fits(row: Mapping[str, Json], columns: Mapping[str, Json]) -> bool:
    """Whether a row has these values."""
    return all(row.get(column) == value for column, value in columns.items())


def words_for(
    template: TaskTemplate, read: str, rows: Sequence[Mapping[str, Json]], index: int, random: Random, *hidden: str
) -> dict[str, Json] | None:
    """The columns by which the user tells a row of a list apart, with their values; None if nothing does.

    Args:
        hidden: Columns that are not to be said.
    """
    columns = [column for column in template.referred_by.get(read, []) if column not in hidden]
    return distinguishing_columns(rows, index, columns, random)


def fixed_row(template: TaskTemplate, call: int, parameter: str, column: str, key: Json) -> TaskTemplate:
    """A template one of whose calls, from 0, names a given row."""
    calls = [*template.calls]
    rows = {**calls[call].rows, parameter: {column: [key]}}
    calls[call] = calls[call].model_copy(update={"rows": rows})
    return template.model_copy(update={"calls": calls})


def single_write(template: TaskTemplate, source: TemplateSource) -> TemplateCall | None:
    """The one call of a template that only wants one thing done; None if it wants more, or has it declined."""
    if template.kind != "do" or len(template.calls) != 1:
        return None
    call = template.calls[0]
    return call if source.blueprint.tool(call.tool).kind == "write" else None


def own_list(source: Sequence[RowSource], blueprint_source: TemplateSource) -> RowSource | None:
    """A read without required arguments among those that show a row."""
    for one in source:
        tool = blueprint_source.blueprint.tool(one.tool)
        if tool.returns.rows == "many" and not any(parameter.required for parameter in tool.parameters):
            return one
    return None


def noun_of(column: str) -> str:
    """A column's values in words: `cancel_fee_cents` is `cancel fee`."""
    return name_in_words(column.removesuffix("_cents"))


def is_incidental(column: str) -> bool:
    """Whether nobody would tell several rows of a kind from others by a column: a gate, a room, a number."""
    return not _INCIDENTAL.isdisjoint(column.split("_"))


_LAPSED = frozenset({"lapsed", "expired", "missed", "withdrawn", "declined", "no_show", "draft", "rejected"})
"""Statuses of what is neither paid nor owed any more."""
_INCIDENTAL = frozenset(
    {"gate", "room", "number", "reference", "phone", "email", "code", "weight", "kg", "branch", "station"}
)


def is_amount(column: str, value: Json) -> bool:
    """Whether a column of a result holds an amount of money that people speak of."""
    return column.endswith("_cents") and isinstance(value, int) and not isinstance(value, bool) and value > 0


def is_moment(value: Json) -> bool:
    """Whether a value is a day or a time."""
    return isinstance(value, str) and len(value) in (10, 19) and value[4:5] == "-" and value[7:8] == "-"


def came_to_nothing(row: Mapping[str, Json]) -> bool:
    """Whether a row is neither paid nor owed any more."""
    return has_ended(row) or row.get("status") in _LAPSED


def is_settled(row: Mapping[str, Json]) -> bool:
    """Whether nothing is to be paid for a row any more."""
    open_amounts = [row[name] for name in ("to_pay_cents", "balance_cents", "open_cents") if name in row]
    return row.get("status") == "paid" or (bool(open_amounts) and not any(open_amounts))


def rows_in_every_view(world: World, combination: Combination, place: int, at: int | None = None) -> list[Row]:
    """The rows that the read of a golden call shows, with its optional arguments in every way.

    Args:
        at: How many golden calls are made before; None: the read is made at its place.
    """
    call = combination.golden[place]
    with open_session(world, combination) as session:
        make_calls(session, combination.golden[: place if at is None else at])
        return [*all_shown_rows(world, session, combination, call, call.arguments)]  # type: ignore[list-item]


def mentions_of_forms(combination: Combination) -> set[tuple[int, str | None]]:
    """Golden calls with the parameters whose rows are meant by a form: the first of its kind, or every one of a set.

    The proof of the form shows that they are the right ones.
    """
    settled: set[tuple[int, str | None]] = set()
    for terms in combination.terms:
        step = combination.steps[terms.call]
        best = {(row.entity, row.key) for row in combination.rows if row.call == step and row.parameter in terms.best}
        settled |= {(row.call, row.parameter) for row in combination.rows if (row.entity, row.key) in best}
        if terms.every is not None:
            tool = combination.calls[step].tool
            same = {place for place, call in enumerate(combination.calls) if call.tool == tool}
            settled |= {
                (row.call, row.parameter)
                for row in combination.rows
                if row.call in same and row.entity == terms.every.entity
            }
    for question in combination.questions:
        same = {place for place, call in enumerate(combination.golden) if call.tool == question.tool}
        of = question.of.entity if question.of else None
        settled |= {(row.call, row.parameter) for row in combination.rows if row.call in same and row.entity == of}
    return settled


def key_columns(world: World, read: str) -> list[str]:
    """Columns of a read's result that hold ids."""
    keys = {(entity.table, entity.key) for entity in world.blueprint.tables}
    return [name for name, origin in column_origins(world.blueprint.tool(read)).items() if origin in keys]

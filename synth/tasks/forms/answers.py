"""Forms of questions: `comparison` and `false_premise`.

`comparison`: by how much two rows differ; no result shows the difference. `false_premise`: the user
takes a value to be another one. They are told the truth; the value that they believed is a rival of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from random import Random

from skillweave.schema.combination import Belief, Calculation, Combination, Condition, MentionedRow
from skillweave.schema.criteria import FactToTell, RequestForm
from skillweave.schema.record import Json
from skillweave.schema.template import RequestedValue, TaskTemplate
from skillweave.world.world import World
from synth.tasks.facts import LEAST_CENTS
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    add_form,
    came_to_nothing,
    fits,
    formed,
    is_amount,
    is_moment,
    plain,
    rows_in_every_view,
    without_form,
    words_for,
)
from synth.tasks.forms.limits import meets
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.replay import Rejected, rows_of

FACTORS = (0.75, 0.8, 0.9, 1.1, 1.2, 1.25)
"""How a wrong amount differs from the right one."""
DAYS = (-14, -7, -5, -3, -2, -1, 1, 2, 3, 5, 7, 14)
"""How many days a wrong day is off."""
MOST_PAIRS = 12
"""Rows that the one asked about is compared with, at most."""


class ComparisonForm(FormRecipe):
    """The difference of an amount between two rows of a list."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each question about an amount of one row among several."""
        for goal in plain(goals):
            amounts = [wanted for wanted in goal.tell if wanted.column.endswith("_cents")]
            read = source.blueprint.tool(goal.calls[0].tool)
            is_one = goal.kind == "inform" and len(goal.calls) == len(goal.tell) == len(amounts) == 1
            # A total for days that the user never names would be compared by the day.
            is_one = is_one and all(parameter.refers_to or not parameter.required for parameter in read.parameters)
            if is_one and read.returns.rows == "many":
                yield formed(goal, "comparison", "compared", tell=[], counted=amounts[0])

    def instance(self, setting: FormSetting) -> Instance:
        """An instance about two rows of which one has less."""
        template = setting.template
        wanted = template.counted
        if wanted is None:
            raise NoInstance("nothing to compare")
        instance = setting.plain(without_form(template, tell=[wanted], counted=None))
        step, column = instance.steps[0], wanted.column
        about = next((row for row in instance.rows if (row.call, row.parameter) == (step, None)), None)
        rows = rows_of(instance.results[step])
        own = next((at for at, row in enumerate(rows) if about and fits(row, about.columns)), None)
        if about is None or own is None:
            raise NoInstance("nothing to compare")
        if came_to_nothing(rows[own]):
            raise NoInstance("nothing to compare")
        others = [at for at in range(len(rows)) if at != own and not came_to_nothing(rows[at])]
        for other in setting.random.sample(others, min(len(others), MOST_PAIRS)):
            words = words_for(template, about.read, rows, other, setting.random, column)
            pair = [rows[own].get(column), rows[other].get(column)]
            difference = _difference(pair, column)
            if words and difference and all(difference != row.get(column) for row in rows):
                second = about.model_copy(update={"columns": words})
                return _compared(instance, wanted, [about, second], pair, difference)
        raise NoInstance("no other row to compare with")

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """The two rows are told apart in every view of the list, and their values differ by what is told."""
        compared = 0
        for question in combination.questions:
            if question.sort == "difference":
                _check_difference(world, combination, question)
                compared += 1
        if not compared:
            raise Rejected("nothing to compare")
        return {"differences": compared}


def _difference(pair: Sequence[Json], column: str) -> int:
    """By how much two amounts differ; 0 if that is too little to speak of."""
    amounts = [value for value in pair if is_amount(column, value) and isinstance(value, int)]
    difference = abs(amounts[0] - amounts[1]) if len(amounts) == len(pair) else 0
    return difference if difference >= LEAST_CENTS else 0


def _compared(
    instance: Instance, wanted: RequestedValue, rows: Sequence[MentionedRow], pair: Sequence[Json], difference: int
) -> Instance:
    fact = FactToTell(
        fact="told_1",
        noun=f"difference in {wanted.noun}",
        values=[difference],
        type="integer",
        unit="cents",
        parts=[*pair],
    )
    question = Calculation(
        fact="told_1",
        tool=rows[0].read,
        call=rows[0].call,
        sort="difference",
        column=wanted.column,
        noun=wanted.noun,
        rows=[*rows],
    )
    kept = [row for row in instance.rows if row.parameter is not None]
    compared = replace(instance, communicate=[fact], questions=[question], rows=[*kept, *rows])
    add_form(compared, "comparison")
    return compared


def _check_difference(world: World, combination: Combination, question: Calculation) -> None:
    fact = next(one for one in combination.communicate if one.fact == question.fact)
    values = []
    for about in question.rows:
        rows = rows_in_every_view(world, combination, about.call)
        found = {row.get(question.column) for row in rows if fits(row, about.columns)}
        if len(found) != 1:
            raise Rejected("not told apart", f"{about.columns} has {question.column} {sorted(map(str, found))}")
        values += [value for value in found if isinstance(value, int)]
    if len(values) != len(question.rows) or [abs(values[0] - values[1])] != fact.values or values != fact.parts:
        raise Rejected("another difference", f"{values} do not differ by {fact.values}")


class FalsePremiseForm(FormRecipe):
    """A question, or a deed with a question, by somebody who takes the answer to be another one."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """For each request in which an amount or a day is to be told."""
        taken: set[str | None] = set()
        for goal in goals:
            is_condition = goal.forms == ["condition"] and goal.kind == "inform"
            # Of conditions, which are many, one for each deed is enough.
            is_fitting = not goal.forms or (is_condition and goal.base not in taken)
            taken |= {goal.base} if is_condition else set()
            if is_fitting and goal.kind in ("do", "inform") and any(_can_be_mistaken(wanted) for wanted in goal.tell):
                yield formed(goal, "false_premise", "mistaken")

    def instance(self, setting: FormSetting) -> Instance:
        """An instance with a wrong belief about the first value that people can be mistaken about."""
        instance = super().instance(setting)
        for number, fact in enumerate(instance.communicate):
            conditions = [terms.condition for terms in instance.terms if terms.condition]
            hoped = [one for one in conditions if one.noun == fact.noun]
            believed = _believed(fact, setting.world.now, setting.random, hoped)
            if believed is not None:
                rivals = list(dict.fromkeys([*fact.rivals, believed]))
                instance.communicate[number] = fact.model_copy(update={"rivals": rivals})
                instance.beliefs = {fact.fact: Belief(value=believed)}
                add_form(instance, "false_premise")
                return instance
        raise NoInstance("nothing that one could be mistaken about")

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """What is believed is none of the values that would be true, and counts as a wrong answer."""
        facts = {fact.fact: fact for fact in combination.communicate}
        for name, belief in combination.beliefs.items():
            if belief.value in facts[name].values or belief.value not in facts[name].rivals:
                raise Rejected("what is believed is true", f"{facts[name].noun}: {belief.value!r}")
        if not combination.beliefs:
            raise Rejected("what is believed is true", "nothing is believed")
        return {"beliefs": len(combination.beliefs)}


def _can_be_mistaken(wanted: RequestedValue) -> bool:
    return wanted.column.endswith(("_cents", "_on", "_at", "_until", "_from"))


def _believed(fact: FactToTell, now: str, random: Random, hoped: Sequence[Condition] = ()) -> Json:
    """A wrong value that somebody could take for the right one; None if there is none.

    Half of the time it is another row's. What lies ahead is believed to lie ahead, what is past to be past. Who wants
    something on a condition believes that it is met.
    """
    value = fact.values[0]
    rivals = [rival for rival in fact.rivals if type(rival) is type(value) and rival not in fact.values]
    near = [] if is_moment(value) else rivals
    if fact.unit == "cents" and isinstance(value, int):
        near = [one for one in near if isinstance(one, int) and one >= LEAST_CENTS and value < 2 * one < 4 * value]
        made = [round(value * factor / 100) * 100 for factor in FACTORS]
        choices: list[Json] = [one for one in made if one >= LEAST_CENTS and one != value]
    elif is_moment(value):
        moved = [_moved(str(value), days) for days in DAYS]
        choices = [one for one in moved if (one > now[: len(one)]) == (str(value) > now[: len(one)])]
    else:
        return None
    pools = [[one for one in pool if all(meets(one, condition) for condition in hoped)] for pool in (near, choices)]
    pool = pools[0] if pools[0] and random.random() < 0.5 else pools[1]
    return random.choice(pool) if pool else None


def _moved(value: str, days: int) -> str:
    """A day or time some days later."""
    if len(value) == 10:
        return (date.fromisoformat(value) + timedelta(days=days)).isoformat()
    return (datetime.fromisoformat(value) + timedelta(days=days)).strftime("%Y-%m-%d %H:%M:%S")

"""Gate: the golden calls return the facts that the user wants to know, and the user can neither know nor guess them.

If a read that is called in another way shows another row that fits the same words, two answers would be true.
"""

from collections.abc import Sequence

from skillweave.schema.combination import Combination, MentionedRow
from skillweave.schema.contract import CallResult
from skillweave.schema.record import Json
from skillweave.schema.template import RequestedValue, TaskTemplate
from skillweave.world.canonical import dump
from skillweave.world.world import World
from synth.gates.gate import Gate
from synth.tasks.replay import GoldenRun, Rejected, all_shown_rows, has_more_views, make_calls, open_session, rows_of
from synth.tasks.requests import known_values

SMALL = 10
"""Numbers below this are too easy to guess, and so are amounts of money below ten units of the currency."""


GATE = Gate(
    name="answers",
    proves=(
        "What is to be told is the one true answer, it lasts until the end, and the user can neither know nor guess it."
    ),
    runs=(
        "The read that returns the fact, with the other arguments that an agent may use; the same read again at the"
        " end, unless the question is in the past tense."
    ),
    figures={
        "grounded.answers_weighed": "other rows compared with the words of the question",
    },
    reasons=(
        "golden tells another value",
        "told value can be guessed",
        "told value is known already",
        "told value does not last",
        "second true answer",
    ),
    check=lambda judged: {
        "grounded": {"answers_weighed": check_answers(judged.world, judged.combination, judged.template, judged.golden)}
    },
)


def check_answers(world: World, combination: Combination, template: TaskTemplate, run: GoldenRun) -> int:
    """Count the other rows compared. Raises Rejected if the user could know or guess a fact, or if it has a rival."""
    values = told_values(template, combination, run.results)
    known = {dump(value) for row in combination.rows for value in row.columns.values()}
    known |= {dump(stated.value) for stated in combination.values} | {dump(v) for v in combination.credentials.values()}
    # In errands one wish may name, as a month or a belief, what another one asks for.
    known |= {dump(value) for value in known_values(world.blueprint, template, combination)}
    shown, computed = combination.communicate[: len(values)], combination.communicate[len(values) :]
    if len(shown) != len(values) or {fact.fact for fact in computed} != {one.fact for one in combination.questions}:
        raise Rejected(
            "golden tells another value", f"{len(combination.communicate)} facts for {len(values)} questions"
        )
    for fact, returned in zip(shown, values, strict=True):
        if [dump(value) for value in fact.values] != [dump(value) for value in returned]:
            raise Rejected("golden tells another value", f"{fact.noun}: {fact.values} is not {returned}")
    for fact in combination.communicate:
        if is_guess(fact.values[0], fact.unit == "cents"):
            raise Rejected("told value can be guessed", f"{fact.noun}: {fact.values[0]!r}")
        if dump(fact.values[0]) in known:
            raise Rejected("told value is known already", f"{fact.noun}: {fact.values[0]!r}")
    _check_lasting(world, combination, template, values)
    return sum(_weighed(world, combination, template, number, values[number]) for number in range(len(values)))


def _check_lasting(
    world: World, combination: Combination, template: TaskTemplate, values: Sequence[Sequence[Json]]
) -> None:
    """Check that a fact asked for in the present tense still holds at the end: repeat the read that returns it."""
    goals = [(goal, right) for goal, right in zip(template.tell, values, strict=True) if not goal.was]
    with open_session(world, combination) as session:
        results = make_calls(session, combination.golden)
        for goal, right in goals:
            step = combination.steps[goal.call - 1]
            if world.blueprint.tool(combination.golden[step].tool).kind != "read" or not results[step].ok:
                continue
            again = session.peek(combination.golden[step].tool, results[step].call.arguments)
            same = {_id_of(row) for row in _rows(combination, step, results)}
            final = [row[goal.column] for row in rows_of(again) if _id_of(row) in same and goal.column in row]
            if final and [dump(value) for value in final] != [dump(value) for value in right]:
                raise Rejected("told value does not last", f"{goal.noun}: {right}, and {final} in the end")


def told_values(template: TaskTemplate, combination: Combination, results: Sequence[CallResult]) -> list[list[Json]]:
    """For each fact to tell, its values in the results: one value, unless the user's words fit several rows."""
    return [_values(goal, combination, results) for goal in template.tell]


def _values(goal: RequestedValue, combination: Combination, results: Sequence[CallResult]) -> list[Json]:
    rows = _rows(combination, combination.steps[goal.call - 1], results)
    return [row[goal.column] for row in rows if goal.column in row]


def _rows(combination: Combination, step: int, results: Sequence[CallResult]) -> list[dict[str, Json]]:
    """Rows of a result that the user's words fit."""
    about = _about(combination, step)
    return [row for row in rows_of(results[step]) if about is None or _fits(about, row)]


def _id_of(row: dict[str, Json]) -> str:
    """The id of a row, which later changes to the row leave alone; empty if the result has no id."""
    return next((dump(value) for name, value in row.items() if name.endswith("_id")), "")


def is_guess(value: Json, is_money: bool) -> bool:
    """Whether somebody who knows nothing could guess the value."""
    if value is None or isinstance(value, (bool, list, dict)) or value == "":
        return True
    return isinstance(value, (int, float)) and abs(value) < (SMALL * 100 if is_money else SMALL)


def _weighed(world: World, combination: Combination, template: TaskTemplate, number: int, right: Sequence[Json]) -> int:
    """Compare a fact with every row that its read can show, and count the rows."""
    goal = template.tell[number]
    step = combination.steps[goal.call - 1]
    about = _about(combination, step)
    if about is None:
        return 0
    weighed = 0
    with open_session(world, combination) as session:
        make_calls(session, combination.golden[:step])
        for row in all_shown_rows(world, session, combination, combination.golden[step], _asked(combination, about)):
            weighed += 1
            if (
                _fits(about, row)
                and goal.column in row
                and [dump(row[goal.column])] != [dump(value) for value in right]
            ):
                raise Rejected("second true answer", f"{goal.noun}: {row[goal.column]!r} fits {about.columns} too")
    return weighed


def is_view_limit_met(world: World, combination: Combination, template: TaskTemplate) -> bool:
    """Whether a read that returns a fact can be called in more ways than the gate tries."""
    for goal in template.tell:
        step = combination.steps[goal.call - 1]
        about = _about(combination, step)
        if about and has_more_views(world, combination, combination.golden[step], _asked(combination, about)):
            return True
    return False


def _about(combination: Combination, step: int) -> MentionedRow | None:
    return next((row for row in combination.rows if row.call == step and row.parameter is None), None)


def _asked(combination: Combination, about: MentionedRow) -> set[str]:
    """Arguments that are part of the question. A day that also describes the row only helps to find the row."""
    days = {str(value)[:10] for value in about.columns.values()}
    return {
        known_value.parameter
        for known_value in combination.values
        if known_value.call == about.call and known_value.value not in (None, *days)
    }


def _fits(mention: MentionedRow, row: dict[str, Json]) -> bool:
    return all(column not in row or row[column] == value for column, value in mention.columns.items())

"""A condition on what the deed itself would come to: only if it costs no more than 50. Part of the form `condition`.

No read shows the value. Where the condition holds, the deed is done; where it does not, the user is told what it would
come to, and doing it all the same is a course that has to fail.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Literal

from skillweave.schema.combination import Combination, Condition
from skillweave.schema.criteria import Course, GoldenCall
from skillweave.schema.template import TaskTemplate
from skillweave.world.replay import rebound
from skillweave.world.world import World
from synth.search.arguments import argument_search
from synth.tasks.forms.foreseeing import (
    amount_foreseen,
    decided_first,
    foreseen_fact,
    is_gain,
    leave_undone,
    other_outcomes,
    outcome_question,
)
from synth.tasks.forms.form import FormSetting, add_form, change_terms, formed, literal, noun_of, without_form
from synth.tasks.forms.limits import REASONS, STEPS, is_above, limit_beside, meets
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.outcomes import amount_of, amounts_foreseen, check_foreseen, outcome, outcome_nouns, shown_amounts
from synth.tasks.replay import Rejected, make_calls, open_session, scalar

MOST_OTHERS = 40
"""Rows by which it is seen whether something may cost anything."""
MOST_OUTCOMES = 2
"""Amounts in a deed's result on which it is made to depend."""


def conditions_on_outcome(goal: TaskTemplate, source: TemplateSource) -> Iterator[TaskTemplate]:
    """For each amount in a deed's result one template for either branch."""
    nouns = outcome_nouns([goal])
    tool = source.blueprint.tool(goal.calls[0].tool)
    for column in amounts_foreseen(tool)[:MOST_OUTCOMES]:
        noun = nouns.get((tool.name, column), noun_of(column))
        shared = {"form_detail": f"{column} {noun}", "reasons": REASONS, "tell": []}
        yield formed(goal, "condition", f"if_foreseen_{column}", **shared)
        yield formed(goal, "condition", f"unless_foreseen_{column}", kind="inform", **shared)


def on_outcome(setting: FormSetting, *, is_met: bool) -> Instance:
    """An instance that turns on what the deed itself would come to."""
    template, random = setting.template, setting.random
    column, _, noun = template.form_detail.partition(" ")
    instance = setting.plain(without_form(template, kind="do"))
    deed = decided_first(setting, instance)
    if instance.steps[0] + 1 != len(instance.golden):
        raise NoInstance("what it would come to is not the last thing")
    value = amount_of(instance.results[-1], column)
    before = setting.run(instance.golden[:-1])
    if value is None or (value and value in shown_amounts(before)) or (not value and not is_met):
        raise NoInstance("what it would come to is no secret")
    others = other_outcomes(setting, instance, deed, column)
    if value and others and not [other for other in others if other != value]:
        raise NoInstance("it would cost the same in any case")
    # People give something up if it is dear, and take it if it brings them enough.
    is_high = is_gain(column) == is_met
    limit = (
        limit_beside(value, column, random, is_high=is_high) if value else _limit_above_nothing(setting, deed, column)
    )
    holds: Literal["above", "at_most"] = "above" if is_high == is_met else "at_most"
    if (is_above(value, limit) == (holds == "above")) != is_met:
        raise NoInstance("the value that decides decides otherwise")
    if not is_met:
        leave_undone(instance)
        instance.results = before
        amount = amount_foreseen(setting, instance, [deed], column)
        instance.communicate = [foreseen_fact([deed], column, noun, amount, others)]
        instance.questions = [outcome_question(deed.tool, column, noun)]
    wrong = [] if is_met else [Course(name="done_all_the_same", calls=literal([*instance.golden, deed]))]
    add_form(instance, "condition", wrong=wrong, foreseen=[deed.tool])
    condition = Condition(
        parameter=next(iter(deed.arguments)),
        column=column,
        foreseen=True,
        noun=noun,
        holds=holds,
        limit=limit,
        then="do" if is_met else "leave",
    )
    change_terms(instance, 0, condition=condition)
    return instance


def _limit_above_nothing(setting: FormSetting, deed: GoldenCall, column: str) -> int:
    """A limit for what costs nothing: below what it would cost with another row, so that it could decide.

    Raises:
        NoInstance: It would cost nothing with any.
    """
    tool, costs = setting.tool(deed.tool), [0]
    with setting.open() as session:
        for name in [one.name for one in tool.parameters if one.refers_to and one.name in deed.arguments]:
            fixed = {other: scalar(value) for other, value in deed.arguments.items() if other != name}
            search = argument_search(session, tool, Random(str(deed.arguments)), fixed, nodes=MOST_OTHERS)
            for arguments in islice(search.meeting(), MOST_OTHERS):
                other = GoldenCall(tool=deed.tool, arguments={**deed.arguments, **arguments})
                costs.append(amount_of(outcome(session, other), column) or 0)
    limits = [step for step in STEPS if step < max(costs)]
    if not limits:
        raise NoInstance("it would cost nothing in any case")
    return setting.random.choice(limits)


def check_outcome(world: World, combination: Combination, step: int, condition: Condition) -> None:
    """Check that a call would come to the same at the start and at its place, on the side that the task says."""
    check_foreseen(world, combination)
    golden = combination.golden[: min(step, len(combination.golden))]
    with open_session(world, combination) as session:
        session.caller = combination.caller
        first = amount_of(outcome(session, combination.calls[step]), condition.column)
        results = make_calls(session, golden)
        call = combination.calls[step]
        then = call.model_copy(update={"arguments": rebound(call, results)})
        last = amount_of(outcome(session, then), condition.column)
    if first is None or first != last:
        raise Rejected("the condition decides nothing", f"{condition.column} would be {first}, then {last}")
    if meets(first, condition) != (condition.then == "do"):
        raise Rejected("the condition decides otherwise", f"{condition.column} is {first}, limit {condition.limit}")

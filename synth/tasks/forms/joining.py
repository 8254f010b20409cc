"""Joining instances: two requests of one person in one conversation, at once or one after the other.

Each instance numbers its golden calls by itself, from 0. Calls that are not made have places of their own below 0,
until it is known how many golden calls there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Calculation, CallTerms, MentionedRow, MentionedValue
from skillweave.schema.criteria import Course, FactToTell, GoldenCall, RequestForm
from skillweave.schema.task import Moment
from skillweave.schema.template import TaskTemplate
from skillweave.world.replay import result_reference
from synth.tasks.forms.form import change_terms, literal
from synth.tasks.kinds import Instance, NoInstance
from synth.tasks.kinds.recipe import ASKED, UNDONE

Moved = Callable[[int], int]
LATER: Moment = "after_report"
"""When the user comes out with what they do not ask for at once."""


def with_open_places(instance: Instance) -> Instance:
    """An instance whose call that is asked for and not made has the place `ASKED`."""
    last = len(instance.golden)
    return _moved(instance, lambda place: ASKED if instance.asked and place == last else place)


def with_final_places(instance: Instance) -> Instance:
    """An instance whose calls that are not made have their places behind the golden calls."""
    last = len(instance.golden)

    def moved(place: int) -> int:
        if place >= 0:
            return place
        return last if place == ASKED else last + bool(instance.asked) + UNDONE - place

    return _moved(instance, moved)


def joined(first: Instance, second: Instance, *, is_after: bool = True, asked_first: bool = False) -> Instance:
    """Two instances, one after the other, as one. Look-ups that both make are made once.

    Args:
        second: Made after the golden calls of the first, or in the same state as the first.
        is_after: Whether it was made after them: then a look-up is made again if something was written before.
        asked_first: Whether what the first asks for in vain is judged before the second begins.

    Raises:
        NoInstance: Both have something declined.
    """
    if first.asked and second.asked:
        raise NoInstance("two requests are declined")
    golden, places = _together(first, second, is_after=is_after)

    def moved(place: int) -> int:
        if place >= 0:
            return places[place]
        return place if place == ASKED else place - len(first.undone)

    other = _moved(second, moved)
    facts = _renumbered(first, second)
    asked = first.asked or (moved_call(second.asked, moved) if second.asked else None)
    both = replace(
        first,
        golden=golden,
        results=[],
        fresh_from=places[second.fresh_from - 1] + 1 if second.fresh_from else first.fresh_from,
        steps=[*first.steps, *other.steps],
        rows=[*first.rows, *other.rows],
        values=[*first.values, *other.values],
        open_columns=_merged(first.open_columns, second.open_columns),
        communicate=_in_order(first, second, facts),
        asked=asked,
        forbidden=[*first.forbidden, *second.forbidden],
        asked_after=len(first.golden) if asked_first else _asked_after(first, second, places),
        undone=[*first.undone, *(moved_call(call, moved) for call in second.undone)],
        forms=[*_forms(first.forms, [], second.golden), *_forms(second.forms, first.golden, [])],
        terms=[*first.terms, *_shifted_terms(second, len(first.steps))],
        questions=[*first.questions, *(_asked_of(one, facts, moved) for one in second.questions)],
        beliefs={**first.beliefs, **{facts[name]: belief for name, belief in second.beliefs.items()}},
        any_of=[
            *([*course, *literal(second.golden)] for course in first.any_of),
            *([*literal(first.golden), *course] for course in second.any_of),
        ],
        insists=max(first.insists, second.insists),
    )
    return _numbered(both)


def asked_later(made: Instance) -> Instance:
    """An instance that the user comes out with later, with all that they ask."""
    later = replace(
        made,
        terms=[*made.terms],
        questions=[one.model_copy(update={"later": LATER}) for one in made.questions],
        communicate=[fact.model_copy(update={"asked_later": True}) for fact in made.communicate],
    )
    for call in range(len(later.steps)):
        change_terms(later, call, later=LATER)
    return later


def asked_in_turn(made: Instance, template: TaskTemplate, blueprint: Blueprint) -> Instance:
    """A plain instance of which the user asks for one deed, and for all others once that is done.

    What they only agree to comes with the deed that needs it, and what is told with the deed that it follows.
    """
    writes = [place for place, call in enumerate(template.calls) if blueprint.tool(call.tool).kind == "write"]
    wanted = [place for place in writes if template.calls[place].demanded_by is None]
    if len(wanted) < 2:
        return made
    first, second, *_ = wanted
    calls = [place for place in range(len(template.calls)) if place >= second or (place > first and place in writes)]
    facts = [
        fact.model_copy(update={"asked_later": asked.call - 1 in calls})
        for fact, asked in zip(made.communicate, template.tell, strict=True)
    ]
    later = replace(made, terms=[*made.terms], communicate=facts)
    for call in calls:
        change_terms(later, call, later=LATER)
    return later


def with_undone(done: Instance, other: Instance) -> Instance:
    """An instance that is carried out, with the deed of another one left undone; their template's calls are together.

    Raises:
        NoInstance: What is left undone needs look-ups of its own, which nobody would make.
    """
    both = joined(done, replace(other, communicate=[]), is_after=False)
    last = len(done.golden)
    if len(both.golden) != last + 1:
        raise NoInstance("the second wish needs look-ups of its own")

    def place(at: int) -> int:
        return UNDONE if at == last else at

    left = replace(_moved(both, place), golden=done.golden, undone=both.golden[last:])
    return replace(left, open_columns=done.open_columns, fresh_from=done.fresh_from)


def moved_call(call: GoldenCall, moved: Moved) -> GoldenCall:
    """A call whose arguments come from golden calls with other places."""

    def source(text: str) -> str:
        reference = result_reference(text)
        if reference is None:
            return text
        place = f"call {moved(reference.call)} {reference.path}"
        return f"computed date({place})" if reference.as_date else place

    return call.model_copy(update={"grounding": {name: source(text) for name, text in call.grounding.items()}})


def _moved(instance: Instance, moved: Moved) -> Instance:
    return replace(
        instance,
        steps=[moved(step) for step in instance.steps],
        rows=moved_mentions(instance.rows, moved),
        values=moved_values(instance.values, moved),
    )


def _together(first: Instance, second: Instance, *, is_after: bool) -> tuple[list[GoldenCall], list[int]]:
    """The golden calls of both, and the new places of the second's."""
    golden, places = [*first.golden], list[int]()
    start = first.fresh_from if is_after else 0
    for call in second.golden:
        again = moved_call(call, lambda earlier: places[earlier])
        same = next((at for at in range(start, len(first.golden)) if golden[at] == again), None)
        places.append(len(golden) if same is None else same)
        golden += [again] if same is None else []
    return golden, places


def _asked_after(first: Instance, second: Instance, places: Sequence[int]) -> int | None:
    """How many golden calls of both are made before what is asked for in vain is judged."""
    if second.asked_after is None:
        return first.asked_after
    return max([len(first.golden), *(place + 1 for place in places[: second.asked_after])])


def _renumbered(first: Instance, second: Instance) -> dict[str, str]:
    """Id of a fact that the second tells -> its id in both."""
    start = len(first.communicate)
    return {fact.fact: f"told_{start + number}" for number, fact in enumerate(second.communicate, start=1)}


def _in_order(first: Instance, second: Instance, facts: Mapping[str, str]) -> list[FactToTell]:
    """The facts to tell of both; those that are computed come last. What is true of one is no rival of another."""
    told = [*first.communicate, *(one.model_copy(update={"fact": facts[one.fact]}) for one in second.communicate)]
    computed = {one.fact for one in first.questions} | {facts[one.fact] for one in second.questions}
    believed = [belief.value for belief in [*first.beliefs.values(), *second.beliefs.values()]]
    true = [value for fact in told for value in [*fact.values, *fact.parts] if value not in believed]
    apart = [fact.model_copy(update={"rivals": [one for one in fact.rivals if one not in true]}) for fact in told]
    return sorted(apart, key=lambda fact: fact.fact in computed)


def _numbered(both: Instance) -> Instance:
    """An instance whose facts to tell are numbered in their order, as the template's questions are."""
    ids = {fact.fact: f"told_{number}" for number, fact in enumerate(both.communicate, start=1)}
    return replace(
        both,
        communicate=[fact.model_copy(update={"fact": ids[fact.fact]}) for fact in both.communicate],
        questions=[one.model_copy(update={"fact": ids[one.fact]}) for one in both.questions],
        beliefs={ids[name]: belief for name, belief in both.beliefs.items()},
    )


def _asked_of(question: Calculation, facts: Mapping[str, str], moved: Moved) -> Calculation:
    rows = moved_mentions(question.rows, moved)
    return question.model_copy(update={"fact": facts[question.fact], "call": moved(question.call), "rows": rows})


def _shifted_terms(second: Instance, calls: int) -> list[CallTerms]:
    """The terms of the second's calls, which come behind so many of the template's calls."""
    return [
        one.model_copy(
            update={
                "call": one.call + calls,
                "instead_of": None if one.instead_of is None else one.instead_of + calls,
                "replaces": None if one.replaces is None else one.replaces + calls,
            }
        )
        for one in second.terms
    ]


def _forms(
    forms: Sequence[RequestForm], before: Sequence[GoldenCall], after: Sequence[GoldenCall]
) -> list[RequestForm]:
    """Forms whose courses have the other instance's calls before or after them."""

    def longer(courses: Sequence[Course]) -> list[Course]:
        return [
            course.model_copy(update={"calls": [*literal(before), *course.calls, *literal(after)]})
            for course in courses
        ]

    return [form.model_copy(update={"wrong": longer(form.wrong), "right": longer(form.right)}) for form in forms]


def _merged(one: Mapping[str, list[str]], other: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {table: list(dict.fromkeys([*one.get(table, []), *other.get(table, [])])) for table in {**one, **other}}


def moved_mentions(rows: Sequence[MentionedRow], moved: Callable[[int], int]) -> list[MentionedRow]:
    """Mentions of rows whose golden calls have other places."""
    return [row.model_copy(update={"call": moved(row.call)}) for row in rows]


def moved_values(values: Sequence[MentionedValue], moved: Callable[[int], int]) -> list[MentionedValue]:
    """Mentions of values whose golden calls have other places."""
    return [value.model_copy(update={"call": moved(value.call)}) for value in values]

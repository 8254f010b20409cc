"""Form `errands`: several requests of one person in one conversation, of different templates, plain or in other forms.

The last one may come later, once the others are done. Each is made in the state that those before it have left.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from random import Random
from typing import NamedTuple

from skillweave.schema.combination import Combination
from skillweave.schema.contract import CallResult
from skillweave.schema.criteria import RequestForm
from skillweave.schema.task import Split
from skillweave.schema.template import RequestedValue, TaskTemplate, TemplateCall
from skillweave.world.world import World
from synth.contracts.visibility import is_owned_by_person
from synth.simulation.generation import visit_weight
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    add_form,
    change_terms,
    fits,
    key_columns,
)
from synth.tasks.forms.joining import joined
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.kinds.recipe import AbleToAsk
from synth.tasks.outcomes import foreseen_amount
from synth.tasks.replay import rows_of

LATER_SHARE = 0.35
"""How often the last errand comes out later, or the last two where there are many."""
MANY = 5
"""So many errands are seldom said all at once."""
LEAST_PARTS, SIZES = 3, 6
"""Parts of a compound, at least, and in how many sizes compounds come."""
DECLINED_SHARE = 0.2
"""How often a compound is to have a part that is declined."""
COMMON = frozenset({"choice", "condition", "aggregate", "comparison", "false_premise", "pressure", "batch", "what_if"})
"""Forms of which many people can have a request."""
COMPOUNDS = 4
"""Compounds that are sought for each family of a split."""
FORMED_SHARE = {"do": 0.7, "inform": 0.6, "refuse": 0.6}
"""Kind -> how often a part of a compound is in a form of its own. Few people err in all that they ask."""
MOST_DRAWN = 4
"""Templates of a family that are tried as a part."""
OTHER_PERSONS = 2
"""Persons beside the one for whom a compound is made who are tried for it."""
MOST_DRAWS = 4
"""Instances of a part that are tried for one that is about other things."""

_REASONS = [
    "I have made a list of what I want to settle with you.",
    "There are a few things that I have been putting off.",
    "I would like to get several things out of the way at once.",
    "I am putting my affairs in order.",
    "Several things have come together.",
    "I only get round to this sort of thing once in a while.",
    "I am clearing my desk today.",
    "I do not want to call you three times.",
]
"""Why people come with several requests."""

SplitOf = Callable[[Sequence[TaskTemplate]], Mapping[str, Split]] | None


class ErrandsForm(FormRecipe):
    """Three to eight requests in one conversation."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """Compounds of templates of one split."""
        # Of the stories of a fused world, which are long by themselves, hardly anybody has two.
        if source.bridge_rules is not None:
            return
        random = Random(f"{source.blueprint.server}/errands")
        known: set[str] = set()
        for group in _groups(goals, source.split_of):
            for number in range(COMPOUNDS * len(group)):
                parts, persons = _parts(group, LEAST_PARTS + number % SIZES, random, source.able)
                template = compound(parts, persons) if _go_together(parts) else None
                if template is not None and template.id not in known:
                    known.add(template.id)
                    yield template

    def instance(self, setting: FormSetting) -> Instance:
        """An instance of each part, each made after the golden calls of those before it.

        Raises:
            NoInstance: A part speaks of what another one makes, an answer depends on which comes first, or one look-up
                answers nearly all.
        """
        instance = Instance()
        answers: list[tuple[TaskTemplate, Instance]] = []
        spoken_of = _SpokenOf(set(), set())
        for part in parts_of(setting.template):
            made = _part_apart(setting, part, instance, spoken_of)
            answers += [(part, made)] if part.kind == "inform" else []
            instance = joined(instance, made)
        if len(instance.golden) <= len(setting.template.parts):
            raise NoInstance("so little is done at once")
        for part, made in answers:
            _check_lasting(setting, instance, part, made)
        _put_off(setting, instance)
        instance.results = setting.run(instance.golden)
        add_form(instance, "errands")
        return instance

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """How many of the template's calls there are. The other gates see all requests together."""
        return {"calls": len(combination.steps)}


def _groups(goals: Sequence[TaskTemplate], split_of: SplitOf) -> list[list[list[TaskTemplate]]]:
    """The families of templates that can be put together, by split: no compound is in two."""
    splits = split_of(goals) if split_of else {}
    groups: dict[str | None, dict[str, list[TaskTemplate]]] = {}
    for goal in goals:
        if goal.kind in ("do", "inform", "refuse") and {*goal.forms} <= COMMON:
            groups.setdefault(splits.get(goal.id), {}).setdefault(goal.base or goal.id, []).append(goal)
    return [[*families.values()] for families in groups.values()]


def _parts(
    group: Sequence[list[TaskTemplate]], size: int, random: Random, able: AbleToAsk | None
) -> tuple[list[TaskTemplate], list[str]]:
    """Parts of a compound, as many as one person has together up to a size, with that person and a few others.

    Deeds and questions; what is declined comes last.
    """
    person = random.choices(able.persons, [visit_weight(at + 1) for at in range(len(able.persons))])[0] if able else ""
    deeds = size - 1 - random.randrange(2) - (size >= MANY)
    wanted = ["do"] * deeds + ["refuse" if random.random() < DECLINED_SHARE else "inform"] + ["inform"] * 3
    parts: list[TaskTemplate] = []
    for family in random.sample(group, len(group)):
        kind = next((kind for kind in wanted if any(one.kind == kind for one in family)), None)
        if kind is None or len(parts) == size:
            continue
        taken = {form for part in parts for form in part.forms}
        for part in _drawn([one for one in family if one.kind == kind], taken, random):
            longer = _in_order([*parts, part], size)
            if able is None or _has_together(longer, part, person, able):
                parts = longer
                wanted.remove(kind)
                break
    others = random.sample(able.persons, min(len(able.persons), OTHER_PERSONS)) if able else []
    return parts, list(dict.fromkeys([person, *others])) if able else []


def _in_order(parts: Sequence[TaskTemplate], size: int) -> list[TaskTemplate]:
    """Parts in the order in which they are wanted: what may come later behind the rest, what is declined last."""
    return sorted(_clear(parts), key=lambda part: (bool(part.forbidden), size >= MANY and part.kind == "do"))


def _has_together(parts: Sequence[TaskTemplate], new: TaskTemplate, person: str, able: AbleToAsk) -> bool:
    """Whether a person who has all parts but the new one has them all together."""
    if not able(new, [person]):
        return False
    return len(parts) < LEAST_PARTS or (_go_together(parts) and bool(able(compound(parts), [person])))


def _drawn(family: Sequence[TaskTemplate], taken: Collection[str], random: Random) -> list[TaskTemplate]:
    """Some templates of a family, of one kind, to be tried in turn; often forms that no other part has come first."""
    plain_ones = [template for template in family if not template.forms]
    formed_ones = [template for template in family if template.forms and not {*template.forms} & {*taken}]
    # What turns on an outcome or has a catch comes first: it takes more than a look-up.
    deep = [template for template in formed_ones if is_deep(template)]
    orders = [random.sample(ones, len(ones)) for ones in (deep, formed_ones, plain_ones)]
    drawn = chain(*(orders if random.random() < FORMED_SHARE[family[0].kind] else reversed(orders)))
    return [*{template.id: template for template in drawn}.values()][:MOST_DRAWN]


def is_deep(template: TaskTemplate) -> bool:
    """Whether a request turns on what the policy makes of the records: an outcome, or several rows at once."""
    form, detail = template.forms[-1], template.form_detail
    is_foreseen = (form == "choice" and bool(detail)) or (form == "condition" and " " in detail)
    return bool({*template.forms} & {"what_if", "batch"}) or is_foreseen


def _clear(parts: Sequence[TaskTemplate]) -> list[TaskTemplate]:
    """Parts of which no deed asks for a result: beside other requests it would not be clear of which."""
    silent = {part.id for part in parts if part.kind != "inform" and "false_premise" not in part.forms}
    return [part.model_copy(update={"tell": []}) if part.id in silent else part for part in parts]


def _go_together(parts: Sequence[TaskTemplate]) -> bool:
    """Whether requests can be made in one conversation: at most one is declined, and something is done beside it.

    Of a deed beside other requests nobody asks for a result.
    """
    deeds = [part for part in parts if part.kind != "inform"]
    declined = sum(bool(part.forbidden) for part in parts)
    is_clear = not any(part.tell for part in deeds) and not _same_deed_for_several(parts)
    return len(parts) >= LEAST_PARTS and is_clear and declined < 2 and (len(deeds) > declined or not declined)


def _same_deed_for_several(parts: Sequence[TaskTemplate]) -> bool:
    """Whether one part wants something for several rows that another part wants, too: nobody would tell them apart."""
    several = [part for part in parts if part.focus and {*part.forms} & {"batch", "what_if"}]
    return any(
        other is not part and part.calls[0].tool in [call.tool for call in other.calls]
        for part in several
        for other in parts
    )


class _SpokenOf(NamedTuple):
    """Rows of the person that parts of a compound are about."""

    changed: set[str]
    """What deeds are about, and what is declined."""
    asked: set[str]
    """What questions are about."""


def _part_apart(setting: FormSetting, part: TaskTemplate, before: Instance, spoken_of: _SpokenOf) -> Instance:
    """An instance of a part about other things than the deeds before it, noted in `spoken_of`; the first of a few.

    Nobody adds a bag to a booking and has it cancelled, or asks when the order comes that they want for another day.
    Nor does a part name a row that those before it make: who writes the first message does not know it.

    Raises:
        NoInstance: There is none.
    """
    is_question = part.kind == "inform"
    taken = spoken_of.changed if is_question else spoken_of.changed | spoken_of.asked
    new = {key for result in setting.run(before.golden) for key in result.minted}
    for _ in range(MOST_DRAWS):
        made = setting.after(before.golden).plain(part)
        own = _own_rows(setting, made)
        if own.isdisjoint(taken) and not any(row.key in new for row in made.rows):
            (spoken_of.asked if is_question else spoken_of.changed).update(own)
            return made
    raise NoInstance("two requests are about the same thing")


def _own_rows(setting: FormSetting, made: Instance) -> set[str]:
    """The rows of the person that a part speaks of."""
    blueprint = setting.world.blueprint
    named = [(row.entity, row.key) for row in made.rows if row.entity and row.key]
    own = {key for entity, key in named if is_owned_by_person(blueprint, blueprint.entity(entity))}
    for about in (row for row in made.rows if row.parameter is None and row.columns):
        listed = [row for row in rows_of(made.results[about.call]) if fits(row, about.columns)]
        own |= {str(row[column]) for row in listed for column in key_columns(setting.world, about.read)}
    return own


def _check_lasting(setting: FormSetting, whole: Instance, part: TaskTemplate, made: Instance) -> None:
    """Check that a question has the same answer before all deeds and after them."""
    first, last = setting.run(made.golden), setting.after(whole.golden).run(made.golden)
    for fact in (fact for fact in made.communicate if fact.foreseen):
        with setting.after(whole.golden).open() as session:
            if fact.foreseen and [foreseen_amount(session, fact.foreseen)] != fact.values:
                raise NoInstance("an answer depends on what is done first")
    for place, (before, after) in enumerate(zip(first, last, strict=True)):
        if before.value != after.value and not _is_answer_kept(place, (before, after), part, made):
            raise NoInstance("an answer depends on what is done first")


def _is_answer_kept(place: int, results: tuple[CallResult, CallResult], part: TaskTemplate, made: Instance) -> bool:
    """Whether all rows that a question speaks of are the same in two results of a look-up that differ elsewhere.

    Of what is added up or decides, everything could matter.
    """
    if made.terms or any(question.of for question in made.questions):
        return False
    if all(isinstance(result.value, dict) for result in results):
        told = {wanted.column for wanted in part.tell if made.steps[wanted.call - 1] == place}
        values = [[row.get(name) for name in sorted(told)] for result in results for row in rows_of(result)]
        return bool(told) and values[0] == values[1]
    subjects = [row.columns for row in made.rows if row.read == made.golden[place].tool]
    found = [[[row for row in rows_of(result) if fits(row, one)] for one in subjects] for result in results]
    return bool(subjects) and found[0] == found[1] and all(len(rows) == 1 for rows in found[0])


def compound(parts: Sequence[TaskTemplate], persons: Collection[str] = ()) -> TaskTemplate:
    """One template of several: their calls one after the other.

    Args:
        persons: Who has an instance of each, if that is known.
    """
    first = parts[0]
    server, names = first.id.partition("/")[0], [part.id.partition("/")[2] for part in parts]
    calls: list[TemplateCall] = []
    tell: list[RequestedValue] = []
    for part in parts:
        tell += [one.model_copy(update={"call": one.call + len(calls)}) for one in part.tell]
        calls += part.calls
    forms = [form for form in dict.fromkeys(form for part in parts for form in part.forms) if form != "pressure"]
    shared = {"lookups": first.lookups, "referred_by": first.referred_by}
    lean = [
        part.model_copy(update={name: {} for name, value in shared.items() if getattr(part, name) == value})
        for part in parts
    ]
    return first.model_copy(
        update={
            "id": f"{server}/errands_{'_and_'.join(names)}",
            "kind": "do" if any(part.kind in ("do", "refuse") for part in parts) else "inform",
            "base": first.base or first.id,
            "title": "; ".join(part.title for part in parts),
            "calls": calls,
            "tell": tell,
            "reasons": _REASONS,
            "forms": [*forms, "errands"],
            "forbidden": next((part.forbidden for part in parts if part.forbidden), None),
            "focus": None,
            "form_detail": "",
            "parts": lean,
            "persons": sorted(persons),
        }
    )


def parts_of(template: TaskTemplate) -> list[TaskTemplate]:
    """The templates that a compound consists of, whole."""
    shared = {"lookups": template.lookups, "referred_by": template.referred_by}
    return [
        part.model_copy(update={name: value for name, value in shared.items() if not getattr(part, name)})
        for part in template.parts
    ]


def _put_off(setting: FormSetting, instance: Instance) -> None:
    """Let the user come out with the last request later, in some of the instances in which nothing is later yet."""
    parts = setting.template.parts
    count = 2 if len(parts) >= MANY else 1
    late = [*takewhile(lambda part: _can_wait(setting, part), parts[: -count - 1 : -1])]
    start = len(setting.template.calls) - sum(len(part.calls) for part in late)
    is_free = not any(terms.later for terms in instance.terms) and bool(late)
    if is_free and setting.random.random() < count * LATER_SHARE:
        for call in range(start, len(setting.template.calls)):
            change_terms(instance, call, later="after_report")


def _can_wait(setting: FormSetting, part: TaskTemplate) -> bool:
    """Whether a part can come out later: something is to be done, and will be."""
    return part.kind == "do" and setting.tool(part.calls[0].tool).kind == "write" and not part.forbidden

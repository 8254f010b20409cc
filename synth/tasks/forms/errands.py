"""Form `errands`: several requests of one person in one conversation, of different templates, plain or in other forms.

Only the first comes at once, and the others once it is done. Each is made in the state that those before it have left.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from skillweave.schema.combination import Combination
from skillweave.schema.contract import CallResult
from skillweave.schema.criteria import RequestForm
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json
from skillweave.schema.template import TaskTemplate
from skillweave.world.diff import delta
from skillweave.world.world import World
from synth.contracts.visibility import is_owned_by_person, subject_entity
from synth.tasks.forms.compounds import (
    SIZES,
    compound,
    families_by_split,
    go_together,
    grown_parts,
    least_parts,
    parts_of,
)
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    add_form,
    fits,
    key_columns,
)
from synth.tasks.forms.joining import asked_in_turn, asked_later, joined
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.outcomes import foreseen_amount
from synth.tasks.replay import make_calls, rows_of

COMPOUNDS = 6
"""Compounds that are sought for each family of a split."""
LEAST_CALLS = 4
"""Golden calls of a compound, without signing in."""
MOST_DRAWS = 4
"""Instances of a part that are tried for one that is about other things."""


class ErrandsForm(FormRecipe):
    """Two to eight requests in one conversation."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """Compounds of templates of one split."""
        # Of the stories of a fused world hardly anybody has two.
        if source.bridge_rules is not None:
            return
        random = Random(f"{source.blueprint.server}/errands")
        known: set[str] = set()
        for group in families_by_split(goals, source.split_of):
            least = least_parts(group)
            for number in range(COMPOUNDS * len(group)):
                size = least + number % SIZES
                parts, persons = grown_parts(group, least, size, random, source.able, source.blueprint)
                template = compound(parts, persons) if go_together(parts, least) else None
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
        spoken_of = _SpokenOf(set(), set(), set())
        for number, part in enumerate(parts_of(setting.template)):
            made = _part_apart(setting, part, instance, spoken_of)
            answers += [(part, made)] if part.kind == "inform" else []
            instance = joined(instance, asked_later(made) if number else _asked_first(setting, part, made))
        parts = setting.template.parts
        if len(instance.golden) < max(min(LEAST_CALLS, len(parts) + 1), 2 + sum(part.kind == "do" for part in parts)):
            raise NoInstance("so little is done at once")
        for part, made in answers:
            _check_lasting(setting, instance, part, made)
        instance.results = setting.run(instance.golden)
        _spare_figures_of_deeds(setting, instance)
        add_form(instance, "errands")
        return instance

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """How many of the template's calls there are. The other gates see all requests together."""
        return {"calls": len(combination.steps)}


class _SpokenOf(NamedTuple):
    """Keys of rows of the person that parts of a compound are about."""

    changed: set[str]
    """What deeds are about, and what is declined."""
    asked: set[str]
    """What questions are about."""
    behind: set[str]
    """What the rows of deeds refer to: the appointment of an invoice that is paid."""


def _part_apart(setting: FormSetting, part: TaskTemplate, before: Instance, spoken_of: _SpokenOf) -> Instance:
    """An instance of a part about other things than the deeds before it, noted in `spoken_of`; the first of a few.

    Nobody adds a bag to a booking and has it cancelled, pays for what they cancel, or asks when the order comes that
    they want for another day. Nor does a part name a row that those before it make or change: who writes the first
    message does not know it.

    Raises:
        NoInstance: There is none.
    """
    is_question = part.kind == "inform"
    after = setting.after(before.golden)
    left = _left_by_deeds(after, is_question=is_question)
    for _ in range(MOST_DRAWS):
        made = after.plain(part)
        own = _own_rows(setting, made)
        behind = set[str]() if is_question else _referred_to(setting, own)
        taken = spoken_of.changed if is_question else spoken_of.changed | spoken_of.asked | spoken_of.behind
        is_apart = taken.isdisjoint(own) and behind.isdisjoint(spoken_of.changed)
        if is_question and not _of_deeds(before).isdisjoint(_subjects(setting, made)):
            continue
        if is_apart and not _takes_again(after, made) and left.isdisjoint(row.key for row in made.rows):
            (spoken_of.asked if is_question else spoken_of.changed).update(own)
            spoken_of.behind.update(behind)
            return made
    raise NoInstance("two requests are about the same thing")


def _of_deeds(before: Instance) -> set[str]:
    """All that calls were given: what somebody has just taken has a price of its own beside that of the list."""
    return {str(value) for call in before.golden for value in call.arguments.values()}


def _subjects(setting: FormSetting, made: Instance) -> set[str]:
    """Keys of the rows that a question is about, be they the person's or not."""
    found = set[str]()
    for about in (row for row in made.rows if row.parameter is None and row.columns):
        listed = [row for row in rows_of(made.results[about.call]) if fits(row, about.columns)]
        found |= {str(row[column]) for row in listed for column in key_columns(setting.world, about.read)}
    return found


def _takes_again(after: FormSetting, made: Instance) -> bool:
    """Whether a deed takes what an earlier one of the same part has given up: the slot of what was cancelled."""
    blueprint = after.world.blueprint
    deeds = [place for place, call in enumerate(made.golden) if after.tool(call.tool).kind == "write"]
    offers = {one.table for one in blueprint.tables if not is_owned_by_person(blueprint, one)}
    for place in deeds[1:]:
        with after.open() as session:
            before = session.diff()
            make_calls(session, made.golden[:place])
            changes = [change for change in delta(before, session.diff()) if change.op == "update"]
        given_up = {str(*change.key.values()) for change in changes if change.table in offers}
        if not given_up.isdisjoint(map(str, made.golden[place].arguments.values())):
            return True
    return False


def _left_by_deeds(after: FormSetting, *, is_question: bool) -> set[str | None]:
    """Keys of the rows that deeds have made; and where it is no question those that they have changed.

    Nobody gives up a slot and books it again.
    """
    person = after.world.blueprint.core.table
    with after.open() as session:
        changes = [change for change in session.diff() if change.table != person]
    return {str(*change.key.values()) for change in changes if change.op == "insert" or not is_question}


def _own_rows(setting: FormSetting, made: Instance) -> dict[str, Entity]:
    """The rows of the person that a part speaks of, by key; each with its entity."""
    blueprint = setting.world.blueprint
    named = [(blueprint.entity(row.entity), row.key) for row in made.rows if row.entity and row.key]
    own = {key: entity for entity, key in named if is_owned_by_person(blueprint, entity)}
    for about in (row for row in made.rows if row.parameter is None and row.columns):
        subject = subject_entity(blueprint, setting.tool(about.read))
        listed = [row for row in rows_of(made.results[about.call]) if fits(row, about.columns)]
        for key in (str(row[column]) for row in listed for column in key_columns(setting.world, about.read)):
            own.setdefault(key, blueprint.entity(subject or blueprint.core_entity))
    return own


def _referred_to(setting: FormSetting, own: Mapping[str, Entity]) -> set[str]:
    """Keys of the person's other rows that rows of theirs refer to."""
    blueprint, found = setting.world.blueprint, set[str]()
    with setting.open() as session:
        for key, entity in own.items():
            parents = [
                one.name
                for one in entity.attributes
                if one.references and is_owned_by_person(blueprint, blueprint.target(one.references)[0])
            ]
            rows = session.query(f"SELECT * FROM {entity.table} WHERE {entity.key} = :key", {"key": key})
            found |= {str(row[name]) for row in rows for name in parents if row[name] is not None}
    return found


def _check_lasting(setting: FormSetting, whole: Instance, part: TaskTemplate, made: Instance) -> None:
    """Check that a question has the same answer before all deeds and after them."""
    for fact in made.communicate:
        with setting.after(whole.golden).open() as session:
            if fact.foreseen and [foreseen_amount(session, fact.foreseen)] != fact.values:
                raise NoInstance("an answer depends on what is done first")
    if all(fact.foreseen for fact in made.communicate):
        return
    first, last = setting.run(made.golden), setting.after(whole.golden).run(made.golden)
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


def _asked_first(setting: FormSetting, part: TaskTemplate, made: Instance) -> Instance:
    """The instance of the part that the user begins with: what they want instead comes with it, further deeds later."""
    terms = [one.model_copy(update={"later": None}) if one.instead_of is not None else one for one in made.terms]
    at_once = replace(made, terms=terms)
    return at_once if part.forms else asked_in_turn(at_once, part, setting.world.blueprint)


def _spare_figures_of_deeds(setting: FormSetting, instance: Instance) -> None:
    """Take figures of the rows that deeds are about from the rivals of answers: whoever reports the deeds says them."""
    deeds = [call for call in [*instance.golden, *instance.undone] if setting.tool(call.tool).kind == "write"]
    named = {value for call in deeds for value in call.arguments.values() if isinstance(value, str)}
    rows = [row for result in instance.results for row in rows_of(result) if not named.isdisjoint(_texts(row))]
    said = [value for row in rows for value in row.values()]
    said += [value for call in deeds for value in call.arguments.values()]
    believed = [belief.value for belief in instance.beliefs.values()]
    instance.communicate = [
        fact.model_copy(update={"rivals": [one for one in fact.rivals if one in believed or one not in said]})
        for fact in instance.communicate
    ]


def _texts(row: Mapping[str, Json]) -> set[str]:
    return {value for value in row.values() if isinstance(value, str)}

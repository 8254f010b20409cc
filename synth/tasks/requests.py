"""The request behind a task: what the user wants and knows, before anybody puts it into words."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Calculation, Combination, MentionedRow
from skillweave.schema.record import Json
from skillweave.schema.request import Intent, KnownRow, KnownRows, UserRequest
from skillweave.schema.task import Persona
from skillweave.schema.template import OmittedSlot, RequestedValue, TaskTemplate
from skillweave.world.replay import result_reference
from synth.contracts.wording import name_in_words, value_type
from synth.tasks.known import FactCollector, terms_for


def request_of(
    blueprint: Blueprint, template: TaskTemplate, combination: Combination, persona: Persona, random: Random
) -> UserRequest:
    """What an author is given to tell the task.

    Args:
        random: Chooses among forms of words and reasons. The order of its draws is part of what a task says.

    Returns:
        The intents, each with the rows and values that it is about, and all that the user knows, each fact once.
    """
    facts = FactCollector(blueprint, template, combination, random)
    intents = _collected(template, combination, facts, random)
    withheld = {name for omitted in combination.withheld for name in _withheld_ids(combination, facts, omitted)}
    withheld |= _revealing_ids(intents, facts, withheld)
    volunteered = {name for intent in intents for name in _volunteered_ids(intent, blueprint)} - withheld
    return UserRequest(
        title=template.title,
        company=blueprint.title,
        persona=persona,
        reason=random.choice(template.reasons),
        wishes=intents,
        known=[
            fact.model_copy(update={"withheld": fact.id in withheld, "volunteered": fact.id in volunteered})
            for fact in facts.all
        ],
        insists=combination.insists,
    )


def _collected(template: TaskTemplate, combination: Combination, facts: FactCollector, random: Random) -> list[Intent]:
    """The intents; what the user knows is in `facts` afterwards."""
    intents = _write_intents(template, combination, facts)
    intents += _question_intents(template, combination, facts, random)
    shown = [question for question in combination.questions if question.sort != "outcome"]
    intents += [_computed_intent(combination, facts, question) for question in shown]
    for parameter, value in combination.credentials.items():
        facts.add(f"me.{parameter}", value, f"me: {name_in_words(parameter)}", secret=True)
    # What only a look-up needs (a day to search from) is known too, unless a row's own words say it already.
    for row in combination.rows:
        facts.row(row)
    for mentioned in combination.values:
        facts.value(mentioned)
    return intents


def known_values(blueprint: Blueprint, template: TaskTemplate, combination: Combination) -> list[Json]:
    """The values of all that the user knows: what they want, believe, name and sign in with."""
    random = Random(0)
    facts = FactCollector(blueprint, template, combination, random)
    _collected(template, combination, facts, random)
    return [fact.value for fact in facts.all]


def later_facts(request: UserRequest) -> set[str]:
    """Ids of the facts that only what the user comes out with later needs. Nothing says them before.

    What they only agree to they agree to at any time.
    """
    later = {name for intent in request.wishes if _is_later(intent) for name in fact_ids(intent)}
    at_once = {name for intent in request.wishes if not _is_later(intent) for name in fact_ids(intent)}
    withheld = {fact.id for fact in request.known if fact.withheld}
    return later - at_once - withheld


def _is_later(intent: Intent) -> bool:
    return intent.later is not None and not intent.only_if_needed


def fact_ids(intent: Intent) -> Iterator[str]:
    """Ids of the facts that say what an intent is about."""
    yield from intent.values.values()
    for row in intent.rows.values():
        yield from row.columns.values()
    yield from _term_ids(intent)


def set_facts(rows: KnownRows) -> Iterator[str]:
    """Ids of the facts that say which rows are meant together."""
    yield from rows.columns.values()
    yield from [rows.month] if rows.month else []
    yield from [rows.budget] if rows.budget else []
    yield from (name for row in rows.excepted for name in row.columns.values())


def _term_ids(intent: Intent) -> Iterator[str]:
    """Ids of the facts that say on which terms something is wanted: without them it would be another wish."""
    yield from (name for name in (intent.condition_fact, intent.believed) if name)
    yield from set_facts(intent.every) if intent.every else ()
    meant = intent.rows.values() if intent.compared else (intent.rows[name] for name in intent.best)
    yield from (name for row in meant for name in row.columns.values())


def _write_intents(template: TaskTemplate, combination: Combination, facts: FactCollector) -> list[Intent]:
    """The intents of the template's calls that change something, on the terms on which the user wants them."""
    intents = [_write_intent(template, combination, facts, place) for place in range(len(template.calls))]
    writes = [place for place, intent in enumerate(intents) if not facts.is_read(intent.tool)]
    numbers = {place: number for number, place in enumerate(writes)}
    return [_on_terms(intents[place], combination, facts, place, numbers) for place in writes]


def _on_terms(
    intent: Intent, combination: Combination, facts: FactCollector, place: int, numbers: Mapping[int, int]
) -> Intent:
    """The intent of a call with its terms.

    Args:
        numbers: Place of a call in the template -> place of its wish.
    """
    terms = terms_for(combination, place)
    return intent.model_copy(
        update={
            "best": {name: best for name, best in terms.best.items() if name in intent.rows},
            "condition": terms.condition,
            "condition_fact": facts.limit(terms.condition) if terms.condition else None,
            "instead_of": None if terms.instead_of is None else numbers[terms.instead_of],
            "otherwise": terms.instead_of is not None and bool(terms_for(combination, terms.instead_of).condition),
            "replaces": None if terms.replaces is None else numbers[terms.replaces],
            "later": terms.later,
            "every": facts.rows(terms.every) if terms.every else None,
            **({"kind": "hear", "foreseen": True, "noun": terms.foreseen} if terms.foreseen else {}),
        }
    )


def _write_intent(template: TaskTemplate, combination: Combination, facts: FactCollector, place: int) -> Intent:
    """The intent of one of the template's calls, as what the user wants done."""
    step, call = combination.steps[place], template.calls[place]
    values: dict[str, str] = {}
    unwanted: list[str] = []
    for mentioned in combination.values:
        if mentioned.call == step:
            name = facts.value(mentioned)
            if name is None:
                unwanted.append(mentioned.parameter)
            else:
                values[mentioned.parameter] = name
    earlier = [combination.steps[n] for n, other in enumerate(template.calls[:place]) if other.demanded_by is None]
    rows = _call_rows(combination, facts, step, earlier)
    references = {name: of for name, of in facts.references(call.tool).items() if name in call.same}
    linked = {name: of.partition(".")[0] for name, of in references.items() if name not in rows}
    # What is meant as the first of its kind has no other words: nobody could be asked for it.
    best = [f"{{{name}}}" for name in terms_for(combination, place).best if name in rows]
    asks = [way for way in call.ask if all(slot in way for slot in best)]
    return Intent(
        tool=call.tool,
        kind="do",
        rows=rows,
        values=values,
        linked=linked,
        unwanted=unwanted,
        ask=facts.choice(asks) if asks else "",
        only_if_needed=call.demanded_by is not None,
    )


def _call_rows(
    combination: Combination, facts: FactCollector, step: int, earlier: Sequence[int]
) -> dict[str, KnownRow]:
    """The rows that a call is about, each once: by the argument that names it, else by one that is taken from it.

    A row that is only taken from, and that an earlier call of the user's has named, needs no words.
    """
    arguments = combination.calls[step].arguments
    named = {(row.entity, row.key) for row in combination.rows if row.call in earlier and row.parameter}
    rows: dict[tuple[str | None, str | None], MentionedRow] = {}
    for row in combination.rows:
        if row.call == step and row.parameter:
            identity, is_name = (row.entity, row.key), arguments[row.parameter] == row.key
            if is_name or (identity not in rows and identity not in named):
                rows[identity] = row
    return {row.parameter: facts.row(row) for row in rows.values() if row.parameter}


def _question_intents(
    template: TaskTemplate, combination: Combination, facts: FactCollector, random: Random
) -> list[Intent]:
    """The intents of what the user wants to hear: one for each value, with the row that it is asked of."""
    intents = []
    for number, wanted in enumerate(template.tell, 1):
        tool, step = template.calls[wanted.call - 1].tool, combination.steps[wanted.call - 1]
        subjects = [row for row in combination.rows if row.call == step and row.parameter is None]
        subject = {"row": facts.row(subjects[0])} if subjects else {}
        named = {row.parameter: facts.row(row) for row in combination.rows if row.call == step and row.parameter}
        given = [value for value in combination.values if value.call == step and facts.is_read(tool)]
        values = {value.parameter: name for value in given if (name := facts.value(value))}
        rows = {**named, **subject}
        intent = Intent(tool=tool, kind="hear", rows=rows, values=values, ask=random.choice(wanted.ask))
        intents.append(_heard_on_terms(intent, combination, facts, wanted, f"told_{number}"))
    return intents


def _heard_on_terms(
    intent: Intent, combination: Combination, facts: FactCollector, wanted: RequestedValue, fact: str
) -> Intent:
    """The intent of a value that is asked for, with what the user takes it to be, and when they ask.

    If a condition depends on the value, the user asks for it in stating the condition.
    """
    belief = combination.beliefs.get(fact)
    # The deed comes just before the look-up that shows the value; another request may ask for such a value, too.
    near = [terms.condition for terms in combination.terms if terms.call in (wanted.call - 2, wanted.call - 1)]
    # Only who leaves it if the condition fails wants to hear the value, and what is foreseen no look-up shows.
    conditions = (one for one in near if one and one.then == "leave" and not one.foreseen)
    condition = next((one for one in conditions if (one.column, one.noun) == (wanted.column, wanted.noun)), None)
    return intent.model_copy(
        update={
            "noun": wanted.noun,
            "believed": facts.belief(wanted.column, wanted.noun, belief.value) if belief else None,
            "condition": condition,
            "condition_fact": facts.limit(condition) if condition else None,
            "later": terms_for(combination, wanted.call - 1).later,
        }
    )


def _computed_intent(combination: Combination, facts: FactCollector, question: Calculation) -> Intent:
    """The intent of what no result shows by itself."""
    belief = combination.beliefs.get(question.fact)
    return Intent(
        tool=question.tool,
        kind="hear",
        rows=dict(zip(("row", "other"), map(facts.row, question.rows), strict=False)),
        every=facts.rows(question.of) if question.of else None,
        compared=question.sort == "difference",
        noun=question.noun,
        believed=facts.belief(question.column, question.noun, belief.value) if belief else None,
        later=question.later,
    )


def _withheld_ids(combination: Combination, facts: FactCollector, omitted: OmittedSlot) -> Iterator[str]:
    """Ids of what is said only when asked for: all words for the row, days to look for it by, or the value itself."""
    slot = (omitted.call, omitted.parameter)
    rows = {(row.entity, row.key) for row in combination.rows if (row.call, row.parameter) == slot}
    for row in combination.rows:
        if (row.entity, row.key) in rows:
            yield from facts.row(row).columns.values()
    source = result_reference(combination.golden[omitted.call].grounding.get(omitted.parameter, ""))
    for value in combination.values:
        is_day = source is not None and value.call == source.call and value_type(value.value) in ("date", "datetime")
        if (value.call, value.parameter) == slot or is_day:
            yield from (name for name in [facts.value(value)] if name)


def _revealing_ids(intents: Sequence[Intent], facts: FactCollector, withheld: set[str]) -> set[str]:
    """Ids of what only a look-up needs, and what would give away what is withheld: the treatment of the very visit."""
    wanted = {name for intent in intents for name in fact_ids(intent)}
    values = [fact.value for fact in facts.all if fact.id in withheld]
    return {fact.id for fact in facts.all if fact.id not in wanted and not fact.secret and fact.value in values}


def _volunteered_ids(intent: Intent, blueprint: Blueprint) -> Iterator[str]:
    """Ids of what goes into the optional arguments of what is asked for, and of the terms on which it is wanted."""
    yield from _term_ids(intent)
    if intent.kind == "do" and not intent.only_if_needed:
        optional = {one.name for one in blueprint.tool(intent.tool).parameters if not one.required}
        yield from (intent.values[name] for name in intent.values if name in optional)
        yield from (fact for name, row in intent.rows.items() if name in optional for fact in row.columns.values())

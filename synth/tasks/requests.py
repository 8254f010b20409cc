"""The request behind a task: what the user wants and knows, before anybody puts it into words."""

from collections.abc import Iterator, Sequence
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import (
    Combination,
    Intent,
    KnownFact,
    KnownRow,
    MentionedRow,
    MentionedValue,
    OmittedSlot,
    TaskTemplate,
    UserRequest,
)
from skillweave.schema.record import Json
from skillweave.schema.task import Persona
from skillweave.world.replay import result_reference
from synth.contracts.visibility import subject_entity
from synth.contracts.wording import (
    identifying_sentence,
    name_in_words,
    short_table_name,
    short_tool_name,
    value_in_words,
    value_type,
)


def request_of(
    blueprint: Blueprint, template: TaskTemplate, combination: Combination, persona: Persona, random: Random
) -> UserRequest:
    """What an author is given to tell the task.

    Args:
        random: Chooses among forms of words and reasons. The order of its draws is part of what a task says.

    Returns:
        The intents, each with the rows and values that it is about, and all that the user knows, each fact once.
    """
    facts = _FactCollector(blueprint, combination, random)
    intents = [_write_intent(template, combination, facts, place) for place in range(len(template.calls))]
    intents = [intent for intent in intents if blueprint.tool(intent.tool).kind == "write"]
    intents += _question_intents(template, combination, facts, random)
    for parameter, value in combination.credentials.items():
        facts.add(f"me.{parameter}", value, f"me: {name_in_words(parameter)}", secret=True)
    # What only a look-up needs (a day to search from) is known too, unless a row's own words say it already.
    for row in combination.rows:
        facts.row(row)
    for mentioned in combination.values:
        facts.value(mentioned)
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
    )


class _FactCollector:
    """Collects what the user knows, each fact once, and gives it an id and words."""

    def __init__(self, blueprint: Blueprint, combination: Combination, random: Random) -> None:
        self._blueprint = blueprint
        self._combination = combination
        self._random = random
        self._facts: dict[str, KnownFact] = {}
        self._row_names: dict[tuple[str, str], str] = {}
        self._row_values = [value for row in combination.rows for value in row.columns.values()]

    @property
    def all(self) -> list[KnownFact]:
        return list(self._facts.values())

    def add(self, name: str, value: Json, about: str, *, unit: str | None = None, secret: bool = False) -> str:
        """Add a fact under an id that is its name; the first value of a name stays."""
        if name not in self._facts:
            kind = value_type(value)
            words = value_in_words(value, kind, unit, self._combination.now, self._random, is_birth="birth" in name)
            says = ""
            if secret:
                words = str(value) if kind == "string" else words
                own = Random(f"{self._combination.id}/{name}")
                says = identifying_sentence(name.partition(".")[2], words, own)
            self._facts[name] = KnownFact(
                id=name, value=value, words=words, type=kind, about=about, secret=secret, says=says
            )
        return name

    def row(self, row: MentionedRow) -> KnownRow:
        """Add all words for a row."""
        entity = row.entity or self._entity_of(row.read)
        name = self._row_name(entity, row.key or str(sorted(row.columns.items(), key=str)))
        columns = {
            column: self.add(
                f"{name}.{column}",
                value,
                f"{name_in_words(name)}: {name_in_words(column)}",
                unit="cents" if column.endswith("_cents") else None,
            )
            for column, value in row.columns.items()
        }
        return KnownRow(entity=entity, columns=columns)

    def value(self, mentioned: MentionedValue) -> str | None:
        """Add a value that is said as it is.

        Returns:
            Its id; None if a row's words say it already, or if the user wants nothing there.
        """
        tool = self._blueprint.tool(self._combination.calls[mentioned.call].tool)
        is_in_row = any(str(value)[:10] == mentioned.value for value in self._row_values) and tool.kind == "read"
        if mentioned.value is None or is_in_row:
            return None
        short_name = short_tool_name(self._blueprint, tool.name)
        name = f"{short_name}.{mentioned.parameter}"
        if self._facts.get(name) and self._facts[name].value != mentioned.value:
            name = f"{name}_{mentioned.call}"
        unit = "cents" if mentioned.parameter.endswith("_cents") else None
        about = f"{name_in_words(short_name)}: {name_in_words(mentioned.parameter)}"
        return self.add(name, mentioned.value, about, unit=unit)

    def choice(self, phrases: Sequence[str]) -> str:
        return self._random.choice(phrases)

    def is_read(self, tool: str) -> bool:
        return self._blueprint.tool(tool).kind == "read"

    def references(self, tool: str) -> dict[str, str]:
        """Parameter of a tool -> `Entity.attribute` that it names a row by."""
        return {one.name: one.refers_to for one in self._blueprint.tool(tool).parameters if one.refers_to}

    def _row_name(self, entity: str, key: str) -> str:
        """`appointment`, and `appointment_2` for a second one."""
        if (entity, key) not in self._row_names:
            table = short_table_name(self._blueprint, entity)
            number = sum(short_table_name(self._blueprint, other) == table for other, _ in self._row_names) + 1
            self._row_names[entity, key] = table if number == 1 else f"{table}_{number}"
        return self._row_names[entity, key]

    def _entity_of(self, read: str) -> str:
        return subject_entity(self._blueprint, self._blueprint.tool(read)) or self._blueprint.core_entity


def _write_intent(template: TaskTemplate, combination: Combination, facts: _FactCollector, place: int) -> Intent:
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
    return Intent(
        tool=call.tool,
        kind="do",
        rows=rows,
        values=values,
        linked=linked,
        unwanted=unwanted,
        ask=facts.choice(call.ask) if call.ask else "",
        only_if_needed=call.demanded_by is not None,
    )


def _call_rows(
    combination: Combination, facts: _FactCollector, step: int, earlier: Sequence[int]
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
    template: TaskTemplate, combination: Combination, facts: _FactCollector, random: Random
) -> list[Intent]:
    """The intents of what the user wants to hear: one for each value, with the row that it is asked of."""
    intents = []
    for wanted in template.tell:
        tool, step = template.calls[wanted.call - 1].tool, combination.steps[wanted.call - 1]
        subjects = [row for row in combination.rows if row.call == step and row.parameter is None]
        subject = {"row": facts.row(subjects[0])} if subjects else {}
        named = {row.parameter: facts.row(row) for row in combination.rows if row.call == step and row.parameter}
        given = [value for value in combination.values if value.call == step and facts.is_read(tool)]
        values = {value.parameter: name for value in given if (name := facts.value(value))}
        rows = {**named, **subject}
        intents.append(Intent(tool=tool, kind="hear", rows=rows, values=values, ask=random.choice(wanted.ask)))
    return intents


def _withheld_ids(combination: Combination, facts: _FactCollector, omitted: OmittedSlot) -> Iterator[str]:
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


def _revealing_ids(intents: Sequence[Intent], facts: _FactCollector, withheld: set[str]) -> set[str]:
    """Ids of what only a look-up needs, and what would give away what is withheld: the treatment of the very visit."""
    wanted = {name for intent in intents for name in _fact_ids(intent)}
    values = [fact.value for fact in facts.all if fact.id in withheld]
    return {fact.id for fact in facts.all if fact.id not in wanted and not fact.secret and fact.value in values}


def _volunteered_ids(intent: Intent, blueprint: Blueprint) -> Iterator[str]:
    """Ids of what goes into the optional arguments of what is asked for."""
    if intent.kind == "do" and not intent.only_if_needed:
        optional = {one.name for one in blueprint.tool(intent.tool).parameters if not one.required}
        yield from (intent.values[name] for name in intent.values if name in optional)
        yield from (fact for name, row in intent.rows.items() if name in optional for fact in row.columns.values())


def _fact_ids(intent: Intent) -> Iterator[str]:
    yield from intent.values.values()
    for row in intent.rows.values():
        yield from row.columns.values()

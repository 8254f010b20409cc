"""The request behind a task: what the person wants and knows, before anybody puts it into words."""

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
    UserRequest,
)
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import Persona
from skillweave.schema.template import OmittedSlot, TaskTemplate
from skillweave.world.replay import result_reference
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
    """What an author is given to tell the task."""
    known = _KnowledgeCollector(blueprint, combination, random)
    wishes = [_wish(template, combination, known, place) for place in range(len(template.calls))]
    wishes = [wish for wish in wishes if blueprint.tool(wish.tool).kind == "write"]
    wishes += _hearings(template, combination, known, random)
    for parameter, value in combination.credentials.items():
        known.add(f"me.{parameter}", value, f"me: {name_in_words(parameter)}", secret=True)
    # What only a look-up needs (a day to search from) is known too, unless a row's own words say it already.
    for row in combination.rows:
        known.row(row)
    for said in combination.values:
        known.value(said)
    withheld = {name for one in combination.withheld for name in _left_out(combination, known, one)}
    withheld |= _looked_up_alike(wishes, known, withheld)
    volunteered = {name for wish in wishes for name in _volunteered(wish, known)} - withheld
    return UserRequest(
        title=template.title,
        company=blueprint.title,
        persona=persona,
        reason=random.choice(template.reasons),
        wishes=wishes,
        known=[
            thing.model_copy(update={"withheld": thing.id in withheld, "volunteered": thing.id in volunteered})
            for thing in known.things
        ],
    )


class _KnowledgeCollector:
    """Collects what the person knows, each thing once."""

    def __init__(self, blueprint: Blueprint, combination: Combination, random: Random) -> None:
        self._blueprint = blueprint
        self._combination = combination
        self._random = random
        self._ids: dict[str, KnownFact] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._said = [value for row in combination.rows for value in row.columns.values()]

    def choice(self, ways: Sequence[str]) -> str:
        return self._random.choice(ways)

    def tool(self, name: str) -> Tool:
        return self._blueprint.tool(name)

    @property
    def things(self) -> list[KnownFact]:
        return list(self._ids.values())

    def add(self, name: str, value: Json, about: str, *, unit: str | None = None, secret: bool = False) -> str:
        if name not in self._ids:
            kind = value_type(value)
            words = value_in_words(value, kind, unit, self._combination.now, self._random, is_birth="birth" in name)
            says = ""
            if secret:
                words = str(value) if kind == "string" else words
                says = identifying_sentence(name.partition(".")[2], words, Random(f"{self._combination.id}/{name}"))
            self._ids[name] = KnownFact(
                id=name, value=value, words=words, type=kind, about=about, secret=secret, says=says
            )
        return name

    def row(self, row: MentionedRow) -> KnownRow:
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

    def value(self, said: MentionedValue) -> str | None:
        """The id of a value said as it is; None where a row's words say it already, or nothing is wanted."""
        tool = self._blueprint.tool(self._combination.calls[said.call].tool)
        covered = any(str(value)[:10] == said.value for value in self._said) and tool.kind == "read"
        if said.value is None or covered:
            return None
        word = short_tool_name(self._blueprint, tool.name)
        name = f"{word}.{said.parameter}"
        if self._ids.get(name) and self._ids[name].value != said.value:
            name = f"{name}_{said.call}"
        unit = "cents" if said.parameter.endswith("_cents") else None
        return self.add(name, said.value, f"{name_in_words(word)}: {name_in_words(said.parameter)}", unit=unit)

    def _row_name(self, entity: str, key: str) -> str:
        """`appointment`, and `appointment_2` for a second one."""
        if (entity, key) not in self._names:
            table = short_table_name(self._blueprint, entity)
            number = sum(short_table_name(self._blueprint, found) == table for found, _ in self._names) + 1
            self._names[entity, key] = table if number == 1 else f"{table}_{number}"
        return self._names[entity, key]

    def _entity_of(self, read: str) -> str:
        from synth.contracts.visibility import subject_entity

        return subject_entity(self._blueprint, self._blueprint.tool(read)) or self._blueprint.core_entity


def _left_out(combination: Combination, known: _KnowledgeCollector, withheld: OmittedSlot) -> Iterator[str]:
    """Ids of what is said only when asked for: all words for the row, days to look for it by, or the value itself."""
    place = (withheld.call, withheld.parameter)
    rows = {(row.entity, row.key) for row in combination.rows if (row.call, row.parameter) == place}
    for row in combination.rows:
        if (row.entity, row.key) in rows:
            yield from known.row(row).columns.values()
    source = result_reference(combination.golden[withheld.call].grounding.get(withheld.parameter, ""))
    for said in combination.values:
        is_day = source is not None and said.call == source.call and value_type(said.value) in ("date", "datetime")
        if (said.call, said.parameter) == place or is_day:
            yield from (name for name in [known.value(said)] if name)


def _looked_up_alike(wishes: Sequence[Intent], known: _KnowledgeCollector, withheld: set[str]) -> set[str]:
    """What only a look-up needs, and would give away what is left out: the treatment of the very visit."""
    asked = {name for wish in wishes for name in _things_of(wish)}
    values = [thing.value for thing in known.things if thing.id in withheld]
    return {thing.id for thing in known.things if thing.id not in asked and not thing.secret and thing.value in values}


def _volunteered(wish: Intent, known: _KnowledgeCollector) -> Iterator[str]:
    """What goes into the optional arguments of what is asked for."""
    if wish.kind == "do" and not wish.only_if_needed:
        optional = {parameter.name for parameter in known.tool(wish.tool).parameters if not parameter.required}
        yield from (wish.values[name] for name in wish.values if name in optional)
        yield from (thing for name, row in wish.rows.items() if name in optional for thing in row.columns.values())


def _things_of(wish: Intent) -> Iterator[str]:
    yield from wish.values.values()
    for row in wish.rows.values():
        yield from row.columns.values()


def _wish(template: TaskTemplate, combination: Combination, known: _KnowledgeCollector, place: int) -> Intent:
    step = combination.steps[place]
    values: dict[str, str] = {}
    unwanted: list[str] = []
    for said in combination.values:
        if said.call == step:
            name = known.value(said)
            if name is None:
                unwanted.append(said.parameter)
            else:
                values[said.parameter] = name
    call = template.calls[place]
    asked = [combination.steps[n] for n, one in enumerate(template.calls[:place]) if one.demanded_by is None]
    rows = _rows(combination, known, step, asked)
    references = {p.name: p.refers_to for p in known.tool(call.tool).parameters if p.refers_to and p.name in call.same}
    linked = {name: entity.partition(".")[0] for name, entity in references.items() if name not in rows}
    return Intent(
        tool=call.tool,
        kind="do",
        rows=rows,
        values=values,
        linked=linked,
        unwanted=unwanted,
        ask=known.choice(call.ask) if call.ask else "",
        only_if_needed=call.demanded_by is not None,
    )


def _rows(combination: Combination, known: _KnowledgeCollector, step: int, asked: Sequence[int]) -> dict[str, KnownRow]:
    """The rows that a call is about, each once: by the argument that names it, else by one that is taken from it.

    What is only taken from a row that one of the calls before has named needs no words.
    """
    arguments = combination.calls[step].arguments
    named = {(row.entity, row.key) for row in combination.rows if row.call in asked and row.parameter}
    found: dict[tuple[str | None, str | None], MentionedRow] = {}
    for row in combination.rows:
        if row.call == step and row.parameter:
            place, is_name = (row.entity, row.key), arguments[row.parameter] == row.key
            if is_name or (place not in found and place not in named):
                found[place] = row
    return {row.parameter: known.row(row) for row in found.values() if row.parameter}


def _hearings(
    template: TaskTemplate, combination: Combination, known: _KnowledgeCollector, random: Random
) -> list[Intent]:
    found = []
    for told in template.tell:
        step = combination.steps[told.call - 1]
        subjects = [row for row in combination.rows if row.call == step and row.parameter is None]
        abouts = [{"row": known.row(row)} for row in subjects] or [{}]
        is_read = known.tool(template.calls[told.call - 1].tool).kind == "read"
        named = {row.parameter: known.row(row) for row in combination.rows if row.call == step and row.parameter}
        given = [said for said in combination.values if said.call == step and is_read]
        values = {said.parameter: name for said in given if (name := known.value(said))}
        tool = template.calls[told.call - 1].tool
        found += [
            Intent(tool=tool, kind="hear", rows={**named, **about}, values=values, ask=random.choice(told.ask))
            for about in abouts
        ]
    return found

"""What a user knows: each fact once, with an id and the words in which people say its value."""

from collections.abc import Mapping, Sequence
from datetime import date
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import CallTerms, Combination, Condition, MentionedRow, MentionedValue, RowSet
from skillweave.schema.record import Json
from skillweave.schema.request import KnownFact, KnownRow, KnownRows
from skillweave.schema.task import unit_of
from skillweave.schema.template import TaskTemplate
from skillweave.world.replay import result_reference
from synth.contracts.visibility import subject_entity
from synth.contracts.wording import (
    identifying_sentence,
    month_in_words,
    name_in_words,
    short_table_name,
    short_tool_name,
    value_in_words,
    value_type,
)

MONTH_FIRST_SHARE = 0.3
"""How many people say `January 24`; all others say `24 January`. Each says all days alike."""


class FactCollector:
    """Collects what the user knows, each fact once, and gives it an id and words."""

    def __init__(self, blueprint: Blueprint, template: TaskTemplate, combination: Combination, random: Random) -> None:
        self._blueprint = blueprint
        self._combination = combination
        self._random = random
        self._month_first = random.random() < MONTH_FIRST_SHARE
        self._facts: dict[str, KnownFact] = {}
        self._rows = combination.rows
        self._row_names: dict[tuple[str, str], str] = {}
        self._said_of: dict[tuple[str, str], str] = {}
        row_values = [value for row in combination.rows for value in row.columns.values()]
        said = [*row_values, *(value.value for value in combination.values)]
        self._days = {date.fromisoformat(str(one)[:10]) for one in said if value_type(one) in ("date", "datetime")}
        self._sets = {
            (template.calls[terms.call].tool, terms.every.entity) for terms in combination.terms if terms.every
        }

    @property
    def all(self) -> list[KnownFact]:
        """The facts, in the order in which they were added."""
        return list(self._facts.values())

    def add(self, name: str, value: Json, about: str, *, secret: bool = False) -> str:
        """Add a fact under an id that is its name; the first value of a name stays."""
        if name not in self._facts:
            kind, unit = value_type(value), unit_of(name)
            words = value_in_words(
                value,
                kind,
                unit,
                self._combination.now,
                self._random,
                is_birth="birth" in name,
                others=self._days,
                month_first=self._month_first,
            )
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
        """Add all words for a row. A row that is meant together with others has none of its own."""
        entity = row.entity or subject_entity(self._blueprint, self._blueprint.tool(row.read))
        entity = entity or self._blueprint.core_entity
        if (self._combination.calls[row.call].tool, entity) in self._sets:
            return KnownRow(entity=entity, columns={})
        return self._known_row(entity, row.key, row.columns)

    def rows(self, meant: RowSet) -> KnownRows:
        """Add all words for rows that are meant together."""
        name = f"every_{short_table_name(self._blueprint, meant.entity)}"
        columns = {
            column: self._own(name, column, value, f"{name_in_words(name)}: {name_in_words(column)}")
            for column, value in meant.columns.items()
        }
        return KnownRows(
            entity=meant.entity,
            columns=columns,
            month=self._month(name, meant.month) if meant.month else None,
            since=meant.since,
            ahead=(meant.month or "") > self._combination.now[:7],
            day_column=meant.day_column,
            excepted=[self._known_row(meant.entity, None, row) for row in meant.excepted],
            first=meant.first,
            budget=self._own("budget", meant.budget_column, meant.budget, f"{name_in_words(name)}: limit in all")
            if meant.budget is not None and meant.budget_column
            else None,
            budget_column=meant.budget_column,
        )

    def limit(self, condition: Condition) -> str:
        """Add the limit on which a wish depends."""
        return self._own("condition", condition.column, condition.limit, f"condition: {condition.noun}")

    def belief(self, column: str, noun: str, value: Json) -> str:
        """Add what the user takes a value to be."""
        return self._own("believed", column, value, f"believed: {noun}")

    def value(self, mentioned: MentionedValue) -> str | None:
        """Add a value that is said as it is.

        Returns:
            Its id; None if a row's words say it already, or if the user wants nothing there.
        """
        tool = self._blueprint.tool(self._combination.calls[mentioned.call].tool)
        shown = self._shown_by(mentioned.call) if tool.kind == "read" else []
        said = [value for row in shown for value in row.columns.values()]
        if mentioned.value is None or any(str(value)[:10] == mentioned.value for value in said):
            return None
        short_name = short_tool_name(self._blueprint, tool.name)
        name = f"{short_name}.{mentioned.parameter}"
        if shown and len(self._searched_for(mentioned)) > 1:
            row = next(iter(self.row(shown[0]).columns.values()), "").partition(".")[0]
            name = f"{short_name}_for_{row}.{mentioned.parameter}" if row else name
        if self._facts.get(name) and self._facts[name].value != mentioned.value:
            name = f"{name}_{mentioned.call}"
        return self.add(name, mentioned.value, f"{name_in_words(short_name)}: {name_in_words(mentioned.parameter)}")

    def _shown_by(self, place: int) -> list[MentionedRow]:
        """The rows that arguments take from the result of a golden call."""
        calls = self._combination.calls
        sources = (
            (row, result_reference(calls[row.call].grounding.get(row.parameter or "", ""))) for row in self._rows
        )
        return [row for row, source in sources if source is not None and source.call == place]

    def _searched_for(self, mentioned: MentionedValue) -> set[str]:
        """The values that are said for a parameter of a read, over all its calls."""
        tool = self._combination.calls[mentioned.call].tool
        return {
            str(one.value)
            for one in self._combination.values
            if one.parameter == mentioned.parameter and self._combination.calls[one.call].tool == tool
        }

    def choice(self, phrases: Sequence[str]) -> str:
        """One of these phrases."""
        return self._random.choice(phrases)

    def is_read(self, tool: str) -> bool:
        """Whether a tool changes nothing."""
        return self._blueprint.tool(tool).kind == "read"

    def references(self, tool: str) -> dict[str, str]:
        """Parameter of a tool -> `Entity.attribute` that it names a row by."""
        return {one.name: one.refers_to for one in self._blueprint.tool(tool).parameters if one.refers_to}

    def _known_row(self, entity: str, key: str | None, columns: Mapping[str, Json]) -> KnownRow:
        said = str(sorted(columns.items(), key=str))
        name = self._row_name(entity, key or self._said_of.get((entity, said), said))
        self._said_of.setdefault((entity, said), key or said)
        facts = {
            column: self.add(f"{name}.{column}", value, f"{name_in_words(name)}: {name_in_words(column)}")
            for column, value in columns.items()
        }
        return KnownRow(entity=entity, columns=facts)

    def _row_name(self, entity: str, key: str) -> str:
        """`appointment`, and `appointment_2` for a second one.

        A row without a key is the one of which the same is said.
        """
        if (entity, key) not in self._row_names:
            table = short_table_name(self._blueprint, entity)
            number = sum(short_table_name(self._blueprint, other) == table for other, _ in self._row_names) + 1
            self._row_names[entity, key] = table if number == 1 else f"{table}_{number}"
        return self._row_names[entity, key]

    def _own(self, owner: str, column: str, value: Json, about: str) -> str:
        """Add a value of its own: `condition.price_cents`, and `condition_2.price_cents` for another limit."""
        name, number = f"{owner}.{column}", 1
        while name in self._facts and self._facts[name].value != value:
            number += 1
            name = f"{owner}_{number}.{column}"
        return self.add(name, value, about)

    def _month(self, owner: str, month: str) -> str:
        """Add a month by its first day."""
        value = f"{month}-01"
        name = self._own(owner, "month", value, f"{name_in_words(owner)}: month")
        words = month_in_words(date.fromisoformat(value), self._combination.now)
        self._facts[name] = self._facts[name].model_copy(update={"words": words, "type": "string"})
        return name


NO_TERMS = CallTerms(call=0)
"""The terms of a call that the user wants at once, in any case, and of the very rows that they name."""


def terms_for(combination: Combination, place: int) -> CallTerms:
    """The terms on which the user wants one of the template's calls."""
    return next((terms for terms in combination.terms if terms.call == place), NO_TERMS)

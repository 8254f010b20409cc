"""Telling what a user knows: each fact as a sentence."""

import re
from dataclasses import dataclass
from random import Random

from skillweave.schema.record import table_of
from skillweave.schema.request import KnownFact, KnownRow, KnownRows, UserRequest
from synth.contracts.wording import VALUE_PLACEHOLDER
from synth.offline.forms import forms, is_moment_name, one_of_them, rows_together, thing_of
from synth.offline.phrasing import PLACE, joined, name_of_row
from synth.offline.services import Talk
from synth.offline.wording import CompanyWords, action, phrases, sentence, tidy

_COMPANY = re.compile(r" (?:for )?\{company\}")


@dataclass
class FactTeller:
    """Tells the facts of one task."""

    request: UserRequest
    talk: Talk
    random: Random
    companies: CompanyWords
    words: dict[str, str]
    """Id of a fact -> the words for its value."""

    def tell(self, fact: KnownFact) -> str:
        """The sentence for a fact. A placeholder stands for the value of a fact that the request leaves out."""
        words, text = self.words[fact.id], self._sentence(fact)
        if not fact.withheld:
            return text
        return (
            text.replace(words, VALUE_PLACEHOLDER, 1)
            if words in text
            else f"{fact.about.capitalize()}: {VALUE_PLACEHOLDER}."
        )

    def _sentence(self, fact: KnownFact) -> str:
        words = self.words[fact.id]
        for intent in self.request.wishes:
            if intent.every and (text := self._of_set(intent.every, fact)):
                return text
            for row in intent.rows.values():
                if fact.id in row.columns.values():
                    return tidy(sentence(self.talk, row, fact, words, self.random))
        owner, _, column = fact.id.partition(".")
        ways: dict[str, str] = forms()["known"]
        if (way := ways.get(re.sub(r"_\d+$", "", owner))) is not None:
            noun = fact.about.partition(": ")[2]
            return way.format(noun="day" if is_moment_name(noun) else thing_of(noun), words=words)
        for entity, own in self.talk.entities.items():
            if table_of(entity) == re.sub(r"_\d+$", "", owner) and column in own.qualifiers:
                row = KnownRow(entity=entity, columns={column: fact.id})
                return tidy(sentence(self.talk, row, fact, words, self.random))
        text = tidy(self._stated(fact, words))
        if (searched := self._searched_for(owner)) is not None:
            start = text if text.startswith("I ") else text[0].lower() + text[1:]
            return f"As to {searched}: {start}"
        if self.companies.titles or not self._has_namesake(fact):
            return text
        start = text if text.startswith("I ") else text[0].lower() + text[1:]
        return f"To {action(fact.about.partition(': ')[0])}: {start}"

    def _searched_for(self, owner: str) -> str | None:
        """Words for the row that a search is for, if the ids of its facts say so: there are several such searches."""
        name = owner.partition("_for_")[2]
        rows = [row for intent in self.request.wishes for row in intent.rows.values()]
        row = next((row for row in rows if name and name_of_row(row) == name), None)
        return one_of_them(self.talk, row, self.words, self.random) if row else None

    def _has_namesake(self, fact: KnownFact) -> bool:
        """Whether another request takes another value of the same name: two reasons, two dates."""
        owner, _, name = fact.id.partition(".")
        plain = re.sub(r"_\d+$", "", name)
        others = (one.id.partition(".") for one in self.request.known if one.value != fact.value)
        return any(other != owner and re.sub(r"_\d+$", "", theirs) == plain for other, _, theirs in others)

    def _of_set(self, rows: KnownRows, fact: KnownFact) -> str | None:
        """A sentence for a fact that says which rows are meant together; None if it does not."""
        words = self.words
        if fact.id == rows.month:
            return str(forms()["known"]["since" if rows.since else "month"]).format(words=words[fact.id])
        shared = {column: name for column, name in rows.columns.items() if name == fact.id}
        if shared:
            alone = KnownRows(entity=rows.entity, columns=shared)
            return f"I mean {rows_together(self.talk, alone, words, self.random)}."
        for row in rows.excepted:
            said = {column: name for column, name in row.columns.items() if name == fact.id}
            if said:
                alone_left = row.model_copy(update={"columns": said})
                return f"Leave out {one_of_them(self.talk, alone_left, words, self.random)}."
        return None

    def _stated(self, fact: KnownFact, words: str) -> str:
        """A value as a sentence of its own, with the company that it is for."""
        parameter = re.sub(r"_\d+$", "", fact.id.partition(".")[2])
        ways = phrases("telling")["stated"]
        way = self.random.choice(ways.get(parameter, ways["other"]))
        if not self.companies.titles:
            way = _COMPANY.sub("", way)
        company, name = self.companies.title_of(fact, self.request) or "them", fact.about.partition(": ")[2]
        way = way.format(company=company, name=name, words="{words}")
        return PLACE.sub(lambda slot: joined(slot["before"] or "", words), way)

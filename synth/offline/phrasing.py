"""Verb phrases and noun clauses for what a user wants, and the words for rows and values in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from skillweave.schema.request import Intent, KnownFact, KnownRow, UserRequest
from synth.contracts.wording import name_in_words
from synth.offline.forms import difference_asked, first_of_kind, foreseen_asked, rows_together, sum_asked, up_to
from synth.offline.services import Talk, ToolTalk
from synth.offline.wording import CompanyWords, named, refer, talk_of, tidy, with_article
from synth.tasks.requests import set_facts

_ENUM = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SLOT = re.compile(r"\{(\w+)\}")
PLACE = re.compile(r"(?P<before>\b(?:an? |(?:(?:by|from|on|with) )?(?:my )?))?\{(?P<name>\w+)\}")
"""A slot, with the words before it that depend on what it holds."""
_ADVERB = re.compile(r"(?:by|from|on|with) (?:my )?")
TERSE = frozenset({"brief", "hurried", "hesitant"})
"""Styles of people who leave out even which of their things they mean, and why."""
ENOUGH_OPENINGS = 3
"""Openings that fit from which people draw each time that they can; where fewer fit, as much more seldom."""
SHORT_SHARE = {"formal": 0.85, "precise": 0.7}
"""Style -> how often such people at first leave out details that an agent can ask for."""
MOST_SHORT = 0.95
"""How often all others do."""
SAID_ANYWAY = 0.1
"""How often one of these details is said all the same."""


@dataclass
class Phrasing:
    """Puts what is wanted into phrases, and notes which facts they mention."""

    request: UserRequest
    talk: Talk
    random: Random
    companies: CompanyWords = field(default_factory=CompanyWords)
    mentioned: set[str] = field(default_factory=set)
    """Ids of the facts that were mentioned."""
    is_full: bool = False
    """Whether all details are said, whatever the person's style."""

    @property
    def _is_terse(self) -> bool:
        """Whether even the words for the user's own things are left out."""
        return self.request.persona.style in TERSE and not self.is_full

    def _is_short(self, intent: Intent) -> bool:
        """Whether a request leaves out details that an agent can ask for."""
        share = SHORT_SHARE.get(self.request.persona.style, MOST_SHORT)
        return not self.is_full and self.random.random() < share

    @property
    def words(self) -> dict[str, str]:
        """Id of a fact -> the words for its value."""
        return {fact.id: self._value_words(fact) for fact in self.request.known}

    def _value_words(self, fact: KnownFact) -> str:
        """The words for a fact's value. Enum values get the catalogue's words, or lose their underscores."""
        if not isinstance(fact.value, str) or not _ENUM.fullmatch(fact.value):
            return fact.words
        own = self.companies.word(fact.value, fact, self.request)
        return own or self.talk.values.get(fact.value, fact.words.replace("_", " "))

    @property
    def _left_out(self) -> set[str]:
        """Ids of the facts that the request leaves out."""
        return {fact.id for fact in self.request.known if fact.withheld}

    def _unmentioned(self, intent: Intent) -> list[str]:
        """Parameters of an intent that the user mentions only when asked."""
        said = {name: set(row.columns.values()) for name, row in intent.rows.items() if row.columns}
        rows = [name for name, facts in said.items() if facts <= self._left_out]
        return [*rows, *(name for name, fact in intent.values.items() if fact in self._left_out)]

    def phrase(self, intent: Intent) -> str:
        """A verb phrase for what is to be done, or a noun clause for what is to be told."""
        own = self.talk.tools.get(intent.tool)
        if intent.kind == "hear":
            return self._question(intent)
        if intent.ask:
            return self._story_phrase(intent)
        unmentioned = self._unmentioned(intent)
        whole = self._whole_ways(own, intent, unmentioned) if own else []
        gists = self._leaving_out(own, own.gist, intent) if own and whole and self._is_short(intent) else []
        # What depends on `the prescription` speaks of one.
        decides = f"{{{intent.condition.parameter}}}" if intent.condition else ""
        gists = [way for way in gists if decides in way or decides not in " ".join(whole)]
        asks = gists or whole or (fitting(without(own.settled, intent, unmentioned), intent) if own else [])
        phrase = self.random.choice(asks) if asks else self.companies.tool(intent.tool)
        missing = self._volunteered(intent, self._missing(intent, phrase), is_short=bool(gists))
        clauses = self._clauses(intent, missing)
        clauses += [
            f"with the same {self._noun(intent, name)}" for name in intent.linked if f"{{{name}}}" not in phrase
        ]
        end = up_to(self.talk, intent.every, self.words, self.random) if intent.every else ""
        return self._filled(" ".join([phrase, *clauses]), intent) + end

    def opening(self, intent: Intent) -> str | None:
        """The words in which a person of this style begins, and leaves out details; None if there are none that fit."""
        own = self.talk.tools.get(intent.tool)
        style, unmentioned = self.request.persona.style, self._unmentioned(intent)
        if own is None or intent.ask or intent.every or not self._whole_ways(own, intent, unmentioned):
            return None
        ways = self._leaving_out(own, own.opens.get(style, []), intent, with_clauses=False)
        # Nobody begins with `a kind of room`.
        vague = {f"{{{name}}}" for name in unmentioned if name in intent.rows and not self._is_mine(intent, name)}
        ways = [way for way in ways if not any(slot in way for slot in vague)]
        # Where few fit, most people find words of their own.
        if self.random.random() * ENOUGH_OPENINGS > len(ways):
            return None
        return self._filled(self.random.choice(ways), intent) if ways else None

    def _whole_ways(self, own: ToolTalk, intent: Intent, unmentioned: Sequence[str]) -> list[str]:
        """Verb phrases that say all that is to be said."""
        return fitting(ways_of(own, intent, unmentioned), intent)

    def _leaving_out(
        self, own: ToolTalk, ways: Sequence[str], intent: Intent, *, with_clauses: bool = True
    ) -> list[str]:
        """The ways that leave out only what an agent can ask for: nobody asks for what is optional, or meant as before.

        Args:
            with_clauses: Whether clauses can follow for what nobody would ask for.
        """

        def leaves_too_much(way: str) -> bool:
            needed = [name for name in self._missing(intent, way) if self._is_volunteered(intent, name)]
            said = own.parameters if with_clauses else ()
            return any(name not in said for name in needed) or any(f"{{{name}}}" not in way for name in intent.linked)

        kept = fitting(without(ways, intent, self._unmentioned(intent)), intent)
        return [way for way in kept if not leaves_too_much(way)]

    def _missing(self, intent: Intent, phrase: str) -> list[str]:
        """The rows and values that a phrase leaves out, of those that are mentioned."""
        unmentioned = self._unmentioned(intent)
        names = [*intent.rows, *intent.values]
        return [name for name in names if f"{{{name}}}" not in phrase and name not in unmentioned]

    def _question(self, intent: Intent) -> str:
        if intent.foreseen:
            return foreseen_asked(self.phrase(intent.model_copy(update={"kind": "do"})), intent, self.random)
        if intent.every:
            self.mentioned |= {*set_facts(intent.every)}
            return sum_asked(self.talk, intent, self.words, self.random)
        if intent.compared:
            return self._filled(difference_asked(intent.noun, self.random), intent)
        spoken = [name for name in intent.values if f"{{{name}}}" not in intent.ask]
        return self._filled(" ".join([intent.ask, *self._clauses(intent, spoken)]), intent)

    def _story_phrase(self, intent: Intent) -> str:
        """An intent in its story's words, with missing parameters added if the catalogue has words for them."""
        own = self.talk.tools.get(intent.tool)
        missing = self._volunteered(intent, self._missing(intent, intent.ask), is_short=self._is_short(intent))
        clauses = self._clauses(intent, [name for name in missing if own and name in own.parameters])
        return self._filled(" ".join([intent.ask, *clauses]), intent)

    def _volunteered(self, intent: Intent, missing: Sequence[str], *, is_short: bool) -> list[str]:
        """The parameters to add to a verb phrase that leaves them out; often only those that nobody would ask for."""
        if not is_short:
            return [*missing]
        own = self.talk.tools.get(intent.tool)
        return [
            name
            for name in missing
            if self._is_volunteered(intent, name)
            or (own and name in own.parameters and self.random.random() < SAID_ANYWAY)
        ]

    def _is_volunteered(self, intent: Intent, name: str) -> bool:
        row = intent.rows.get(name)
        if row and not row.columns:
            return True
        facts = {*row.columns.values()} if row else {intent.values.get(name, "")}
        return any(fact.volunteered for fact in self.request.known if fact.id in facts)

    def _clauses(self, intent: Intent, names: Sequence[str]) -> list[str]:
        """Clauses for parameters, to follow a verb phrase. The last one is for those without words in the catalogue."""
        own = self.talk.tools.get(intent.tool)
        ways = {name: own.parameters.get(name, []) if own else [] for name in names}
        clauses = [self.random.choice(ways[name]).replace("{value}", f"{{{name}}}") for name in names if ways[name]]
        bare = [named(name, f"{{{name}}}") for name in names if not ways[name] and name in intent.values]
        if bare:
            clauses.append(f"with {' and '.join([', '.join(bare[:-1]), bare[-1]] if bare[1:] else bare)}")
        return clauses

    def _is_mine(self, intent: Intent, name: str) -> bool:
        return talk_of(self.talk, intent.rows[name].entity).mine

    def _noun(self, intent: Intent, linked: str) -> str:
        return talk_of(self.talk, intent.linked[linked]).noun

    def _filled(self, phrase: str, intent: Intent) -> str:
        """The phrase with words in the place of its slots."""
        unmentioned = self._unmentioned(intent)

        def words(slot: re.Match[str]) -> str:
            before, name = slot["before"] or "", slot["name"]
            if name in intent.rows:
                row = intent.rows[name]
                if name in unmentioned and not self._is_mine(intent, name):
                    is_new = re.search(r"\bto $", phrase[: slot.start()]) is not None
                    return before + any_row(talk_of(self.talk, row.entity).noun, is_new)
                return joined(before, self.companies.without_title(phrase, row.entity, self._meant(intent, name)))
            if name in intent.linked:
                return f"{before}that {self._noun(intent, name)}"
            if name in intent.values:
                self.mentioned.add(intent.values[name])
                return joined(before, self.words[intent.values[name]])
            return f"{before}that {name_in_words(name)}"

        return tidy(PLACE.sub(words, phrase))

    def _meant(self, intent: Intent, name: str) -> str:
        """Words for the row that a parameter names, or for the rows that are meant together."""
        row = intent.rows[name]
        base = intent.instead_of if intent.replaces is None else intent.replaces
        if (
            base is not None
            and row.columns
            and name_of_row(row) in map(name_of_row, self.request.wishes[base].rows.values())
            and (self._is_mine(intent, name) or intent.later or not self.mentioned.isdisjoint(row.columns.values()))
        ):
            return f"that {talk_of(self.talk, row.entity).noun}"
        if name in intent.best:
            self.mentioned |= {*row.columns.values()}
            return first_of_kind(
                self.talk, self._without_repeats(row, intent, name), intent.best[name], self.words, self.random
            )
        if intent.every and intent.every.entity == row.entity and not row.columns:
            self.mentioned |= {*set_facts(intent.every)}
            return rows_together(self.talk, intent.every, self.words, self.random)
        # Two rows of one kind are told apart by all that is said of each.
        others = [other for other in intent.rows.values() if other.entity != row.entity]
        return self._row_words(row, {fact for other in others for fact in other.columns.values()})

    def _without_repeats(self, row: KnownRow, intent: Intent, name: str) -> KnownRow:
        """A row without the columns that another row of the same wish says, too: the treatment that a slot is for."""
        others = [other for key, other in intent.rows.items() if key != name]
        said = {self.words[fact] for other in others for fact in other.columns.values()}
        return row.model_copy(
            update={"columns": {column: fact for column, fact in row.columns.items() if self.words[fact] not in said}}
        )

    def _row_words(self, row: KnownRow, said: set[str]) -> str:
        """Words for a row.

        Args:
            said: Ids of facts of other rows in the same phrase: what they say is not said again.
        """
        vague = talk_of(self.talk, row.entity).mine and self._is_terse
        known = set(row.columns.values()) - self._left_out
        values = {self.words[fact] for fact in said & self.mentioned}
        repeated = {fact for fact in known if self.words[fact] in values}
        if repeated < known or talk_of(self.talk, row.entity).mine:
            self.mentioned |= repeated
            known -= repeated
        vague = vague and not any(fact.volunteered for fact in self.request.known if fact.id in known)
        vague = vague and not self._has_similar_row(row)
        mentioned = known & self.mentioned or (set() if vague and self.random.random() < 0.5 else known)
        self.mentioned |= mentioned
        return refer(
            self.talk, row, {name: words for name, words in self.words.items() if name in mentioned}, self.random
        )

    def _has_similar_row(self, row: KnownRow) -> bool:
        """Whether the request has another row of this kind: then it takes more words to distinguish the two."""
        rows = [other for intent in self.request.wishes for other in intent.rows.values()]
        return any(other.entity == row.entity and other.columns != row.columns for other in rows)


def name_of_row(row: KnownRow) -> str | None:
    """What the ids of a row's facts have in common; None if nothing is said of it."""
    return next((fact.partition(".")[0] for fact in row.columns.values()), None)


def ways_of(own: ToolTalk, intent: Intent, unmentioned: Sequence[str]) -> list[str]:
    """Verb phrases for an intent that do not mention these parameters, as far as there are any."""
    written = without([way for name in unmentioned for way in own.unsaid.get(name, [])], intent, unmentioned)
    free = [way for way in written if not any(f"{{{name}}}" in way for name in unmentioned)]
    return free or written or without(own.ask, intent, unmentioned)


def fitting(ways: Sequence[str], intent: Intent) -> list[str]:
    """The ways whose slots an intent can fill."""
    available = intent.rows.keys() | intent.values.keys() | intent.linked.keys()
    return [way for way in ways if set(_SLOT.findall(way)) <= available]


def without(ways: Sequence[str], intent: Intent, unmentioned: Sequence[str]) -> list[str]:
    """The ways that use none of these values. A row can be named without saying which."""
    values = {f"{{{name}}}" for name in unmentioned if name in intent.values}
    return [way for way in ways if not any(slot in way for slot in values)]


def any_row(noun: str, is_new: bool) -> str:
    """Any row of a kind: `a slot`; `another slot` if something is changed to it."""
    return f"another {noun}" if is_new else with_article(noun)


def joined(before: str, words: str) -> str:
    """A value after `by ` or `from my `, without repeating such words if the value begins with them (`by card`).

    An article before the value becomes the one that fits.
    """
    if before in ("a ", "an "):
        return with_article(words)
    repeated = _ADVERB.match(words)
    if not before or not repeated:
        return before + words
    return f"{before}{words[repeated.end() :]}" if before == "my " else words

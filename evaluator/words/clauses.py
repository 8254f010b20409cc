"""The clauses of a message that give values of a fact's kind, with what they say and what they name."""

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from evaluator.words.assertions import Said, Sentence
from evaluator.words.binding import belongs_elsewhere, is_choice, places
from evaluator.words.candidates import Candidate, unknown_text
from evaluator.words.corrections import is_correction, is_retraction, may_correct
from evaluator.words.denial import is_denied
from evaluator.words.stems import FILLING, stems
from evaluator.words.wanted import Wanted

_DIGIT = re.compile(r"\d")
_SHOWN = 200
"""Characters of what was not read that are shown."""
_GLUE = re.compile(r"[\W\d_]*(?:(?:and|or|then|at|on|the)\b[\W\d_]*)*", re.IGNORECASE)
_RESPECTIVELY = "respectively"
_LISTED = re.compile(r",|\band\b", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:wrong|mistaken|mistake|error)\s(?:about|with|in|on|regarding)\s([^.,;:]{1,60})", re.IGNORECASE
)
_POINTING = re.compile(
    r"\W*(?:(?:so|and|ok|okay|yes|sorry|actually|well|no|here),?\s+)*(?:it|that|this)\b", re.IGNORECASE
)


class Clause(NamedTuple):
    """A clause that gives values of the kind, or takes back what was said."""

    text: str
    """The sentence it stands in."""
    source: str
    """Its own words."""
    words: frozenset[str]
    """Stems of its words, and of what leads to it."""
    naming: frozenset[str]
    """The words of the noun that it holds or stands under."""
    given: tuple[Candidate, ...]
    foreign: frozenset[str]
    """Words by which it may speak of something else."""
    is_corrected: bool
    """It corrects what stands before it."""
    is_choice: bool
    """The right value is one of several that it offers."""
    takes_back: bool = False
    """It gives no value, and says that one which was given is wrong."""


def unread_clause(text: str) -> Clause:
    """What may be stated where nobody reads any more: nothing right."""
    none = frozenset[str]()
    return Clause(text[:_SHOWN], "", none, none, (), none, is_corrected=False, is_choice=False)


def may_state(look: Wanted, text: str) -> bool:
    """Whether a text holds what a statement of the fact has to hold; quick."""
    if look.has_figures and _DIGIT.search(text):
        return True
    lowered = text.lower()
    return not look.cues or any(cue in lowered for cue in look.cues)


def read_clauses(look: Wanted, found: Sequence[Sentence], today: date | None, *, corrects: bool) -> list[Clause]:
    """The clauses of a message that may state the fact; `corrects`: it may take something back."""
    read: list[Clause] = []
    for place, sentence in enumerate(found):
        text = sentence.text
        if may_state(look, text) or (corrects and may_correct(text)):
            before = found[place - 1].text if place and _POINTING.match(text) else ""
            made = _of_sentence(look, sentence, before, today, corrects=corrects)
            if made and place and corrects and is_correction(found[place - 1].text):
                made[0] = made[0]._replace(is_corrected=True)
            read += made
    return _with_times(look, read, today) if look.has_time else read


def _of_sentence(look: Wanted, sentence: Sentence, before: str, today: date | None, *, corrects: bool) -> list[Clause]:
    text = sentence.text
    head = stems(f"{sentence.head} {before}") if sentence.head or before else frozenset[str]()
    is_corrected = corrects and is_correction(text)
    made: list[Clause] = []
    leading: frozenset[str] = frozenset()
    before_it = ""
    for said in [_whole(sentence)] if _RESPECTIVELY in text else sentence.clauses():
        source = said.asserted
        found = look.read(source, today)
        words = stems(said.words)
        unknown = unknown_text(source) if look.is_text and not found else None
        if unknown and _is_about_it(look, source[: unknown.start], leading, head, is_corrected=is_corrected):
            found, words = [unknown], stems(source[: unknown.start])
        if found:
            clause = _clause(look, text, source, before_it, words | leading, head, found, is_corrected)
            is_next = bool(made) and not clause.naming and _is_bare(source, found)
            made.append(clause._replace(naming=made[-1].naming) if is_next else clause)
        leading = frozenset() if found else leading | words
        before_it = "" if found else f"{before_it}{said.words}, "
    if leading and made:
        made[-1] = _renamed(look, made[-1], leading, head)
    elif not made and corrects and is_retraction(text) and not _is_of_something_else(look, text):
        made.append(Clause(text, text, leading, leading & look.nouns, (), frozenset(), True, False, takes_back=True))
    bare = {one.key for clause in made if sentence.head and not clause.foreign for one in clause.given}
    return [clause._replace(is_choice=True) for clause in made] if len(bare) > 1 else made


def _is_bare(source: str, found: Sequence[Candidate]) -> bool:
    """Whether a clause is nothing but values: one more of what stands before it."""
    ends = [0, *(one.end for one in found)]
    rest = [source[end : one.start] for end, one in zip(ends, found, strict=False)]
    return all(map(_GLUE.fullmatch, [*rest, source[ends[-1] :]]))


def _is_about_it(
    look: Wanted, subject: str, leading: frozenset[str], head: frozenset[str], *, is_corrected: bool
) -> bool:
    """Whether what a clause says is said of the fact and of nothing else."""
    words = stems(subject) | leading
    if words - FILLING - look.nouns - look.names:
        return False
    return bool((words | head) & look.telling) or (is_corrected and _POINTING.match(subject) is not None)


def _clause(
    look: Wanted,
    text: str,
    source: str,
    before: str,
    words: frozenset[str],
    head: frozenset[str],
    found: Sequence[Candidate],
    is_corrected: bool,
) -> Clause:
    """A clause in which values were found; those that it denies or binds to something else are none of its own."""
    if _RESPECTIVELY in source:
        found = _respective(look, source, found)
    denied = [is_denied(look, one, source, words, before) for one in found]
    at = places(found, source, before)
    after_denied = [True, *denied]
    bound = [
        (one, at[place])
        for place, one in enumerate(found)
        if not denied[place] and not belongs_elsewhere(look, one, at[place], source, is_next=not after_denied[place])
    ]
    is_taken_back = all(denied) and any(one.is_right for one in found)
    made = Clause(
        text=text,
        source=source,
        words=frozenset(),
        naming=frozenset(),
        given=tuple(one for one, _ in bound),
        foreign=frozenset(),
        is_corrected=is_corrected,
        is_choice=is_choice(look, bound, source),
        takes_back=is_taken_back,
    )
    return _renamed(look, made, words, head)


def _renamed(look: Wanted, clause: Clause, words: frozenset[str], head: frozenset[str]) -> Clause:
    """The clause with these words too."""
    words |= clause.words
    unknown = words - FILLING - look.nouns - look.names - look.roles.synonyms
    if look.is_text:
        unknown = unknown.difference(*[stems(clause.source[one.start : one.end]) for one in clause.given])
    return clause._replace(
        words=words,
        naming=(words | head) & look.nouns if words & look.nouns else head & look.nouns,
        foreign=frozenset(word for word in unknown if word.isalpha()),
    )


def _whole(sentence: Sentence) -> Said:
    return Said("; ".join(sentence.parts), "; ".join(sentence.parts))


def _respective(look: Wanted, source: str, found: Sequence[Candidate]) -> Sequence[Candidate]:
    """`The fee and the total are 3.00 and 5.00 respectively`: the value in the place of the fact's own noun."""
    named = [stems(part) for part in _LISTED.split(source[: found[0].start]) if part.strip()]
    places = [place for place, words in enumerate(named) if words & look.telling]
    return [found[places[0]]] if len(places) == 1 and len(named) == len(found) else found


def _is_of_something_else(look: Wanted, text: str) -> bool:
    """Whether what was wrong is called by words that are not the fact's: `I was wrong about the opening hours`."""
    about = _ABOUT.search(text)
    if about is None:
        return False
    words = stems(about[1])
    return not words & look.telling and bool(words - FILLING - look.names)


def _with_times(look: Wanted, clauses: Sequence[Clause], today: date | None) -> list[Clause]:
    """The clauses, those that give a day and its time apart as one; a mere part of the right value states nothing."""
    whole: list[Clause] = []
    for clause in clauses:
        if whole and _complete(whole[-1], clause):
            whole[-1] = _joined(look, whole[-1], clause, today)
        else:
            whole.append(clause)
    return [clause for clause in whole if not clause.given or not all(one.is_partial for one in clause.given)]


def _complete(one: Clause, other: Clause) -> bool:
    """Whether one of the two gives days alone, and the other times alone."""
    parts = [{candidate.part for candidate in clause.given} for clause in (one, other)]
    return parts in ([{"day"}, {"time"}], [{"time"}, {"day"}])


def _joined(look: Wanted, one: Clause, other: Clause, today: date | None) -> Clause:
    source = f"{one.source}; {other.source}"
    text = one.text if one.text == other.text else f"{one.text} {other.text}"
    found = look.read(source, today)
    is_corrected = one.is_corrected or other.is_corrected
    made = _clause(look, text, source, "", one.words | other.words, frozenset(), found, is_corrected)
    return made._replace(naming=one.naming | other.naming, foreign=one.foreign | other.foreign)

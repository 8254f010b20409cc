"""The clauses of a message that give values of a fact's kind, with what they say and what they name."""

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from evaluator.words.assertions import Sentence
from evaluator.words.candidates import Candidate, unknown_text
from evaluator.words.denial import is_denied
from evaluator.words.stems import FILLING, stems
from evaluator.words.wanted import CORRECTING, Wanted

_DIGIT = re.compile(r"\d")
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


def may_state(look: Wanted, text: str) -> bool:
    """Whether a text holds what a statement of the fact has to hold; quick."""
    if look.has_figures and _DIGIT.search(text):
        return True
    lowered = text.lower()
    return not look.cues or any(cue in lowered for cue in look.cues)


def read_clauses(look: Wanted, found: Sequence[Sentence], today: date | None) -> list[Clause]:
    """The clauses of a message that may state the fact."""
    read: list[Clause] = []
    for place, sentence in enumerate(found):
        text = sentence.text
        if may_state(look, text):
            before = found[place - 1].text if place and _POINTING.match(text) else ""
            made = _of_sentence(look, sentence, before, today)
            if made and place and _corrects(found[place - 1].text):
                made[0] = made[0]._replace(is_corrected=True)
            read += made
    return _with_times(look, read, today) if look.has_time else read


def _of_sentence(look: Wanted, sentence: Sentence, before: str, today: date | None) -> list[Clause]:
    text = sentence.text
    head = stems(f"{sentence.head} {before}") if sentence.head or before else frozenset[str]()
    is_corrected = _corrects(text)
    made: list[Clause] = []
    leading: frozenset[str] = frozenset()
    for clause in sentence.clauses():
        source = clause.asserted
        found = look.read(source, today)
        words = stems(clause.words)
        unknown = unknown_text(source) if look.is_text and not found else None
        if unknown and _is_about_it(look, source[: unknown.start], leading, head, is_corrected=is_corrected):
            found, words = [unknown], stems(source[: unknown.start])
        leading |= words
        if found:
            given = tuple(one for one in found if not is_denied(look, one, source, words))
            made.append(_clause(look, text, source, leading, head, given, is_corrected))
            leading = frozenset()
    if leading and made:
        last = made[-1]
        made[-1] = _clause(look, text, last.source, last.words | leading, head, last.given, is_corrected)
    elif leading and look.is_text and _TAKING_BACK.search(text):
        made.append(_clause(look, text, text, leading, head, (), is_corrected))
    bare = {one.key for clause in made if sentence.head and not clause.foreign for one in clause.given}
    return [clause._replace(is_choice=True) for clause in made] if len(bare) > 1 else made


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
    words: frozenset[str],
    head: frozenset[str],
    given: tuple[Candidate, ...],
    is_corrected: bool,
) -> Clause:
    naming = (words & look.nouns) or (head & look.nouns)
    unknown = words - FILLING - look.nouns - look.names
    foreign = frozenset(word for word in unknown if word.isalpha())
    is_choice = _is_choice(given, source) or (look.is_text and _is_one_of_names(given, source))
    return Clause(text, source, words, naming, given, foreign, is_corrected, is_choice)


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
    given = tuple(
        found for found in look.read(source, today) if not is_denied(look, found, source, one.words | other.words)
    )
    return Clause(
        text=one.text if one.text == other.text else f"{one.text} {other.text}",
        source=source,
        words=one.words | other.words,
        naming=one.naming | other.naming,
        given=given,
        foreign=one.foreign | other.foreign,
        is_corrected=one.is_corrected or other.is_corrected,
        is_choice=_is_choice(given, source),
    )

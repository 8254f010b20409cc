"""Questions: whether words of the agent ask for a fact, and whether words of the user give it."""

import re
from collections.abc import Collection, Iterator

from evaluator.conduct.asked.beside import clauses, without_caller
from evaluator.conduct.asked.topics import names_fact, names_row, topic_of
from evaluator.conduct.asked.vocabulary import DATED
from evaluator.ledger.names import NO_NAMES
from evaluator.ledger.own import OwnFact, own_facts
from evaluator.ledger.values import Value, squeezed, values_in
from evaluator.ledger.wording import plain
from evaluator.words.markup import folded
from evaluator.words.mentions import mentions, sentences
from skillweave.schema.task import Fact

LONGEST = 4_000
"""Characters of a message of the user that are looked at for a value."""
_REQUEST = re.compile(
    r"\b(?:(?:please|kindly) (?:also |first )?(?:tell|give|provide|specify|let|state|share|confirm|choose|say|"
    r"name|send|"
    r"pick|select|indicate|add|enter|write)|let me know|tell me|give me|(?:could|can|would) you|(?:may|might|"
    r"can) i ask|"
    r"(?:i|we)(?:'ll| will| would|'d)?(?: just| still| also| only)* "
    r"(?:need|require|have to (?:know|note|record)|must know|(?:like|want) to know|wonder|lack))\b",
    re.IGNORECASE,
)
_OPEN_END = re.compile(r"(?:,\s*please\W*|:|\.\.\.|\u2026)\s*$", re.IGNORECASE)
"""`Your reason, please.`, `Reason for cancelling:`"""
_INTERROGATIVE = re.compile(
    r"\W*(?:and |so |but |or |also |then )?(?:what|which|when|where|who|whom|whose|why|how|for what|at what|"
    r"on what|is|are|"
    r"was|were|do|does|did|can|could|would|will|may|might|shall|should|has|have)\b",
    re.IGNORECASE,
)
_IDLE = re.compile(
    r"\breasons? (?:(?:why |that )?(?:i|we)(?:'m| am|'re| are)? ask\w*|for asking|to (?:believe|think|wait|"
    r"worry|assume|doubt"
    r"|suspect|delay))"
    r"|\b(?:how|what) (?:can|may|could|might) (?:i|we) (?:be of|do for you|\w* ?(?:help|assist|serve))\b"
    r"|\bfor (?:this|that|the same|which|\w+ty|legal) reasons?|\bno reason",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\bwhich (?:one|of|would|do|should|shall|is|option|suits?|works?)\b|\bpreferences?\b|\bwhat (?:would|"
    r"do) you prefer\b|"
    r"\b(?:first|former|earlier|this|one) (?:one |\w+ )?or (?:the )?(?:second|latter|other|later|that|next)\b|"
    r"\bwhat (?:shall|should|may|can|do) i (?:record|put|note|enter|write|state|give|use|choose|select|pick)\b",
    re.IGNORECASE,
)
"""Asks for what is left open, whatever it is called."""
_PROPOSAL = re.compile(
    r"\b(?:shall|should|may|can|could|must) (?:i|we)\b(?! (?:just |also |please |kindly )?(?:ask|have|know|get|"
    r"see|note|(?:take|write|put) down|trouble you|request|learn|be told))"
    r"|\b(?:do|would|did) you (?:want|like|wish|need|prefer) (?:me|us) to\b|\bdo you (?:confirm|agree)\b"
    r"|\bplease confirm (?:that|this|and|so)\b|\byour (?:yes|go-ahead|confirmation|consent|permission|approval)\b"
    r"|\bis (?:that|this|it) (?:right|correct|okay?|fine|all right)\b|\bgo ahead\b"
    r"|\b(?:am|are) (?:i|we) (?:right|to)\b|\bhappy for (?:me|us) to\b|\bready (?:for me )?to\b",
    re.IGNORECASE,
)
_OPEN = re.compile(r"\b(?:or|either|which|what|when|where|who|whom|whose|why|how|preference|prefer)\b", re.IGNORECASE)
_OR = re.compile(r"\b(?:or|either)\b", re.IGNORECASE)
_WHY = re.compile(r"\bwhy\b", re.IGNORECASE)
_AMONG = re.compile(r"\b(?:or|either|which|any)\b|/", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_PART_OF_DAY = re.compile(r"\b(?:morning|noon|midday|afternoon|evening|earlier|later)\b", re.IGNORECASE)
_TELLING = 4
"""Letters of a word by which a value is known."""
_FILLERS = frozenset(["with", "from", "that", "this", "other", "your", "have", "some", "into", "and", "the", "for"])


def questions(words: str) -> Iterator[str]:
    """What a message of the agent asks, sentence by sentence: of each the part that asks."""
    for sentence in sentences(folded(words)):
        text = _IDLE.sub(" ", sentence)
        request = _REQUEST.search(text)
        if request is None and "?" not in text and not _OPEN_END.search(text):
            continue
        head, colon, rest = text.partition(":")
        is_whole = (
            not rest.strip() or _INTERROGATIVE.match(head) or (request is not None and request.start() < len(head))
        )
        yield text if is_whole or not colon else rest


def asks_for(question: str, fact: Fact, choices: Collection[str]) -> bool:
    """Whether a question names the fact, or puts values of it up; `choices` are those that the contract allows."""
    topic, column = topic_of(fact), fact.id.rpartition(".")[2]
    asked = [without_caller(clause, column) for clause in clauses(question)]
    if any(names_fact(clause, topic) for clause in asked):
        return True
    whole = " ".join(asked)
    if sum(_says(whole, choice) for choice in choices) > 1:
        return True
    if _AMONG.search(whole) is None or _WHY.search(whole):
        return False
    if sum(_touches(whole, choice) for choice in choices) > 1:
        return True
    return (
        _puts_up_moments(whole, fact)
        or gives(whole, fact)
        or (_OR.search(whole) is not None and _has_word_of(whole, fact))
    )


def asks_to_choose(question: str) -> bool:
    """Whether a question asks for what is left open without a name for it: which one, any preference?"""
    return _CHOICE.search(question) is not None


def asks_which(question: str, fact: Fact) -> bool:
    """Whether a question asks which of the things is meant that the fact describes: which appointment?"""
    topic, column = topic_of(fact), fact.id.rpartition(".")[2]
    return any(names_row(without_caller(clause, column), topic) for clause in clauses(question))


def proposes(question: str) -> bool:
    """Whether a question only asks for a yes to a deed, and leaves nothing open."""
    return _PROPOSAL.search(question) is not None and _OPEN.search(question) is None


def gives(words: str, fact: Fact) -> bool:
    """Whether the fact's value stands in the words: of a moment its time, where it has one. A yes or no is no value."""
    value = fact.value
    if value is None or isinstance(value, bool):
        return False
    words = words[:LONGEST]
    if isinstance(value, str) and not DATED.match(value) and _says(words, value):
        return True
    said = squeezed(fact.text)
    if said and said in squeezed(words):
        return True
    described = fact.text.partition(":")[2]
    if isinstance(value, str) and not DATED.match(value) and " " in described.strip() and _says(words, described):
        return True
    own = own_facts([fact], NO_NAMES)[0]
    return any(_holds(sentence, own) for sentence in sentences(words))


def _holds(sentence: str, own: OwnFact) -> bool:
    """Whether a sentence has the fact's value; a time beside another day is another moment."""
    found = values_in(plain(sentence), NO_NAMES)
    days = [day for value in found for day in value.days]
    if days and own.days and not any(said.fits(day) for said in days for day in own.days):
        return False
    return any(own.fits(value) for value in found if _is_whole(value, own))


def _is_whole(value: Value, own: OwnFact) -> bool:
    """Whether a value says as much as the fact does."""
    if any(one.times for one in own.values):
        return bool(value.times)
    return bool(value.days) if own.days else not value.days and not value.times


def _says(words: str, value: str) -> bool:
    phrase = r"[\s_-]+".join(map(re.escape, _WORD.findall(value)))
    return bool(phrase) and re.search(rf"\b{phrase}\b", words, re.IGNORECASE) is not None


def _puts_up_moments(question: str, fact: Fact) -> bool:
    if not isinstance(fact.value, str) or not DATED.match(fact.value):
        return False
    found = mentions(question)
    weekdays = {day.casefold() for day in _WEEKDAY.findall(question)}
    parts = {part.casefold() for part in _PART_OF_DAY.findall(question)}
    return max(len({*found.days}), len({*found.times}), len(weekdays), len(parts)) > 1


def _touches(words: str, choice: str) -> bool:
    """Whether the words have one of a choice's."""
    telling = [word for word in _WORD.findall(choice) if len(word) >= _TELLING]
    return any(_says(words, word) for word in telling)


def _has_word_of(question: str, fact: Fact) -> bool:
    """Whether a question that puts things up for choice has a telling word of the fact's value, a name."""
    if not isinstance(fact.value, str) or DATED.match(fact.value) or any(map(str.isdigit, fact.value[:1])):
        return False
    known = set(_WORD.findall(fact.id.replace("_", " ").casefold())) | _FILLERS
    telling = [word for word in _WORD.findall(fact.value) if word.isalpha() and len(word) >= _TELLING]
    return any(_says(question, word) for word in telling if word.casefold() not in known)

"""Questions: whether words of the agent ask for a fact, and whether words of the user give it."""

import re
from collections.abc import Collection, Iterator

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
    r"\bwhat (?:shall|should|may|can|do) i (?:record|put|note|enter|write|state|give|use|choose|select|pick)\b",
    re.IGNORECASE,
)
"""Asks for what is left open, whatever it is called."""
_WHICH = re.compile(r"\b(?:which|what|whose)\b(?P<noun>(?:\s+(?!is\b|are\b|do\b|would\b)[\w'-]+){1,4})", re.IGNORECASE)
"""`Which appointment do you mean?`"""
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
_AMONG = re.compile(r"\b(?:or|either|which|any)\b|/", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_OF_TIMES = ("when", "date", "day", "time", "slot", "morning", "afternoon", "evening", "deadline")
_OF_NUMBERS = ("number", "amount")
_OF_MONEY = ("total", "sum", "figure", "cost", "charge", "quote", "full")
_LABEL = re.compile(
    r"\b(?:account|bill|booking|card|claim|customer|flight|invoice|licen[cs]e|membership|mobile|order|passport|phone"
    r"|policy|reference|reservation|room|telephone|ticket|tracking) numbers?\b",
    re.IGNORECASE,
)
"""A number that tells things apart: who asks for it asks for no figure."""
_ALSO_CALLED = {"invoice": "bill"}
"""Things, and another word for them."""
_HOW_MANY = re.compile(r"\bhow (?:many|much|long|often|big|large|far|old|high|wide)\b", re.IGNORECASE)
_OF_PARTS = {
    "reason": r"why|how come|what(?:'s| has| is)? (?:happened|wrong)|caus\w+|motiv\w+|grounds?|purpose|"
    r"prompt\w*|because|"
    r"what for|made you|occasion|explanation",
    "name": r"who|whom|whose|called|what (?:kind|sort|type) of|"
    r"what (?:is|are|was|were|will) (?:it|this|that|they|the [\w-]+|your [\w-]+) (?:be )?for|"
    r"what (?:are you|brings you|do you) (?:coming )?in for|(?:have|get|need|want|like) (?:\w+ ){0,2}done",
    "provider": r"where|practice|clinic|hospital|doctor|dentist|therapist|surgery",
    "method": r"means|way|how(?! (?:are you|you are|you're)\b(?! (?:pay|plan|go|want)))",
    "account": r"bank details|iban",
    "addressee": r"who|whom|what (?:is|do|does|did|will)\b[^?]*\bfor",
    "birth": r"born|birthday|dob|how old",
    "level": r"size|how (?:big|large)",
    "kind": r"which|what sort|type",
    "type": r"which|what sort|kind",
    "email": r"e-mail|mail",
    "phone": r"number",
}
"""Parts of a fact's id, and other words that ask for it."""
_TELLS_ROWS_APART = ("_at", "_on", "_id", "_name")
"""Endings of columns for which one asks by naming the row: which appointment?"""
STEM = 5


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
    words = _LABEL.sub(" ", question) if _is_number(fact) else question
    if not _stems_of(fact).isdisjoint(map(_stem, _WORD.findall(words))):
        return True
    if _is_number(fact) and _HOW_MANY.search(question):
        return True
    parts = [part for part in fact.id.rpartition(".")[2].split("_") if part in _OF_PARTS]
    if any(re.search(rf"\b(?:{_OF_PARTS[part]})\b", question, re.IGNORECASE) for part in parts):
        return True
    if sum(_says(question, choice) for choice in choices) > 1:
        return True
    return _AMONG.search(question) is not None and (_puts_up_moments(question, fact) or gives(question, fact))


def asks_to_choose(question: str) -> bool:
    """Whether a question asks for what is left open without a name for it: which one, any preference?"""
    return _CHOICE.search(question) is not None


def asks_which(question: str, fact: Fact) -> bool:
    """Whether a question asks which of the things is meant that the fact describes: which appointment?"""
    things = {_stem(part) for part in fact.id.rpartition(".")[0].split("_") if len(part) > 2}
    found = _WHICH.search(question)
    return found is not None and not things.isdisjoint(map(_stem, _WORD.findall(found["noun"])))


def proposes(question: str) -> bool:
    """Whether a question only asks for a yes to a deed, and leaves nothing open."""
    return _PROPOSAL.search(question) is not None and _OPEN.search(question) is None


def gives(words: str, fact: Fact) -> bool:
    """Whether the fact's value stands in the words: of a moment its time, where it has one. A yes or no is no value."""
    value = fact.value
    if value is None or isinstance(value, bool):
        return False
    words = words[:LONGEST]
    if isinstance(value, str) and not _DATED.match(value) and _says(words, value):
        return True
    said = squeezed(fact.text)
    if said and said in squeezed(words):
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
    if not isinstance(fact.value, str) or not _DATED.match(fact.value):
        return False
    found = mentions(question)
    weekdays = {day.casefold() for day in _WEEKDAY.findall(question)}
    return max(len({*found.days}), len({*found.times}), len(weekdays)) > 1


def _stems_of(fact: Fact) -> frozenset[str]:
    """What words a question for the fact can use, as stems."""
    entity, _, column = fact.id.rpartition(".")
    words = [part for part in column.split("_") if len(part) > 2]
    if column.endswith(_TELLS_ROWS_APART):
        parts = [part for part in entity.split("_") if len(part) > 2]
        words += [*parts, *(_ALSO_CALLED[part] for part in parts if part in _ALSO_CALLED)]
    if isinstance(fact.value, str) and _DATED.match(fact.value):
        words += _OF_TIMES
    elif _is_number(fact):
        words += [*_OF_NUMBERS, *(_OF_MONEY if column.endswith("_cents") else ())]
    return frozenset(map(_stem, words))


def _is_number(fact: Fact) -> bool:
    return isinstance(fact.value, int | float) and not isinstance(fact.value, bool)


def _stem(word: str) -> str:
    return word.casefold().removesuffix("s")[:STEM]

"""What a question has to say in order to ask for a fact: the words that name it, and the kind of question."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from evaluator.conduct.asked.vocabulary import (
    ABOUT,
    ALSO_CALLED,
    AS_DEED,
    BEHIND,
    CHOSEN_ANEW,
    CLOSED,
    COUNTED,
    DATED,
    DEEDS,
    DEEDS_OR_THINGS,
    DONE_TO_ONE,
    FIGURE,
    FITS,
    FITS_ANY,
    FOREIGN,
    FRAME,
    HAPPENED,
    HAS_ALREADY,
    HUES,
    LABEL,
    MEANT,
    MEASURES,
    MOMENT,
    MONEY,
    NAME,
    NO_NOUN,
    NOT_WHEN,
    NUMBER,
    OF_DEEDS,
    OF_NAMES,
    OPENS,
    OWN_MOMENT,
    PEOPLE,
    PERSONS,
    PLAIN,
    ROWS_APART,
    STEM,
    TAILS,
    WHICH,
    WHO,
    WHY,
    WORD,
    WORDS,
)
from skillweave.schema.task import Fact


class Topic(NamedTuple):
    """What is known of a fact."""

    words: tuple[str, ...]
    """Of its column, as it is written."""
    nouns: frozenset[str]
    """Stems of those that name it."""
    things: frozenset[str]
    """Stems of what the row is called that it describes; of an argument of a call there is none."""
    is_moment: bool
    is_number: bool
    is_money: bool
    is_name: bool


def stem(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("s")[:STEM]


@lru_cache(maxsize=1024)
def _topic(id: str, *, is_moment: bool, is_number: bool) -> Topic:
    thing, _, column = id.rpartition(".")
    tail = next((tail for tail in TAILS if column.endswith(tail)), "")
    words = column.removesuffix(tail).split("_")
    nouns = [word for word in words if len(word) > 2 and word not in NO_NOUN]
    is_name = tail in ("_name", "_id")
    if len(nouns) > 1 and not is_name:
        nouns = nouns[-1:]
    parts = thing.split("_")
    is_argument = parts[0] in DEEDS or (
        parts[0] in DEEDS_OR_THINGS and len(parts) > 1 and not column.endswith(ROWS_APART)
    )
    things = [] if is_argument else [part for part in parts if len(part) > 2]
    things += [ALSO_CALLED[part] for part in things if part in ALSO_CALLED]
    return Topic(
        words=tuple(column.split("_")),
        nouns=frozenset(map(stem, nouns)),
        things=frozenset(map(stem, things)),
        is_moment=is_moment,
        is_number=is_number,
        is_money=tail == "_cents",
        is_name=is_name,
    )


def topic_of(fact: Fact) -> Topic:
    """What is known of a fact by its id and the type of its value."""
    value = fact.value
    return _topic(
        fact.id,
        is_moment=isinstance(value, str) and DATED.match(value) is not None,
        is_number=isinstance(value, int | float) and not isinstance(value, bool),
    )


def names_row(clause: str, topic: Topic) -> bool:
    """Whether a clause asks which of the things is meant that the fact describes: which appointment?"""
    if not topic.things:
        return False
    for found in WHICH.finditer(clause):
        if not topic.things.isdisjoint(_stems(found["noun"])):
            return True
    noun = "|".join(sorted(topic.things))
    return re.search(rf"\b(?:{noun})\w*\s+{MEANT}\b", clause, re.IGNORECASE) is not None and not _is_closed(clause)


def names_fact(clause: str, topic: Topic) -> bool:
    """Whether a clause asks for the fact by a word for it."""
    others = _says_any(clause, WORDS, topic.words)
    if WHY.search(clause):
        return others and not {"reason", "question"}.isdisjoint(topic.words)
    if _is_closed(clause) and not FRAME.search(clause):
        others = others or (topic.is_number and _says_any(HAS_ALREADY.sub(" ", clause), MEASURES, topic.words))
        return others and _asks_between(clause)
    if topic.is_moment:
        return _asks_when(clause, topic)
    if topic.is_number:
        return others or _asks_how_many(clause, topic)
    return others or _asks_what(clause, topic)


def _is_closed(clause: str) -> bool:
    return CLOSED.match(clause) is not None and not OPENS.search(clause)


def _asks_between(clause: str) -> bool:
    return re.search(r"\bor\b|\beither\b|/", clause, re.IGNORECASE) is not None


def _asks_when(clause: str, topic: Topic) -> bool:
    about = {name for name, words in ABOUT.items() if words.search(clause)}
    column = "_".join(topic.words)
    key = next((key for key in FITS if key in column), "")
    fits = {*FITS.get(key, FITS_ANY)}
    if not CHOSEN_ANEW.isdisjoint(topic.things):
        fits = {*fits, "new"} - {"old"}
    if about and (about - HUES or about).isdisjoint(fits):
        return False
    if (about - fits) & (FOREIGN if key not in HAPPENED else frozenset(ABOUT)):
        return False
    if key == "birth":
        return "birth" in about or re.search(r"\bhow old\b", clause, re.IGNORECASE) is not None
    if MOMENT.search(NOT_WHEN.sub(" ", clause)):
        return not _asks_other_than_when(clause)
    own = OWN_MOMENT.get(key)
    if own is not None and re.search(rf"\b(?:{own})\b", clause, re.IGNORECASE):
        return True
    return _has_noun(AS_DEED.sub(" ", clause), topic)


def _asks_other_than_when(clause: str) -> bool:
    """`Where were you on that day?`, `Who was there at the time?`"""
    found = OPENS.search(clause)
    if found is None:
        return False
    word = found.group().casefold()
    rest = clause[found.start() :]
    if word in ("who", "whom", "whose", "where"):
        return True
    return word == "how" and not re.match(
        r"how (?:long|soon|early|late|many (?:\w+ )?(?:days|nights|weeks))", rest, re.I
    )


def _asks_how_many(clause: str, topic: Topic) -> bool:
    text = HAS_ALREADY.sub(" ", LABEL.sub(" ", clause))
    if _says_any(text, MEASURES, topic.words):
        return True
    if not topic.nouns.isdisjoint(_stems(text)):
        return True
    if topic.things:
        return False
    ways = [FIGURE, COUNTED, *([MONEY] if topic.is_money else [])]
    return any(way.search(text) for way in ways)


def _asks_what(clause: str, topic: Topic) -> bool:
    if topic.is_name and _asks_name(clause, topic):
        return True
    found = OPENS.search(clause)
    if found is not None and found.group().casefold() in ("when", "where", "how", "who", "whom"):
        return False
    if "number" in topic.words:
        known = topic.nouns | topic.things
        return any(one["before"] in PLAIN or stem(one["before"]) in known for one in NUMBER.finditer(clause))
    return _has_noun(clause, topic)


def _asks_name(clause: str, topic: Topic) -> bool:
    ways = [OF_NAMES]
    if not PERSONS.isdisjoint(topic.words):
        ways.append(WHO)
    if not DONE_TO_ONE.isdisjoint(topic.words):
        ways.append(OF_DEEDS)
    if re.search(rf"\b(?:{'|'.join(ways)})\b", clause, re.IGNORECASE):
        return True
    known = topic.nouns | topic.things | (PEOPLE if not PERSONS.isdisjoint(topic.words) else frozenset())
    for found in NAME.finditer(clause):
        of = _stems(found["of"] or "")
        if of and not of & (known | {"it", "one", "thi", "that", "perso", "them"}):
            continue
        before = found["before"].casefold().removesuffix("'s")
        if before in PLAIN or stem(before) in known:
            return True
    return re.search(r"^\W*names?\b", clause, re.IGNORECASE) is not None


def _has_noun(clause: str, topic: Topic) -> bool:
    """Whether a noun for the fact stands in the clause by itself."""
    if not topic.nouns:
        return False
    noun = "|".join(sorted(topic.nouns))
    return re.search(rf"\b(?:{noun})\w*{BEHIND}", clause, re.IGNORECASE) is not None


def _says_any(clause: str, ways: Mapping[str, str], words: Collection[str]) -> bool:
    found = [ways[word] for word in words if word in ways]
    return any(re.search(rf"\b(?:{one})\b", clause, re.IGNORECASE) for one in found)


def _stems(text: str) -> set[str]:
    return set(map(stem, WORD.findall(text.replace("'s", ""))))

"""The lexicon: words by which the offline user understands an agent, read once from `lexicon.yaml`."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml

WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


@cache
def lexicon() -> Any:
    """The file's content."""
    return yaml.safe_load(files("rollout.offline.user").joinpath("lexicon.yaml").read_text("utf-8"))


@cache
def wording(name: str) -> re.Pattern[str]:
    """How agents put something: an entry of `wordings.yaml`."""
    return re.compile("|".join(_wordings()[name]), re.IGNORECASE)


@cache
def _wordings() -> dict[str, list[str]]:
    text = files("rollout.offline.user").joinpath("wordings.yaml").read_text("utf-8")
    found: dict[str, list[str]] = yaml.safe_load(text)
    return found


@cache
def deeds() -> dict[str, re.Pattern[str]]:
    """Deed -> its words."""
    return {deed: any_of(words) for deed, words in lexicon()["deeds"].items()}


@cache
def weak_deeds() -> dict[str, re.Pattern[str]]:
    """Deed -> words that stand for it where no other word does."""
    return {deed: any_of(words) for deed, words in lexicon()["weak"].items()}


@cache
def deed_nouns() -> re.Pattern[str]:
    """Things that are called by the word for a deed: `your booking`."""
    nouns = "|".join(lexicon()["nouns"])
    owned = r"\b(?:my|your|the|that|this|an?|of|for|on|our|new) (?:[^\s,.;:]+ ){0,4}?"
    return re.compile(rf"{owned}(?:{nouns})\b(?! (?:a|an|my|the|your)\b)|\bto be clear\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def strong_deeds_of(text: str) -> frozenset[str]:
    """What is done in a text, as the lexicon calls it."""
    plain = deed_nouns().sub("it", text)
    return frozenset(deed for deed, words in deeds().items() if words.search(plain))


@lru_cache(maxsize=4096)
def deeds_of(text: str) -> frozenset[str]:
    """The same; where it names none, by words that may stand for one."""
    plain = deed_nouns().sub("it", text)
    weak = (deed for deed, words in weak_deeds().items() if words.search(plain))
    return strong_deeds_of(text) or frozenset(weak)


@cache
def money() -> re.Pattern[str]:
    """Words of paying."""
    return any_of(lexicon()["money"])


@cache
def asked_as(column: str) -> re.Pattern[str] | None:
    """How a question after that column reads; None where the file does not know it."""
    pattern = lexicon()["asked_as"].get(column)
    return re.compile(pattern, re.IGNORECASE) if pattern else None


@cache
def moments() -> re.Pattern[str]:
    """How a question after a date or time reads."""
    return re.compile(lexicon()["moments"], re.IGNORECASE)


@cache
def stem(word: str) -> str:
    """What a word shares with its kin."""
    word = word.lower().removesuffix("'s")
    for ending in ("ing", "ed", "es", "s", "al"):
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            word = word.removesuffix(ending)
            break
    return word[:6]


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's words, without those that carry no meaning."""
    return frozenset(stem(word) for word in WORD.findall(text.lower()) if word not in _small())


def any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of these words; `*` stands for any ending."""
    ways = "|".join(re.escape(word).replace(r"\*", r"\w*") for word in words)
    return re.compile(rf"(?<![\w-])(?:{ways})(?![\w-])", re.IGNORECASE)


@cache
def _small() -> frozenset[str]:
    return frozenset(lexicon()["small"].split())

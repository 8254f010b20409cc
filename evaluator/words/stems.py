"""Words as stems: what `arrive` and `arrival`, or `invoice` and `invoices`, share."""

import re
from functools import lru_cache

_SMALL_WORDS = """
a an and any are as at be been by can could did do does for from had has have how i if in is it its like many me much my
now of on once one or our per please row so tell that the their them then there they this to total until up was we were
what when where which who whom will with would you your
"""
_EMPTY_WORDS = frozenset(_SMALL_WORDS.split())
_WORD = re.compile(r"[^\W_]+")


def content_words(noun: str) -> frozenset[str]:
    """The words of a noun or a question that carry its meaning, as stems."""
    words = [stem(word) for word in _WORD.findall(noun.casefold())]
    return frozenset(word for word in words if word not in _EMPTY_WORDS) or frozenset(words)


def stems(text: str) -> frozenset[str]:
    """All words of a text, as stems."""
    return frozenset(map(stem, _WORD.findall(text.casefold())))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """What a word shares with its kin: `arrive` and `arrival`, `invoice` and `invoices`."""
    word = _singular(word.casefold())
    return word[:5] if len(word) > 5 else word


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


_PLAIN = """
a about according account accordingly actually afternoon again all already also altogether am amounting amounts an and
apologies apologise apologize april are as at august be been by can cent cents checked checking come comes coming
confirm confirmed corrected correction correct current currently date day december did dollar dollars eur euro euros
evening exactly february figure find first following for found friday from gbp good has have having here hour i in
indeed info information is it its january july june just let looked looking made may march me mean meant minus misread
misspoke mistake monday month morning my no noon not november now october of oh ok okay on our out please pm pound
pounds precisely question really record records right said saturday see september shows showing so sorry sum sunday
system tell thank thanks that the their there these this thursday time to today tomorrow total tuesday us usd value was
we wednesday well were which will with would wrong year yes you your system s t d ll re ve m real make instead
wait changed switched
"""
FILLING = frozenset(stem(word) for word in _PLAIN.split())
"""Stems of words that tell nothing of what a clause is about."""

"""Words to figures: `half past nine` becomes `9:30`, `twenty-first` becomes `21st`, and a message becomes clauses.

`one` and the first three ordinals stay words: they seldom count anything.
"""

import re
import unicodedata
from collections.abc import Iterator

LONGEST = 600
"""Characters of a clause: what is looked at together, and no sentence that anybody writes."""
_UNITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_UNITS += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS_WORDS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_TENS = {word: 20 + 10 * place for place, word in enumerate(_TENS_WORDS)}
_ORDINALS = ["fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth"]
_ORDINALS += ["fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"]
_ORDINAL = {word: 4 + place for place, word in enumerate(_ORDINALS)} | {"thirtieth": 30}
_AFTER_TENS = {"first": 1, "second": 2, "third": 3} | {word: number for word, number in _ORDINAL.items() if number < 10}
_NUMBER = {word: number for number, word in enumerate(_UNITS)} | _TENS

_HOURS = "|".join([*_UNITS[1:13], r"1[0-2]", r"\d"])
_QUARTERS = {"quarter": 15, "half": 30, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25, "twenty five": 25}
_PAST = re.compile(
    rf"\b(?:an? )?(?P<step>{'|'.join(sorted(_QUARTERS, key=len, reverse=True))})(?: minutes)? (?P<way>past|to) "
    rf"(?P<hour>{_HOURS})\b(?![:.]\d| (?:minutes?|people|guests|days?|hours?|weeks?))",
    re.I,
)
_HALF = re.compile(rf"\bhalf (?P<hour>{_HOURS})\b(?! (?:hours?|minutes?))", re.I)
_SPOKEN = re.compile(
    rf"\b(?P<hour>{'|'.join(_UNITS[1:13])})[ -](?P<minute>fifteen|thirty|forty-five|forty five)\b", re.I
)
_PRICE = re.compile(
    rf"\b(?P<whole>{'|'.join(_UNITS[10:])}) (?P<part>{'|'.join(_TENS)})\b(?![ -](?:one|two|three|four|five|six|seven|"
    rf"eight|nine|\d))",
    re.I,
)
"""`twelve fifty`: 12.50, or 1250."""
_TENS_UNITS = re.compile(
    rf"\b(?P<tens>{'|'.join(_TENS)})[ -](?P<unit>{'|'.join([*_UNITS[1:10], *_AFTER_TENS])})\b", re.I
)
_WORD = re.compile(rf"\b(?P<word>{'|'.join([*_UNITS[2:], *_TENS, *_ORDINAL])})\b", re.I)
_SCALED = re.compile(
    r"(?<![\d.,])(?P<count>\d{1,3})[ -]?(?P<scale>hundred|thousand|k\b)(?:(?: and)? (?P<rest>\d{1,3})\b(?!\w|"
    r"[.:,]\d))?",
    re.I,
)
_CLOCK = re.compile(r"(?<![\d.:])(?P<hour>\d{1,2}) ?(?:o'?clock\b|h\b|hrs?\b(?! \w))", re.I)
_NOON = re.compile(r"\b(?P<before>at|by|before|until|till) (?:noon|midday|12 noon)\b", re.I)
_PLAIN = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "*": "", "`": "", "\t": " "}
)
_ABBREVIATED = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|st|no|nr|approx|e\.g|i\.e|d\.o\.b|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$", re.I
)
_LONGEST_ABBREVIATED = 10
_END = re.compile(r"(?<=[.!?;])\s+|\s*(?:\n|\.\.\.|…|:\)|\s-\s)\s*")
_POINT = re.compile(r"(?<=[.!?;])\s+")
_OTHER_ENDS = ("\n", "...", "…", ":)", " - ")
_TURN = re.compile(r",? (?=but |even though |although )|, (?=so )", re.I)
NUMERALS = frozenset(
    " ".join([*_UNITS[2:], *_TENS, *_ORDINAL, *_QUARTERS, "noon midday hundred thousand"]).replace("-", " ").split()
)
"""A text without these words and without figures is plain already."""
_LETTERS = re.compile(r"[a-z]+")
_FIGURE = re.compile(r"\d")


def plain(text: str) -> str:
    """The text with its number words as figures and typographic characters as keyboards have them."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = text.translate(_PLAIN)
    if not NUMERALS.isdisjoint(_LETTERS.findall(text.lower())):
        text = _in_figures(text)
    if _FIGURE.search(text) is None:
        return text
    return _CLOCK.sub(r"\g<hour>:00", _SCALED.sub(_scaled, text))


def _in_figures(text: str) -> str:
    text = _PAST.sub(_past, text)
    text = _HALF.sub(lambda match: f"{_number(match['hour'])}:30", text)
    text = _SPOKEN.sub(lambda match: f"{_number(match['hour'])}:{_number(match['minute'])}", text)
    text = _PRICE.sub(lambda match: f"{_number(match['whole'])}.{_number(match['part'])}", text)
    text = _NOON.sub(r"\g<before> 12:00", text)
    text = _TENS_UNITS.sub(_tens_and_unit, text)
    return _WORD.sub(lambda match: _figures(match["word"].lower()), text)


def clauses(text: str) -> Iterator[str]:
    """The sentences of a plain text, and the parts before and after a `but`; none is longer than `LONGEST`."""
    for clause in _sentences(text):
        yield from (clause[start : start + LONGEST] for start in range(0, len(clause), LONGEST))


def _sentences(text: str) -> Iterator[str]:
    held = ""
    for part in (_END if any(end in text for end in _OTHER_ENDS) else _POINT).split(text):
        held = f"{held} {part}".strip()
        if _ABBREVIATED.search(held[-_LONGEST_ABBREVIATED:]):
            continue
        yield from filter(None, map(str.strip, _TURN.split(held)))
        held = ""
    yield from filter(None, [held])


def _past(match: re.Match[str]) -> str:
    step, hour = _QUARTERS[match["step"].lower()], _number(match["hour"])
    if match["way"].lower() == "past":
        return f"{hour}:{step:02}"
    return f"{hour - 1 or 12}:{60 - step:02}"


def _tens_and_unit(match: re.Match[str]) -> str:
    tens, unit = _TENS[match["tens"].lower()], match["unit"].lower()
    if unit in _AFTER_TENS:
        return f"{tens + _AFTER_TENS[unit]}th"
    return str(tens + _NUMBER[unit])


def _figures(word: str) -> str:
    return f"{_ORDINAL[word]}th" if word in _ORDINAL else str(_NUMBER[word])


def _scaled(match: re.Match[str]) -> str:
    scale = 100 if match["scale"].lower() == "hundred" else 1000
    return str(int(match["count"]) * scale + int(match["rest"] or 0))


def _number(word: str) -> int:
    word = word.lower().replace(" ", "-")
    tens, _, unit = word.partition("-")
    return int(word) if word.isdigit() else _NUMBER[tens] + (_NUMBER[unit] if unit else 0)

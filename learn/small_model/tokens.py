"""Texts and values as tokens, and tokens as texts and values.

A token is a kind and a text. Values have one form whatever the form they were written in: `April 26`, `26 April 2025`
and `2025-04-26` are one date, `86.00` and 8600 under a key that ends with `_cents` are one amount. So a model that
copies a token copies the value, and finds it again where it stands in another form.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Kind = Literal["control", "word", "key", "tool", "date", "time", "money", "number", "id"]
"""`key`: of a result or an argument; `tool`: its name; `id`: an id, an email address, a telephone number."""
VALUES: tuple[Kind, ...] = ("date", "time", "money", "number", "id")
SMALL = 31
"""Whole numbers up to it are words to the model."""
LINE = "\n"
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAY = r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? (?:the )?)?"
_MONTH = f"(?P<month{{0}}>{'|'.join(MONTHS).replace('May', '(?-i:May)')})"
_TEXT = re.compile(
    r"(?P<iso>\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\b)"
    rf"|\b{_WEEKDAY}(?P<day1>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH.format(1)}\b(?:,? (?P<year1>\d{{4}})\b)?"
    rf"|\b{_WEEKDAY}{_MONTH.format(2)} (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (?P<year2>\d{{4}})\b)?"
    r"|(?<=\d )at(?= \d{1,2}:\d{2}\b)"
    r"|(?P<time>\b\d{1,2}:\d{2}(?::\d{2})?\b)"
    r"|(?P<email>\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4})"
    r"|(?P<phone>\+\d[\d ]{6,18}\d)"
    r"|(?P<money>\b\d{1,3}(?:,\d{3}){1,3}\.\d{2}\b(?!\.\d)|\b\d{1,12}\.\d{2}\b(?!\.\d))"
    r"|(?P<rule>\b[A-Z]{1,2}\d{1,4}\b)"
    r"|(?P<id>\b(?=[\w-]{0,64}\d)(?=[\w-]{0,64}[A-Za-z])[\w-]+\b)"
    r"|(?P<number>\b\d+(?:\.\d+)?\b)"
    r"|(?P<word>[^\W\d]+(?:['’][^\W\d]+)?|\n+|[^\w\s])",
    re.IGNORECASE,
)
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2})?)")
_CLOSING = frozenset(".,;:?!)]%")
_JOINING = frozenset("-/'’")


class ConversationToken(NamedTuple):
    """The smallest thing that the model reads and writes."""

    kind: Kind
    text: str
    """Of a date its ISO form, of a time HH:MM:SS, of an amount whole cents."""

    @property
    def name(self) -> str:
        """Its name in a vocabulary."""
        return f"{self.kind}:{self.text}"


def word(text: str) -> ConversationToken:
    return ConversationToken("word", text)


def control(text: str) -> ConversationToken:
    return ConversationToken("control", text)


def text_tokens(text: str, *, today: str | None = None) -> list[ConversationToken]:
    """The tokens of a text.

    Args:
        text: Anything.
        today: An ISO date; dates without a year are of its year.
    """
    year = today[:4] if today else "2000"
    return [token for match in _TEXT.finditer(text) if (token := _text_token(match, year)) is not None]


def _text_token(match: "re.Match[str]", year: str) -> ConversationToken | None:
    named = {name: value for name, value in match.groupdict().items() if value is not None}
    for order in ("1", "2"):
        if f"month{order}" in named:
            month = [name.lower() for name in MONTHS].index(named[f"month{order}"].lower()) + 1
            return ConversationToken(
                "date", f"{named.get(f'year{order}', year)}-{month:02}-{int(named[f'day{order}']):02}"
            )
    if not named:  # the `at` between a date and a time
        return None
    [(name, found)] = named.items()
    match name:
        case "iso":
            return ConversationToken("date", found)
        case "time":
            return ConversationToken("time", _whole_time(found))
        case "money":
            return ConversationToken("money", str(round(float(found.replace(",", "")) * 100)))
        case "number":
            return ConversationToken("number", found)
        case "email" | "phone" | "id":
            return ConversationToken("id", found)
        case _:
            return word(LINE if found.startswith(LINE) else found)


def _whole_time(text: str) -> str:
    hour, minute, *second = text.split(":")
    return f"{int(hour):02}:{minute}:{second[0] if second else '00'}"


def value_tokens(value: object, key: str = "") -> list[ConversationToken]:
    """The tokens of a value in JSON that stands under a key, as a result's cell or an argument."""
    match value:
        case bool() | None:
            return [word({True: "true", False: "false", None: "null"}[value])]
        case int() if key.endswith("_cents"):
            return [ConversationToken("money", str(value))]
        case int() | float():
            return [ConversationToken("number", str(value))]
        case str():
            return text_tokens(_TIME.sub(r"\1 at \2", value))
        case _:
            return text_tokens(str(value))


def written(tokens: Sequence[ConversationToken]) -> str:
    """The text that tokens spell: dates as `26 April 2025`, amounts as `86.00`.

    It has the usual spaces, whatever the text that the tokens were read from had.
    """
    text, quoted, before = "", False, None
    for token in tokens:
        form = _form(token)
        is_quote = form == '"'
        joins = not text or text.endswith(LINE) or form == LINE or before in _JOINING | {"(", "["}
        joins = joins or (form in _CLOSING | _JOINING) or (is_quote and quoted) or (before == '"' and quoted)
        if token.kind == "time" and before == "date":
            form = f"at {form}"
        text += form if joins else f" {form}"
        quoted ^= is_quote
        before = "date" if token.kind == "date" else form
    return text


def _form(token: ConversationToken) -> str:
    match token.kind:
        case "date":
            year, month, day = token.text.split("-")
            return f"{int(day)} {MONTHS[int(month) - 1]} {year}"
        case "time":
            return token.text.removesuffix(":00")
        case "money":
            cents = int(token.text)
            return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"
        case _:
            return token.text


def argument(tokens: Sequence[ConversationToken], types: Sequence[str]) -> object:
    """The value of an argument that tokens spell, as its schema types it; a text where nothing else fits.

    Args:
        tokens: The argument's tokens.
        types: JSON schema's names of the types that it may have; none: any.
    """
    text = "".join(_raw(tokens))
    if text == "null" and "null" in types:
        return None
    if text in ("true", "false") and ("boolean" in types or not types):
        return text == "true"
    if {"integer", "number"} & {*types} and re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,9})?", text):
        return float(text) if "." in text else int(text)
    return text


def _raw(tokens: Sequence[ConversationToken]) -> Iterator[str]:
    """As `written`, with dates and times in ISO's form, amounts as whole cents."""
    words: list[ConversationToken] = []
    begun = False
    for token in tokens:
        if token.kind in ("date", "time", "money"):
            yield from _spaced(words, begun)
            yield (" " if begun or words else "") + token.text
            begun, words = True, []
        else:
            words.append(token)
    yield from _spaced(words, begun)


def _spaced(words: Sequence[ConversationToken], begun: bool) -> Iterator[str]:
    if words:
        text = written(words)
        yield f" {text}" if begun and text[0] not in _CLOSING else text

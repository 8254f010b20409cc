"""Who the user is: a name that they give as their own has to be the persona's."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

SHORT = 3
"""Letters of a short form, which a name begins with: Chris."""
_WORD = re.compile(r"[^\W\d_]+")
_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sir)\.? )?"
_NAME = r"(?!(?:My|I|And|The|Please|Thanks?|Can|Could|It|We|This|But|So|Hi|Hello)\b)[^\W\d_a-z][\w'\u2019-]*"
_INTRODUCTION = re.compile(
    r"\b[Mm]y (?:(?:full|first|last|family) )?name(?:'s|\u2019s| is) "
    rf"{_TITLE}(?P<name>{_NAME}(?:(?:(?<=\b[^\W\d_])\.)? {_NAME}){{0,3}})(?!\w)"
)
"""`My name is Ana Lopez`: what follows is a name where it is written as one."""


class Person:
    """The persona's name, and the names that its texts hold."""

    def __init__(self, name: str, texts: Iterable[str] = ()) -> None:
        self._words = sorted({word for text in (name, *texts) for word in _words(text)})

    def other_names(self, utterance: str) -> Iterator[str]:
        """Names that the user gives as their own, and whose first or last part is not; initials are anybody's."""
        for match in _INTRODUCTION.finditer(utterance) if "name" in utterance else ():
            given = [word for word in _words(match["name"]) if len(word) > 1]
            if not all(map(self._is_own, [*given[:1], *given[-1:]])):
                yield match["name"]

    def _is_own(self, given: str) -> bool:
        return any(word == given or (len(given) >= SHORT and word.startswith(given)) for word in self._words)


def _words(text: str) -> list[str]:
    """The words in lower case, without accents."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return _WORD.findall(plain.casefold())

"""Text that others wrote, made fit to be looked at: what a terminal obeys, or what reorders a line, is spelled out."""

import unicodedata

_KEPT = ("Zs", "Co", "Cn")


def visible(text: str) -> str:
    """The text with control and format characters as escapes; its lines and spaces stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_seen(character) else _escaped(character) for character in text)


def _is_seen(character: str) -> bool:
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) in _KEPT


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

"""Text that people write or that comes from elsewhere: configurations, ids, skills, questions, trajectories.

This is the one way to read it. A byte order mark, as editors on Windows write it, is no part of the text, and a file in
another encoding is refused in a line, never misread.
"""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import IO

_UTF16 = "it is UTF-16, as some programs on Windows write; save it as UTF-8"
_NO_TEXT = "it holds NUL characters, so it is no text in UTF-8"


_USER = re.compile(r"(\w:/{1,2})[^\s'\"]*@|(?<![^\s'\"=])[\w.%+-]+:[^\s'\"/@]+@(?=[\w.\[-])")
"""User and password of an address, with or without its scheme."""
_QUERY = re.compile(r"(\w:/{1,2}[^\s'\"?#]*)([?#][^\s'\"]*)")
_VALUE = re.compile(r"=[^&#;]*")


def hide_secrets(text: str) -> str:
    """The text with `***` for the passwords, and for the values asked for, in the addresses that stand in it.

    A key that stood in a `base_url` was shown by the very line that refused it.
    """
    text = _USER.sub(lambda found: f"{found[1] or ''}***@", text)
    return _QUERY.sub(lambda found: found[1] + _VALUE.sub("=***", found[2]), text)


class UnreadableTextError(ValueError):
    """A file is no text that can be read; the message says why, on one line."""


def read_user_text(path: Path) -> str:
    """The text of a file, with `\\n` at the ends of lines whatever it has there.

    Raises:
        UnreadableTextError: The file cannot be read, or it is not UTF-8.
    """
    try:
        content = path.read_bytes()
    except IsADirectoryError as error:
        raise UnreadableTextError("it is a folder; name a file") from error
    except OSError as error:
        raise UnreadableTextError(error.strerror or str(error)) from error
    except ValueError as error:  # a path with a NUL
        raise UnreadableTextError(str(error)) from error
    content = content[mark_length(content[: len(BOM_UTF8)]) :]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableTextError(f"line {line} is not UTF-8; save the file as UTF-8") from error
    if "\0" in text:
        raise UnreadableTextError(_NO_TEXT)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_user_lines(path: Path) -> list[tuple[int, str]]:
    """Number and content of each line of a file that says something: without blanks around it, and no empty ones.

    Raises:
        UnreadableTextError: As `read_user_text`.
    """
    lines = enumerate(read_user_text(path).split("\n"), start=1)
    return [(number, line.strip()) for number, line in lines if line.strip()]


def skip_mark(stream: IO[bytes]) -> int:
    """Move a file that was just opened behind its byte order mark. For files that are read line by line.

    Returns:
        The place of the first line: the length of the mark.

    Raises:
        UnreadableTextError: The file is UTF-16.
    """
    length = mark_length(stream.read(len(BOM_UTF8)))
    stream.seek(length)
    return length


def mark_length(start: bytes) -> int:
    """The length of the byte order mark that a text begins with. Raises UnreadableTextError for another encoding."""
    if start.startswith(BOM_UTF8):
        return len(BOM_UTF8)
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise UnreadableTextError(_UTF16)
    if b"\0" in start[:2]:
        # Text in UTF-16 without a mark has a zero byte beside each character of ASCII.
        other = start[:2].replace(b"\0", b"")
        is_ascii = other in (b"\t", b"\n", b"\r") or b" " <= other <= b"~"
        raise UnreadableTextError(_UTF16 if is_ascii else _NO_TEXT)
    return 0

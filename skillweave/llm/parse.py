"""Read an author's reply: tolerant of what surrounds an answer, strict about the answer itself.

Fences, prose, a byte order mark and trailing commas are forgiven. Duplicate keys, NaN, infinities, lone surrogates and
absurd size or depth are refused. Complaints are short, since they are sent back to the author.
"""

import re
from typing import TypeVar

from pydantic import ValidationError

from skillweave import syntax
from skillweave.llm.json_text import JsonTextError, candidates, decode
from skillweave.llm.question import Question

T = TypeVar("T")

MAX_CHARACTERS = 4_000_000
MAX_COMPLAINTS = 8
FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+.-]*)")
"""A line, without the blanks around it."""
THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


class ParseError(Exception):
    """Why a reply is no answer, in words that its author can act on."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__("; ".join(complaints))
        self.complaints = complaints


def parse(question: Question[T], text: str) -> T:
    """The answer that `text` gives. Raises ParseError."""
    if len(text) > MAX_CHARACTERS:
        raise ParseError([f"the answer has {len(text)} characters; at most {MAX_CHARACTERS} are read"])
    text = THINKING.sub("", text.removeprefix("\ufeff")).strip()
    if not text:
        raise ParseError(["the answer is empty"])
    if question.form == "json":
        return _json(question, text)
    answer = _source(text) if question.form == "code" else _unfenced(text)
    return question.adapter.validate_python(answer)


def fenced_blocks(text: str) -> list[str]:
    """Contents of the fenced blocks of a Markdown text; the last may lack its closing fence."""
    blocks: list[str] = []
    block: list[str] = []
    fence = ""
    for line in text.splitlines():
        match = _fence(line)
        if not fence and match:
            fence, block = match[1], []
        elif fence and match and not match[2] and match[1].startswith(fence):
            blocks.append("\n".join(block))
            fence = ""
        elif fence:
            block.append(line)
    if fence:
        blocks.append("\n".join(block))
    return blocks


def _fence(line: str) -> re.Match[str] | None:
    return FENCE.fullmatch(line.strip(" \t"))


def _json(question: Question[T], text: str) -> T:
    first: ParseError | None = None
    for candidate in candidates(text, fenced_blocks(text)):
        try:
            value = decode(candidate)
            if isinstance(value, dict) and [*value] == [question.under]:
                value = value[question.under]
            return question.adapter.validate_python(value)
        except JsonTextError as complaint:
            error = ParseError([str(complaint)])
        except ValidationError as invalid:
            error = ParseError(_complaints(invalid))
        first = first or error
    raise first or ParseError(["the answer holds no JSON; answer with one JSON value and nothing else"])


def _complaints(invalid: ValidationError) -> list[str]:
    errors = invalid.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{_path(error['loc'])}: {error['msg'].removeprefix('Value error, ')}" for error in errors]
    hidden = len(lines) - MAX_COMPLAINTS
    return [*lines[:MAX_COMPLAINTS], *([f"... and {hidden} more"] if hidden > 0 else [])]


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "answer"


def _source(text: str) -> str:
    """The Python source that `text` gives, checked to be Python."""
    blocks = fenced_blocks(text)
    source = (max(blocks, key=len) if blocks else text).strip("\n") + "\n"
    try:
        syntax.parse(source)
    except SyntaxError as error:
        place = f"line {error.lineno}: " if error.lineno is not None else ""
        raise ParseError([f"{place}not valid Python: {error.msg}"]) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ParseError([f"not valid Python: {error or type(error).__name__}"]) from error
    return source


def _unfenced(text: str) -> str:
    """`text` without a fence around the whole of it."""
    lines = text.splitlines()
    opening, closing = _fence(lines[0]), _fence(lines[-1])
    if len(lines) > 2 and opening and closing and opening[2] in ("", "markdown", "md", "text") and not closing[2]:
        return "\n".join(lines[1:-1]).strip() + "\n"
    return text + "\n"

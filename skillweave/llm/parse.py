"""Parse an author's reply: JSON, code, text, or a patch.

Text around an answer is tolerated; the answer itself is read strictly. Fences, prose, a byte order mark and trailing
commas are forgiven. Duplicate keys, NaN, lone surrogates and absurd size or depth are refused. Complaints are
short, since they are sent back to the author.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from skillweave.base.code import parse_python
from skillweave.llm.json_text import JsonTextError, candidates, decode
from skillweave.llm.question import Question
from skillweave.schema.record import Json
from skillweave.thoughts import split_thoughts

T = TypeVar("T")
R = TypeVar("R")

MAX_CHARACTERS = 4_000_000
"""Characters of a reply that are read."""
MAX_COMPLAINTS = 100
"""Far more than an honest answer gets; it bounds the complaint about a hostile one."""
FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+.-]*)")
"""Matches a line that opens or closes a fenced block, without the blanks around it."""
PATCH_OPENING = re.compile(r"^<{5,9} ?SEARCH\s*$")
PATCH_MIDDLE = re.compile(r"^={5,9}\s*$")
PATCH_CLOSING = re.compile(r"^>{5,9} ?REPLACE\s*$")
SHOWN = 200
"""Characters of a block that a complaint shows."""


class ParseError(Exception):
    """A reply is no answer; the complaints say why, in words that its author can act on."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__("; ".join(complaints))
        self.complaints = complaints


@dataclass(frozen=True)
class AnswerElement(Generic[T]):
    """One element of an answer that is a list."""

    place: str
    """For example `tools.3 (renew_loan)`."""
    raw: Json
    """As the author wrote it."""
    value: tuple[T] | None
    """In a tuple, since a value may be None; None if it has not the right form."""
    complaints: tuple[str, ...] = ()
    """What is wrong with its form."""


def parse(question: Question[T], text: str) -> T:
    """Read the answer to a question from a reply.

    Raises:
        ParseError: The reply has no answer of the right form.
    """
    text = _strip(text)
    if question.form == "json":
        return _read_json(text, lambda value: _validated(question.read, question.formed(value)))
    answer = _python_source(text) if question.form == "code" else _unfenced(text)
    return question.read(answer)


def parse_elements(question: Question[list[T]], text: str) -> list[AnswerElement[T]]:
    """Read the elements of a list from a reply, each by itself; a single one may stand without its list.

    Raises:
        ParseError: There is no list, or one that is too long.
    """
    return _read_json(_strip(text), lambda value: list(_elements(question, value)))


def _strip(text: str) -> str:
    """A reply without what may stand before any answer. Raises ParseError if it is empty or too long."""
    if len(text) > MAX_CHARACTERS:
        raise ParseError([f"the answer has {len(text)} characters; at most {MAX_CHARACTERS} are read"])
    text = split_thoughts(text.removeprefix("\ufeff")).words.strip()
    if not text:
        raise ParseError(["the answer is empty"])
    return text


def fenced_blocks(text: str) -> list[str]:
    """The contents of the fenced blocks of a Markdown text; the last may lack its closing fence."""
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


def _read_json(text: str, read: Callable[[Json], R]) -> R:
    """Read the likeliest JSON in a reply that can be read. Raises ParseError, of the likeliest, if none can be."""
    first: ParseError | None = None
    for candidate in candidates(text, fenced_blocks(text)):
        try:
            return read(decode(candidate))
        except JsonTextError as complaint:
            error = ParseError([str(complaint)])
        except ParseError as complaint:
            error = complaint
        first = first or error
    raise first or ParseError(["the answer holds no JSON; answer with one JSON object and nothing else"])


def _validated(validate: Callable[[Json], R], value: Json, before: Sequence[str] = ()) -> R:
    """Validate a value. Raises ParseError; its complaints put the path `before` before each place."""
    try:
        return validate(value)
    except ValidationError as invalid:
        raise ParseError(_complaints(invalid, value, before)) from invalid


def _elements(question: Question[list[T]], value: Json) -> Iterator[AnswerElement[T]]:
    formed = question.formed(value)
    elements: Any = formed[question.under] if isinstance(formed, dict) and question.under else formed
    if isinstance(elements, dict):
        elements = question.formed([elements])[question.under]  # type: ignore[call-overload,index]
    if not isinstance(elements, list) or (isinstance(formed, dict) and len(formed) > 1):
        # The answer has another form as a whole; the question's validator says what is wrong.
        _validated(question.read, formed)
    if question.most is not None and len(elements) > question.most:
        raise ParseError([f"{question.under}: there are {len(elements)} elements; at most {question.most} are read"])
    for number, part in enumerate(elements):
        place = f"{question.under}.{_place(number, part)}"
        try:
            element: T = _validated(question.element.validate_python, part, [place])
        except ParseError as error:
            yield AnswerElement(place, part, None, tuple(error.complaints))
        else:
            yield AnswerElement(place, part, (element,))


def _complaints(invalid: ValidationError, value: Json, before: Sequence[str]) -> list[str]:
    """A line for each place, with all that is wrong there, which are alternatives if several types were tried."""
    messages_by_path: dict[str, dict[str, None]] = {}
    for error in invalid.errors(include_url=False, include_context=False, include_input=False):
        path = ".".join([*before, *_path(error["loc"], value, error["type"] == "missing")]) or "answer"
        messages_by_path.setdefault(path, {})[error["msg"].removeprefix("Value error, ")] = None
    lines = [f"{path}: {' or: '.join(messages)}" for path, messages in messages_by_path.items()]
    hidden = len(lines) - MAX_COMPLAINTS
    return [*lines[:MAX_COMPLAINTS], *([f"... and {hidden} more"] if hidden > 0 else [])]


def _path(location: tuple[int | str, ...], value: Json, is_missing: bool) -> Iterator[str]:
    """The steps to a place in a value, without the names of types that the validator tried."""
    here: Json = value
    for depth, step in enumerate(location, start=1):
        if isinstance(here, dict) and step in here:
            here = here[str(step)]
            yield str(step)
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            here = here[step]
            yield _place(step, here)
        elif is_missing and depth == len(location):
            yield str(step)


def _place(number: int, element: Json) -> str:
    """The place of an element, and its name if it has one: `3 (renew_loan)`."""
    name = element.get("name") if isinstance(element, dict) else None
    return f"{number} ({name[:48]})" if isinstance(name, str) and name else str(number)


def _python_source(text: str) -> str:
    """The Python source in a reply: its longest fenced block, or all of it. Raises ParseError if it is no Python."""
    blocks = fenced_blocks(text)
    source = (max(blocks, key=len) if blocks else text).strip("\n") + "\n"
    try:
        parse_python(source)
    except SyntaxError as error:
        place = f"line {error.lineno}: " if error.lineno is not None else ""
        raise ParseError([f"{place}not valid Python: {error.msg}"]) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ParseError([f"not valid Python: {error or type(error).__name__}"]) from error
    return source


def _unfenced(text: str) -> str:
    """A text without a fence around the whole of it."""
    lines = text.splitlines()
    opening, closing = _fence(lines[0]), _fence(lines[-1])
    if len(lines) > 2 and opening and closing and opening[2] in ("", "markdown", "md", "text") and not closing[2]:
        return "\n".join(lines[1:-1]).strip() + "\n"
    return text + "\n"


class PatchError(Exception):
    """Blocks cannot be read or applied; the message says why, in words for their author."""


class PatchBlock(NamedTuple):
    """One replacement in a file."""

    search: str
    """Whole lines that stand in the file exactly once."""
    replace: str
    """The lines to put there."""


def parse_patch(text: str) -> list[PatchBlock]:
    """Read the SEARCH/REPLACE blocks of a reply, by which an author changes a file without writing it again.

        <<<<<<< SEARCH
        old lines
        =======
        new lines
        >>>>>>> REPLACE

    Text around the blocks is ignored.

    Raises:
        PatchError: There is no block, or one that is not well formed.
    """
    blocks: list[PatchBlock] = []
    search: list[str] = []
    replace: list[str] = []
    part: list[str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if PATCH_OPENING.match(line):
            if part is not None:
                raise PatchError(f"line {number}: a block begins inside another; close each with >>>>>>> REPLACE")
            search, replace = [], []
            part = search
        elif part is search and part is not None and PATCH_MIDDLE.match(line):
            part = replace
        elif part is not None and PATCH_CLOSING.match(line):
            if part is search:
                raise PatchError(f"line {number}: the block has no ======= between its SEARCH and its REPLACE part")
            blocks.append(PatchBlock(_joined(search), _joined(replace)))
            part = None
        elif part is not None:
            part.append(line)
    if part is not None:
        raise PatchError("the last block is not closed by >>>>>>> REPLACE")
    if not blocks:
        raise PatchError("there is no block; write <<<<<<< SEARCH, old lines, =======, new lines, >>>>>>> REPLACE")
    return blocks


def apply_patch(source: str, blocks: Sequence[PatchBlock]) -> str:
    """Apply blocks to a file, one after the other; nothing is guessed.

    Returns:
        The changed source, which ends with a line feed.

    Raises:
        PatchError: The old lines of a block do not stand in the file exactly once.
    """
    source = source if source.endswith("\n") else source + "\n"
    for number, block in enumerate(blocks, start=1):
        if not block.search.strip():
            raise PatchError(f"block {number}: its SEARCH part is empty; give the lines to replace")
        starts = _occurrences(source, block.search)
        if len(starts) != 1:
            count = "does not stand in the file" if not starts else f"stands in the file {len(starts)} times"
            hint = "copy the lines exactly as they are" if not starts else "give more lines around them"
            raise PatchError(f"block {number}: its SEARCH part {count}; {hint}: {block.search[:SHOWN]!r}")
        source = source[: starts[0]] + block.replace + source[starts[0] + len(block.search) :]
    return source


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _occurrences(source: str, search: str) -> list[int]:
    """The places where `search` stands as whole lines."""
    starts: list[int] = []
    start = source.find(search)
    while start >= 0:
        if start == 0 or source[start - 1] == "\n":
            starts.append(start)
        start = source.find(search, start + 1)
    return starts

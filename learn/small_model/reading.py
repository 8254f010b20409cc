"""What the model sees of a conversation: a short row of pieces, in place of thousands of words.

Of the system prompt it sees the first line and the items of the list that follows (the clock, the caller), and nothing
of the policy. Of a tool's result it sees a few rows, best first: those whose cells the user has mentioned. Each cell
carries its key, the rank of its row, whether it was mentioned, and whether it is the lowest or the highest of its
column. A piece depends only on what stands before it, so a conversation that goes on keeps its pieces.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

from learn.small_model.tokens import SMALL, VALUES, ConversationToken, control, text_tokens, value_tokens, word

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
BEGIN: Mapping[str, ConversationToken] = {role: control(role) for role in ROLES}
CALL, END, ROW, UNKNOWN, SPELLED = map(control, ("call", "end", "row", "unknown", "spelled"))
SPELL: Mapping[str, ConversationToken] = {kind: control(f"spell {kind}") for kind in VALUES}
CONTROLS: tuple[ConversationToken, ...] = (*BEGIN.values(), CALL, END, ROW, UNKNOWN, SPELLED, *SPELL.values())
RANKS = 8
"""Ranks of rows that are told apart; 0 is no row."""
NO_FLAG, MENTIONED, KNOWN = 0, 1, 2
"""A cell that the user mentioned; a cell that stood in an earlier result or call."""
KNOWN_WEIGHT = 0.25
"""What a known cell counts where rows are ranked; a mentioned one counts 1."""
LOWEST, HIGHEST = 1, 2
MOST_ROWS = (4, 3, 2, 1)
"""Rows of a result; fewer where the conversation would not fit the window."""
LONGEST_ROW = 32
LONGEST_CELL = 10
LONGEST_MENTION = 120
"""Characters of a cell that a user may mention."""
LONGEST_TEXT = 240
"""Tokens of a message."""
LONGEST_HEAD = 4000
"""Characters of the system prompt that are looked at."""
LONGEST_CONTENT = 20_000
"""Characters of a message that are looked at, results apart."""
MOST_SEEN = 400
"""Rows of a result that are looked at."""
DEEPEST = 8
"""Levels of a result that are looked into."""
SYSTEM_LINE = 14
"""Tokens of a line of the system prompt."""
_TODAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_TIMES = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
_WORDS = re.compile(r"[^\W_]+")
Cells = Mapping[str, Any]


class Piece(NamedTuple):
    """A token where it stands."""

    token: ConversationToken
    role: Role
    key: str = ""
    """The key of the cell or argument that it belongs to."""
    rank: int = 0
    flag: int = NO_FLAG
    extreme: int = 0
    learned: bool = False
    """Whether the model learns to write it."""


def read(messages: Sequence[Mapping[str, Any]], *, window: int, learned: bool = False) -> list[Piece]:
    """The pieces of a conversation.

    Args:
        messages: Messages in OpenAI's form.
        window: The most pieces. Where a conversation has more, results have fewer rows; then its beginning is cut.
        learned: Whether the conversation is to be learned; if not, it ends with the beginning of a reply.
    """
    pieces: list[Piece] = []
    for rows in MOST_ROWS:
        pieces = [piece for message in _Reader(rows).read(messages) for piece in message]
        if not learned:
            pieces.append(Piece(BEGIN["assistant"], "assistant"))
        if len(pieces) <= window:
            break
    return pieces[-window:]


def spelled(token: ConversationToken) -> list[ConversationToken]:
    """A value character by character: the form of one that stood nowhere before."""
    characters = [ConversationToken("number", char) if char.isdigit() else word(char) for char in token.text]
    return [SPELL[token.kind], *characters, SPELLED]


def unspelled(tokens: Iterable[ConversationToken]) -> list[ConversationToken]:
    """The tokens with each spelled value as one again."""
    done: list[ConversationToken] = []
    kind, text = None, ""
    for token in tokens:
        opened = next((name for name, sign in SPELL.items() if sign == token), None)
        if opened is not None:
            kind, text = opened, ""
        elif token == SPELLED:
            if kind is not None and text:
                done.append(_value(kind, text))
            kind = None
        elif kind is not None:
            text += token.text
        else:
            done.append(token)
    return done


_FORMS = {
    "date": re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d{2}"),
    "time": re.compile(r"\d{2}:\d{2}:\d{2}"),
    "money": re.compile(r"-?\d{1,15}"),
}


def _value(kind: Any, text: str) -> ConversationToken:
    """A value, or a word where a model spelled one badly."""
    form = _FORMS.get(kind)
    return ConversationToken(kind, text) if form is None or form.fullmatch(text) else word(text)


def is_copied(token: ConversationToken) -> bool:
    """Whether the model can write a value only where it copies or spells it."""
    return token.kind in VALUES and not (
        token.kind == "number" and token.text.isdigit() and len(token.text) < 3 and int(token.text) <= SMALL
    )


class _Reader:
    """Reads messages in their order, and keeps what was said and seen so far."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._today: str | None = None
        self._said = ""
        self._told: set[ConversationToken] = set()
        self._seen: set[ConversationToken] = set()

    def read(self, messages: Sequence[Mapping[str, Any]]) -> Iterator[list[Piece]]:
        for message in messages:
            content = _content(message.get("content"))
            if message.get("role") != "tool":
                content = content[:LONGEST_CONTENT]
            match message.get("role"):
                case "system" | "developer":
                    pieces = self._system(content)
                case "assistant":
                    pieces = list(self._assistant(content, message.get("tool_calls") or ()))
                case "tool":
                    pieces = list(self._result(content))
                case _:
                    pieces = self._user(content)
            self._seen.update(piece.token for piece in pieces)
            yield pieces

    def _system(self, content: str) -> list[Piece]:
        found = _TODAY.search(content)
        self._today = found.group() if found else None
        lines = content[:LONGEST_HEAD].partition("\n#")[0].splitlines()
        kept = [*lines[:1], *(line for line in lines[1:] if line.startswith("- "))]
        tokens = [token for line in kept for token in text_tokens(line, today=self._today)[:SYSTEM_LINE]]
        return [Piece(token, "system") for token in (BEGIN["system"], *tokens)]

    def _user(self, content: str) -> list[Piece]:
        tokens = text_tokens(content, today=self._today)[:LONGEST_TEXT]
        self._said += _plain(content)
        self._told.update(token for token in tokens if is_copied(token))
        return [Piece(token, "user") for token in (BEGIN["user"], *tokens)]

    def _assistant(self, content: str, calls: Iterable[Mapping[str, Any]]) -> Iterator[Piece]:
        yield Piece(BEGIN["assistant"], "assistant")
        yield from self._written(text_tokens(content, today=self._today)[:LONGEST_TEXT])
        for call in calls:
            yield Piece(CALL, "assistant", learned=True)
            yield Piece(ConversationToken("tool", str(call["function"]["name"])), "assistant", learned=True)
            for name, value in json.loads(call["function"]["arguments"] or "{}").items():
                yield Piece(ConversationToken("key", name), "assistant", learned=True)
                yield from self._written(value_tokens(value, name), name)
        yield Piece(END, "assistant", learned=True)

    def _written(self, tokens: Iterable[ConversationToken], key: str = "") -> Iterator[Piece]:
        for token in tokens:
            known = token in self._seen or not is_copied(token)
            yield from (Piece(part, "assistant", key, learned=True) for part in ([token] if known else spelled(token)))

    def _result(self, content: str) -> Iterator[Piece]:
        yield Piece(BEGIN["tool"], "tool")
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = content
        rows = list(islice(_rows(value), MOST_SEEN))
        yield Piece(ConversationToken("number", str(len(rows))), "tool")
        ends = _extremes(rows)
        scored = [list(self._cells(row, ends)) for row in rows]
        best = sorted(range(len(rows)), key=lambda place: (-_score(scored[place]), place))[: self._rows]
        for rank, place in enumerate(best, 1):
            rank = min(rank, RANKS - 1)
            yield Piece(ROW, "tool", rank=rank)
            cells = islice(chain.from_iterable(scored[place]), LONGEST_ROW)
            yield from (piece._replace(rank=rank) for piece in cells)

    def _cells(self, row: Cells, ends: Mapping[str, tuple[Any, Any]]) -> Iterator[list[Piece]]:
        for key, value in row.items():
            if value is None:
                continue
            low, high = ends.get(key, (None, None))
            extreme = LOWEST if value == low else HIGHEST if value == high else 0
            is_said = isinstance(value, str) and len(value) < LONGEST_MENTION and _plain(value) in self._said
            tokens = value_tokens(value, key)[:LONGEST_CELL]
            yield [Piece(token, "tool", key, 0, self._flag(token, is_said), extreme) for token in tokens]

    def _flag(self, token: ConversationToken, is_said: bool) -> int:
        if is_said or token in self._told:
            return MENTIONED
        return KNOWN if token in self._seen and is_copied(token) else NO_FLAG


def _content(content: object) -> str:
    """A message's content as one text, also where it comes in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _plain(text: str) -> str:
    """Lower-case words with a space on either side."""
    return f" {' '.join(_WORDS.findall(text.lower()))} "


def _rows(value: object, depth: int = 0) -> Iterator[Cells]:
    """The rows of a result: an object's own cells, then the rows of what is in it."""
    match value:
        case dict() if depth < DEEPEST:
            plain = {key: cell for key, cell in value.items() if not isinstance(cell, dict | list)}
            if plain:
                yield plain
            for key, cell in value.items():
                if cell in ([], {}):
                    yield {key: "none"}
                elif isinstance(cell, dict | list):
                    yield from _rows(cell, depth + 1)
        case list() if depth < DEEPEST:
            for item in value:
                yield from _rows(item, depth + 1)
        case dict() | list():
            yield {"": "deeper"}
        case str():
            yield {"": value[:LONGEST_CONTENT]}
        case _:
            yield {"": value}


def _extremes(rows: Sequence[Cells]) -> dict[str, tuple[Any, Any]]:
    """The lowest and the highest value of each column of numbers, dates or times."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for key, value in row.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number or (isinstance(value, str) and _TIMES.match(value)):
                columns.setdefault(key, []).append(value)
    alike = {key: values for key, values in columns.items() if len({isinstance(value, str) for value in values}) == 1}
    return {key: (min(values), max(values)) for key, values in alike.items() if len({*values}) > 1}


def _score(cells: Sequence[Sequence[Piece]]) -> float:
    """How well a row fits what was mentioned."""
    flags = [{piece.flag for piece in cell} for cell in cells]
    return sum(1.0 if MENTIONED in cell else KNOWN_WEIGHT if KNOWN in cell else 0.0 for cell in flags)

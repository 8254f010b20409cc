"""How a statement is laid out in a server's source: one line where it fits, else a line a clause.

Only the space between tokens is chosen here.
"""

from collections.abc import Sequence

from synth.offline.coding.tokens import is_word, text_of, tokens_of

CLAUSES = frozenset(
    {"SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "SET", "VALUES", "UNION", "EXCEPT", "INTERSECT"}
    | {"AND", "OR", "WHEN", "ELSE", "JOIN", "LEFT", "INNER", "CROSS"}
)
"""Words that begin a line where a statement does not fit on one."""


def lay_out(sql: str, width: int) -> list[str]:
    """The lines of a statement, none longer than `width` where that can be had."""
    return _lines(tokens_of(sql), width)


def _lines(tokens: Sequence[str], width: int) -> list[str]:
    if len(text_of(tokens)) <= width:
        return [text_of(tokens)]
    clauses = _clauses(tokens)
    if len(clauses) > 1:
        return [line for clause in clauses for line in _clause(clause, width)]
    return _fill(tokens, width)


def _clause(tokens: Sequence[str], width: int) -> list[str]:
    """The lines of a clause; what continues a condition stands a little further in."""
    inset = "  " if is_word(tokens[0], "AND", "OR") else ""
    return [inset + line for line in _lines(tokens, width - len(inset))]


def _clauses(tokens: Sequence[str]) -> list[list[str]]:
    """The tokens cut before each clause word that stands outside parentheses and CASE."""
    parts: list[list[str]] = [[]]
    depth = 0
    between = False
    for token in tokens:
        if depth == 0 and is_word(token, *CLAUSES) and parts[-1]:
            joined = is_word(token, "JOIN") and is_word(parts[-1][-1], "LEFT", "INNER", "CROSS", "OUTER")
            if not joined and not (between and is_word(token, "AND")):
                parts.append([])
        between = is_word(token, "BETWEEN") or (between and not is_word(token, "AND"))
        depth += _step(token)
        parts[-1].append(token)
    return parts


def _step(token: str) -> int:
    """How much deeper the tokens behind this one are."""
    if token == "(" or is_word(token, "CASE"):
        return 1
    return -1 if token == ")" or is_word(token, "END") else 0


def _fill(tokens: Sequence[str], width: int) -> list[str]:
    """A clause over several lines: at its commas, and where a piece is too long, inside its parentheses."""
    pieces: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += _step(token)
        pieces[-1].append(token)
        if depth == 0 and token == ",":
            pieces.append([])
    lines: list[str] = []
    for piece in pieces:
        text = text_of(piece)
        margin = "    " if lines else ""
        if lines and len(lines[-1]) + 1 + len(text) <= width and not lines[-1].lstrip().startswith((")", "END")):
            lines[-1] += f" {text}"
        elif len(text) + len(margin) <= width:
            lines.append(margin + text)
        else:
            lines += [margin + line for line in _open(piece, width - len(margin))]
    return lines


def _open(piece: Sequence[str], width: int) -> list[str]:
    """A piece with the contents of its longest parenthesis, or CASE, on lines of their own."""
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    for place, token in enumerate(piece):
        if _step(token) > 0:
            opened.append(place)
        elif _step(token) < 0 and opened:
            start = opened.pop()
            if not opened:
                spans.append((start, place))
    if not spans:
        return [text_of(piece)]
    start, end = max(spans, key=lambda span: span[1] - span[0])
    head, inner, tail = piece[: start + 1], piece[start + 1 : end], piece[end:]
    return [text_of(head), *(f"    {line}" for line in _lines(inner, width - 4)), text_of(tail)]

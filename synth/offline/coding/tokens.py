"""SQL as tokens: enough to take an expression apart and to lay a statement out, without changing one of its tokens.

sqlglot would print a statement in its own words; a server holds the author's.
"""

import re
from collections.abc import Iterator, Sequence

TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?\*/)
  | '(?:[^']|'')*'
  | "(?:[^"]|"")*"
  | `[^`]*`|\[[^\]]*\]
  | :[A-Za-z_][A-Za-z0-9_]*
  | \d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?
  | [^\W\d]\w*
  | <=|>=|<>|!=|==|\|\||<<|>>
  | .
    """,
    re.VERBOSE | re.DOTALL,
)
COMPARISONS = {"=": "==", "==": "==", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
"""SQL operator -> Python operator."""


def tokens_of(sql: str) -> list[str]:
    """The tokens of `sql`, spaces and comments left out."""
    return [match.group() for match in TOKEN.finditer(sql) if match.lastgroup != "space"]


def text_of(tokens: Sequence[str]) -> str:
    """The tokens as one line of SQL."""
    text = ""
    previous = ""
    for token in tokens:
        text += token if _tight(previous, token) else f" {token}"
        previous = token
    return text


def _tight(previous: str, token: str) -> bool:
    """Whether no space stands between the two."""
    if not previous or previous in ("(", ".") or token in (")", ",", ".", ";"):
        return True
    return token == "(" and previous.isidentifier() and previous.upper() not in BEFORE_PARENTHESIS


BEFORE_PARENTHESIS = frozenset(
    {"AND", "OR", "NOT", "IN", "EXISTS", "WHERE", "SELECT", "FROM", "JOIN", "ON", "WHEN", "THEN", "ELSE", "CASE", "AS"}
    | {"BETWEEN", "VALUES", "SET", "UNION", "ALL", "EXCEPT", "INTERSECT", "LIKE", "HAVING", "BY", "LIMIT", "OFFSET"}
    | {"IS", "OVER", "DISTINCT"}
)
"""Words that are no function names: a space stands between them and a parenthesis."""


def is_word(token: str, *words: str) -> bool:
    """Whether the token is one of these keywords."""
    return token.upper() in words


def bindings(tokens: Sequence[str]) -> list[str]:
    """Names bound, in order of their first use."""
    return list(dict.fromkeys(token[1:] for token in tokens if token.startswith(":") and len(token) > 1))


def top_level(tokens: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Tokens outside every parenthesis and CASE, with their places."""
    depth = 0
    for place, token in enumerate(tokens):
        if token == ")" or is_word(token, "END"):
            depth -= 1
        elif depth == 0:
            yield place, token
        if token == "(" or is_word(token, "CASE"):
            depth += 1


def split(tokens: Sequence[str], word: str) -> list[list[str]]:
    """The parts between top-level `AND`s or `OR`s; the AND of a BETWEEN divides nothing."""
    parts: list[list[str]] = []
    start = 0
    between = False
    for place, token in top_level(tokens):
        if is_word(token, "BETWEEN"):
            between = True
        elif between and is_word(token, "AND"):
            between = False
        elif is_word(token, word):
            parts.append(list(tokens[start:place]))
            start = place + 1
    return [*parts, list(tokens[start:])]


def unwrap(tokens: Sequence[str]) -> list[str]:
    """The tokens without parentheses round the whole of them; those of a subquery stay."""
    inner = list(tokens)
    while (
        len(inner) > 2
        and inner[0] == "("
        and closing(inner, 0) == len(inner) - 1
        and not is_word(inner[1], "SELECT", "WITH")
    ):
        inner = inner[1:-1]
    return inner


def closing(tokens: Sequence[str], opening: int) -> int:
    """The place of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(tokens)):
        if tokens[place] == "(":
            depth += 1
        elif tokens[place] == ")":
            depth -= 1
            if depth == 0:
                return place
    return len(tokens)

"""SQL as tokens, and statements and errors as they are written in a server's source.

Tokens are enough to take an expression apart and to lay a statement out without changing one of them. sqlglot would
print a statement in its own words; a server holds the author's. The form of a server's function is the rest of it.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from synth.servers.skeleton import BODY_WIDTH, string, strings

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
    """The tokens of `sql`, without spaces and comments."""
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
    """Whether there is no space between two tokens."""
    if not previous or previous in ("(", ".") or token in (")", ",", ".", ";"):
        return True
    return token == "(" and previous.isidentifier() and previous.upper() not in BEFORE_PARENTHESIS


BEFORE_PARENTHESIS = frozenset(
    {"AND", "OR", "NOT", "IN", "EXISTS", "WHERE", "SELECT", "FROM", "JOIN", "ON", "WHEN", "THEN", "ELSE", "CASE", "AS"}
    | {"BETWEEN", "VALUES", "SET", "UNION", "ALL", "EXCEPT", "INTERSECT", "LIKE", "HAVING", "BY", "LIMIT", "OFFSET"}
    | {"IS", "OVER", "DISTINCT"}
)
"""Words that are no function names: a space comes between them and a parenthesis."""


def is_word(token: str, *words: str) -> bool:
    """Whether the token is one of these keywords."""
    return token.upper() in words


def bindings(tokens: Sequence[str]) -> list[str]:
    """The names that are bound, in the order of their first use."""
    return list(dict.fromkeys(token[1:] for token in tokens if token.startswith(":") and len(token) > 1))


GIVEN = frozenset({"caller", "person", "now"})


def bound(tokens: Sequence[str]) -> list[str]:
    """Arguments that give a statement its bindings, but for those that the session provides."""
    return [f"{name}={name}" for name in bindings(tokens) if name not in GIVEN]


def top_level(tokens: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Tokens outside every parenthesis and CASE, with their positions."""
    depth = 0
    for place, token in enumerate(tokens):
        if token == ")" or is_word(token, "END"):
            depth -= 1
        elif depth == 0:
            yield place, token
        if token == "(" or is_word(token, "CASE"):
            depth += 1


def split(tokens: Sequence[str], word: str) -> list[list[str]]:
    """The parts between top-level `AND`s or `OR`s. The AND of a BETWEEN does not count."""
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
    """The tokens without parentheses around all of them. Those of a subquery stay."""
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
    """The position of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(tokens)):
        if tokens[place] == "(":
            depth += 1
        elif tokens[place] == ")":
            depth -= 1
            if depth == 0:
                return place
    return len(tokens)


CLAUSES = frozenset(
    {"SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "SET", "VALUES", "UNION", "EXCEPT", "INTERSECT"}
    | {"AND", "OR", "WHEN", "ELSE", "JOIN", "LEFT", "INNER", "CROSS"}
)
"""Words that begin a line if a statement does not fit on one line."""


def lay_out(sql: str, width: int) -> list[str]:
    """The lines of a statement, none longer than `width` as far as that is possible."""
    return _lines(tokens_of(sql), width)


def _lines(tokens: Sequence[str], width: int) -> list[str]:
    if len(text_of(tokens)) <= width:
        return [text_of(tokens)]
    clauses = _clauses(tokens)
    if len(clauses) > 1:
        return [line for clause in clauses for line in _clause(clause, width)]
    return _fill(tokens, width)


def _clause(tokens: Sequence[str], width: int) -> list[str]:
    """The lines of a clause. What continues a condition is indented a little more."""
    inset = "  " if is_word(tokens[0], "AND", "OR") else ""
    return [inset + line for line in _lines(tokens, width - len(inset))]


def _clauses(tokens: Sequence[str]) -> list[list[str]]:
    """The tokens, cut before each clause word outside parentheses and CASE."""
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
    """By how much a token changes the depth of the tokens after it."""
    if token == "(" or is_word(token, "CASE"):
        return 1
    return -1 if token == ")" or is_word(token, "END") else 0


def _fill(tokens: Sequence[str], width: int) -> list[str]:
    """A clause on several lines: cut at its commas, and inside the parentheses of pieces that are too long."""
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
    """A piece with the content of its longest parenthesis, or CASE, on lines of its own."""
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


def call(opening: str, sql: str, arguments: Sequence[str], closing: str) -> list[str]:
    """The lines of a call whose first argument is a statement.

    Args:
        opening: What comes before the statement: `db.run(`.
        sql: The statement.
        arguments: The other arguments, as code.
        closing: What comes after them: `)`.
    """
    flat = f"{opening}{', '.join([string(text_of(tokens_of(sql))), *arguments])}{closing}"
    if len(flat) <= BODY_WIDTH:
        return [flat]
    return [opening, *_statement(sql), *wrap(arguments), closing]


def _statement(sql: str) -> list[str]:
    line = f"    {string(text_of(tokens_of(sql)))},"
    if len(line) <= BODY_WIDTH:
        return [line]
    text = [f"    {part}" for part in lay_out(sql, BODY_WIDTH - 4)]
    escaped = [part.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for part in text]
    return ['    """', *escaped, '    """,']


def wrap(items: Sequence[str]) -> list[str]:
    """Arguments of a call that does not fit on one line, each on its own."""
    return [f"    {item}," for item in items]


def queried_test(sql: str) -> list[str]:
    """The `if` of a broken guard that the database decides as a whole."""
    tokens = unwrap(tokens_of(sql))
    negated = is_word(tokens[0], "NOT") and len(tokens) > 1 and is_word(tokens[1], "EXISTS")
    inner = tokens[1:] if negated else tokens
    if is_word(inner[0], "EXISTS") and closing(inner, 1) == len(inner) - 1:
        opening = "if db.exists(" if negated else "if not db.exists("
        return call(opening, text_of(inner[2:-1]), bound(inner), "):")
    return call("if not db.true(", text_of(tokens), bound(tokens), "):")


def refusal(code: str, message: str, rule: str) -> list[str]:
    """The statement that refuses a call, inside an `if`."""
    flat = f"    raise Refused({string(code)}, {string(message)}, rule={string(rule)})"
    if len(flat) <= BODY_WIDTH:
        return [flat]
    lines = strings(message, BODY_WIDTH - 8)
    lines[-1] += ","
    return [
        "    raise Refused(",
        f"        {string(code)},",
        *(f"        {line}" for line in lines),
        f"        rule={string(rule)},",
        "    )",
    ]


class TextEdit(NamedTuple):
    """A part of a text to be replaced, in characters."""

    start: int
    end: int
    """The position after the last character."""
    text: str


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with these parts replaced, of which no two overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


Definition = ast.FunctionDef | ast.Assign | ast.AnnAssign


def sessions_in(node: ast.AST) -> set[str]:
    """The names by which a function and those in it know the session."""
    return {
        argument.arg
        for argument in ast.walk(node)
        if isinstance(argument, ast.arg) and getattr(argument.annotation, "id", "") == "ServerSession"
    }


def is_session_call(node: ast.AST, names: set[str]) -> bool:
    """Whether a node calls a method of one of these names."""
    func = node.func if isinstance(node, ast.Call) else None
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in names


class SourceForm(ast.NodeTransformer):
    """The form of definitions: their syntax trees with names mapped and statements taken out."""

    def __init__(self, names: Mapping[str, str], tables: Mapping[str, str], rules: Mapping[str, str]) -> None:
        self.statements: list[tuple[str, str]] = []
        """Method of the session and its statement, in order."""
        self._names, self._tables, self._rules = names, tables, rules
        self._session_names: set[str] = set()

    def of(self, node: Definition, is_tool: bool, skipped: range = range(0)) -> str:
        """The form of a definition, which is changed; of a tool without its head and the skipped statements."""
        self._session_names = sessions_in(node)
        parts: Sequence[ast.AST] = [node]
        if isinstance(node, ast.FunctionDef):
            node.name = self._names.get(node.name, node.name)
            if is_tool:
                parts = [part for place, part in enumerate(node.body) if place and place not in skipped]
        return "\n".join(ast.dump(self.visit(part)) for part in parts)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            node.value = self._rules.get(node.value, node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if is_session_call(node, self._session_names) and node.args and isinstance(first := node.args[0], ast.Constant):
            method = cast(ast.Attribute, node.func).attr
            if method == "new_id":
                first.value = self._tables.get(str(first.value), str(first.value))
            else:
                self.statements.append((method, str(first.value)))
                first.value = None
        return self.generic_visit(node)

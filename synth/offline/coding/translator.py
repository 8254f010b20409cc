"""Guards in Python: translate the parts of an SQL condition that read better in Python; the database decides the rest.

The result is exactly equivalent, also for NULL. The translator handles AND, OR, NOT, comparisons of values of one known
type, IN, BETWEEN, IS NULL, existence of a row by its key, columns of such rows, counts, and CASE over literals.
Arithmetic, functions and all else stay SQL, because SQLite's overflow and affinity differ from Python's.
"""

import re
from collections.abc import Sequence
from typing import Literal

from synth.offline.coding.scope import (
    OPPOSITE,
    FetchedRow,
    Operand,
    PythonCondition,
    RowQuery,
    Scope,
    among,
    compare,
    is_null,
    join,
    query,
    row_query,
    stem_of,
    truth,
)
from synth.servers.skeleton import string
from synth.servers.sql_text import (
    COMPARISONS,
    bound,
    closing,
    is_word,
    split,
    text_of,
    tokens_of,
    top_level,
    unwrap,
)

Tokens = Sequence[str]
NUMBER = re.compile(r"\d+(\.\d+)?")


class Translator:
    """Translates the guards of one tool."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def condition(self, sql: str) -> PythonCondition:
        """The guard `sql` as a condition. `scope.pending` lists the rows and values to fetch first."""
        return self._condition(tokens_of(sql), negated=False, row=None)

    def _condition(self, tokens: Tokens, negated: bool, row: FetchedRow | None) -> PythonCondition:
        tokens = unwrap(tokens)
        for word in ("OR", "AND"):
            parts = split(tokens, word)
            if len(parts) > 1:
                joined: Literal["and", "or"] = "or" if (word == "OR") != negated else "and"
                return self._joined(parts, joined, negated, row)
        if is_word(tokens[0], "NOT"):
            return self._condition(tokens[1:], not negated, row)
        before = self.scope.mark()
        leaf = self._leaf(tokens, negated, row)
        if leaf is not None:
            return leaf
        self.scope.undo(before)
        if row is not None:
            raise Untranslatable
        return self._queried(tokens, negated)

    def _joined(
        self, parts: list[list[str]], word: Literal["and", "or"], negated: bool, row: FetchedRow | None
    ) -> PythonCondition:
        before = self.scope.facts
        conditions: list[PythonCondition] = []
        for part in parts:
            conditions.append(self._condition(part, negated, row))
            self.scope.facts |= conditions[-1].facts if word == "and" else conditions[-1].facts_broken
        self.scope.facts = before
        return join(conditions, word)

    def _queried(self, tokens: Tokens, negated: bool) -> PythonCondition:
        """A part that the database decides."""
        inner = unwrap(tokens)
        if is_word(inner[0], "EXISTS") and closing(inner, 1) == len(inner) - 1:
            exists = query(self._call("exists", inner[2:-1]))
            return PythonCondition(exists.broken, exists.holds, queries=True) if negated else exists
        return query(self._call("true", ["NOT", "(", *tokens, ")"] if negated else tokens))

    def _call(self, method: str, tokens: Tokens) -> str:
        return f"db.{method}({', '.join([string(text_of(tokens)), *bound(tokens)])})"

    def _leaf(self, tokens: Tokens, negated: bool, row: FetchedRow | None) -> PythonCondition | None:
        known = self.scope.facts
        if is_word(tokens[0], "EXISTS"):
            return self._exists(tokens, negated) if row is None else None
        words = {token.upper(): place for place, token in reversed(list(top_level(tokens)))}
        if "IS" in words:
            return self._is_null(tokens, words["IS"], negated, row)
        if "BETWEEN" in words:
            return self._between(tokens, words["BETWEEN"], negated, row)
        if "IN" in words:
            return self._among(tokens, words["IN"], negated, row)
        operators = [(place, token) for place, token in top_level(tokens) if token in COMPARISONS]
        if not operators:
            alone = self.operand(tokens, row)
            return truth(alone, negated, known) if alone is not None and alone.kind == "number" else None
        place, token = operators[0]
        left, right = self.operand(tokens[:place], row), self.operand(tokens[place + 1 :], row)
        if len(operators) > 1 or left is None or right is None or left.kind != right.kind:
            return None
        operator = COMPARISONS[token]
        return compare(left, OPPOSITE[operator] if negated else operator, right, known)

    def _is_null(self, tokens: Tokens, place: int, negated: bool, row: FetchedRow | None) -> PythonCondition | None:
        rest = [token.upper() for token in tokens[place + 1 :]]
        operand = self.operand(tokens[:place], row)
        if operand is None or rest not in (["NULL"], ["NOT", "NULL"]):
            return None
        return is_null(operand, negated != (rest == ["NOT", "NULL"]), self.scope.facts)

    def _between(self, tokens: Tokens, place: int, negated: bool, row: FetchedRow | None) -> PythonCondition | None:
        middle = next((at for at, token in top_level(tokens) if at > place and is_word(token, "AND")), None)
        if middle is None or is_word(tokens[place - 1], "NOT"):
            return None
        value = self.operand(tokens[:place], row)
        low, high = self.operand(tokens[place + 1 : middle], row), self.operand(tokens[middle + 1 :], row)
        if value is None or low is None or high is None or not value.kind == low.kind == high.kind:
            return None
        if negated or value.needs or low.nullable or high.nullable or low.needs or high.needs:
            return None
        checks = (value.code,) if value.nullable and value.code not in self.scope.facts else ()
        inside = f"{low.code} <= {value.code} <= {high.code}"
        return PythonCondition(
            holds=(*(f"{code} is not None" for code in checks), inside),
            broken=(*(f"{code} is None" for code in checks), f"not {inside}"),
            facts=frozenset({value.code}),
        )

    def _among(self, tokens: Tokens, place: int, negated: bool, row: FetchedRow | None) -> PythonCondition | None:
        inner_not = place > 0 and is_word(tokens[place - 1], "NOT")
        operand = self.operand(tokens[: place - inner_not], row)
        literals = [self.literal(part) for part in _items(unwrap(tokens[place + 1 :]))]
        if operand is None or any(item is None or item.kind != operand.kind for item in literals):
            return None
        codes = [item.code for item in literals if item is not None]
        return among(operand, codes, negated != inner_not, self.scope.facts) if codes else None

    def _exists(self, tokens: Tokens, negated: bool) -> PythonCondition | None:
        select = row_query(tokens[1:], self.scope.tables)
        row = self._row(select) if select is not None else None
        if select is None or row is None or (negated and select.rest):
            return None
        there = PythonCondition(
            holds=(f"{row.variable} is not None",),
            broken=(f"{row.variable} is None",),
            facts=frozenset({row.variable}),
        )
        if negated:
            return PythonCondition(there.broken, there.holds, facts_broken=there.facts)
        if row.variable in self.scope.facts and select.rest:
            parts: list[PythonCondition] = []
        else:
            parts = [there]
        before = self.scope.facts
        self.scope.facts |= there.facts
        try:
            parts += [self._condition(select.bare(part), False, row) for part in select.rest]
        except Untranslatable:
            return None
        finally:
            self.scope.facts = before
        return join(parts, "and")

    def _row(self, select: RowQuery) -> FetchedRow | None:
        """The row that a subquery finds, if Python has the value of its key."""
        key = self.operand(select.key, None)
        if key is None or key.kind != "text" or any(need not in self.scope.facts for need in key.needs):
            return None
        binding = select.key[0][1:] if select.key[0].startswith(":") else select.entity.key
        return self.scope.lookup(select.entity, binding, key.code)

    def operand(self, tokens: Tokens, row: FetchedRow | None) -> Operand | None:
        """A value that Python has; None if only the database knows it."""
        tokens = unwrap(tokens)
        if not tokens:
            return None
        if len(tokens) == 1 and tokens[0].startswith(":"):
            return self.scope.parameter(tokens[0][1:])
        if len(tokens) == 1 and row is not None and tokens[0].isidentifier():
            return self.scope.column(row, tokens[0])
        if is_word(tokens[0], "CASE"):
            return self._case(tokens, row)
        if tokens[0] == "(" and closing(tokens, 0) == len(tokens) - 1 and row is None:
            return self._scalar(tokens)
        return self.literal(tokens)

    def literal(self, tokens: Tokens) -> Operand | None:
        """A number or a string."""
        if len(tokens) == 1 and tokens[0].startswith("'"):
            return Operand(string(tokens[0][1:-1].replace("''", "'")), "text")
        sign, digits = ("-", tokens[1:]) if tokens and tokens[0] == "-" else ("", tokens)
        if len(digits) == 1 and NUMBER.fullmatch(digits[0]) and len(digits[0]) < 16:
            plain = digits[0] if "." in digits[0] else str(int(digits[0]))
            return Operand(sign + plain, "number")
        return None

    def _scalar(self, tokens: Tokens) -> Operand | None:
        """A subquery: a column of a row by its key, or a count."""
        inner = list(tokens[1:-1])
        if [token.upper() for token in inner[:6]] == ["SELECT", "COUNT", "(", "*", ")", "FROM"]:
            plain = not any(is_word(token, "GROUP", "UNION", "LIMIT", "HAVING") for _, token in top_level(inner))
            entity = self.scope.tables.get(inner[6].lower())
            counted = inner[6].lower() if entity is None else stem_of(entity)
            return Operand(self._fetched(inner, f"{counted}_count"), "number") if plain else None
        select = row_query(tokens, self.scope.tables)
        if select is None or select.rest or select.column is None:
            return None
        row = self._row(select)
        return self.scope.column(row, select.column) if row is not None else None

    def _fetched(self, tokens: Tokens, name: str) -> str:
        return self.scope.fetch(text_of(tokens), bound(tokens), name)

    def _case(self, tokens: Tokens, row: FetchedRow | None) -> Operand | None:
        """`CASE x WHEN 'a' THEN 1 ... ELSE 2 END` as a dictionary look-up."""
        marks = [(at, token.upper()) for at, token in top_level(tokens[1:-1]) if is_word(token, "WHEN", "THEN", "ELSE")]
        body = tokens[1:-1]
        if not marks or not is_word(tokens[-1], "END") or marks[-1][1] != "ELSE":
            return None
        subject = self.operand(body[: marks[0][0]], row)
        ends = [at for at, _ in marks[1:]] + [len(body)]
        parts = [(word, self.literal(body[at + 1 : end])) for (at, word), end in zip(marks, ends, strict=True)]
        values = [operand for word, operand in parts if word != "WHEN"]
        keys = [operand for word, operand in parts if word == "WHEN"]
        if subject is None or any(operand is None for _, operand in parts):
            return None
        kinds = {operand.kind for operand in values if operand is not None}
        if len(kinds) != 1 or any(operand is not None and operand.kind != subject.kind for operand in keys):
            return None
        if any(need not in self.scope.facts for need in subject.needs) or subject.kind != "text":
            return None
        codes = [operand.code for operand in values if operand is not None]
        pairs = [f"{key.code}: {code}" for key, code in zip(keys, codes, strict=False) if key is not None]
        return Operand(f"{{{', '.join(pairs)}}}.get({subject.code}, {codes[-1]})", kinds.pop())


class Untranslatable(Exception):
    """A condition on a row that Python cannot express."""


def _items(tokens: Tokens) -> list[list[str]]:
    """The parts between commas."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts

"""Conditions in Python with two truth values: each holds if and only if its SQL is exactly true.

NULL is handled in the leaves: `x < y` in SQL becomes `x is not None and x < y`, and its opposite, which refuses a call,
`x is None or x >= y`. The check is left out if an earlier part has shown that the value is not None.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in"}


@dataclass(frozen=True)
class Operand:
    """A value in Python, and what must be known before it is read."""

    code: str
    kind: Literal["text", "number"]
    nullable: bool = False
    needs: tuple[str, ...] = ()
    """What must not be None before `code` is evaluated: the row that it is read from."""


@dataclass(frozen=True)
class PythonCondition:
    """A condition and its opposite, each as parts that are joined by one word."""

    holds: tuple[str, ...]
    broken: tuple[str, ...]
    joined: Literal["and", "or"] = "and"
    """The word that joins the parts of `holds`. The parts of `broken` are joined by the other one."""
    facts: frozenset[str] = frozenset()
    """What is not None if it holds."""
    facts_broken: frozenset[str] = frozenset()
    """What is not None if it is broken."""
    queries: bool = field(default=False)
    """Whether it asks the database."""


def compare(left: Operand, operator: str, right: Operand, known: frozenset[str]) -> PythonCondition:
    """`left operator right`, true only if both are values. `known` is what is not None."""
    needs = [code for operand in (left, right) for code in operand.needs if code not in known]
    nullable_sides = [side.code for side in (left, right) if side.nullable and side.code not in known]
    facts = frozenset([*needs, *nullable_sides, *left.needs, *right.needs])
    if operator == "==" and nullable_sides:
        # None equals no value, so it is enough if one side is a value.
        nullable_sides = nullable_sides[1:]
    checks = [*dict.fromkeys([*needs, *nullable_sides])]
    return PythonCondition(
        holds=(*(f"{code} is not None" for code in checks), f"{left.code} {operator} {right.code}"),
        broken=(*(f"{code} is None" for code in checks), f"{left.code} {OPPOSITE[operator]} {right.code}"),
        facts=facts,
    )


def among(operand: Operand, literals: Sequence[str], negated: bool, known: frozenset[str]) -> PythonCondition:
    """`operand IN (literals)`, or NOT IN."""
    choices = f"({', '.join(literals)}{',' if len(literals) == 1 else ''})"
    checks = [code for code in operand.needs if code not in known]
    if negated and operand.nullable and operand.code not in known:
        checks.append(operand.code)
    word, opposite = ("not in", "in") if negated else ("in", "not in")
    return PythonCondition(
        holds=(*(f"{code} is not None" for code in checks), f"{operand.code} {word} {choices}"),
        broken=(*(f"{code} is None" for code in checks), f"{operand.code} {opposite} {choices}"),
        facts=frozenset([*operand.needs, operand.code]),
    )


def is_null(operand: Operand, negated: bool, known: frozenset[str]) -> PythonCondition:
    """`operand IS NULL`, or IS NOT NULL. A value of a missing row is NULL too."""
    checks = [code for code in operand.needs if code not in known]
    present = (*(f"{code} is not None" for code in checks), f"{operand.code} is not None")
    absent = (*(f"{code} is None" for code in checks), f"{operand.code} is None")
    facts = frozenset([*operand.needs, operand.code])
    if negated:
        return PythonCondition(holds=present, broken=absent, facts=facts)
    return PythonCondition(holds=absent, broken=present, joined="or", facts_broken=facts)


def truth(operand: Operand, negated: bool, known: frozenset[str]) -> PythonCondition:
    """A number alone: true if it is not zero."""
    if negated:
        return compare(operand, "==", Operand("0", "number"), known)
    checks = [code for code in operand.needs if code not in known]
    return PythonCondition(
        holds=(*(f"{code} is not None" for code in checks), operand.code),
        broken=(*(f"{code} is None" for code in checks), f"not {operand.code}"),
        facts=frozenset([*operand.needs, operand.code]),
    )


def query(code: str) -> PythonCondition:
    """A condition that the database decides: a call that returns True or False."""
    return PythonCondition(holds=(code,), broken=(f"not {code}",), queries=True)


def join(parts: Sequence[PythonCondition], word: Literal["and", "or"]) -> PythonCondition:
    """Join parts. Each was made with what the earlier ones have shown."""
    if len(parts) == 1:
        return parts[0]
    other: Literal["and", "or"] = "or" if word == "and" else "and"
    holds = [text for part in parts for text in _operands(part.holds, part.joined, word)]
    broken = [text for part in parts for text in _operands(part.broken, _other(part), other)]
    shown = frozenset(fact for part in parts for fact in (part.facts if word == "and" else part.facts_broken))
    return PythonCondition(
        holds=tuple(holds),
        broken=tuple(broken),
        joined=word,
        facts=shown if word == "and" else frozenset(),
        facts_broken=shown if word == "or" else frozenset(),
        queries=any(part.queries for part in parts),
    )


def _other(part: PythonCondition) -> Literal["and", "or"]:
    return "or" if part.joined == "and" else "and"


def _operands(texts: Sequence[str], joined: str, word: str) -> list[str]:
    if len(texts) == 1 or joined == word:
        return list(texts)
    return [f"({f' {joined} '.join(texts)})"]

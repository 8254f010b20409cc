"""Conditions in Python, two-valued: one that holds iff the SQL it was made from is exactly true.

NULL is pushed into the leaves: `x < y` of SQL becomes `x is not None and x < y`, and what refuses a call is its
opposite, `x is None or x >= y`. Where an earlier part has shown that a value is not None, the check is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in"}


@dataclass(frozen=True)
class Operand:
    """A value in Python, and what must be known before it is looked at."""

    code: str
    kind: Literal["text", "number"]
    nullable: bool = False
    needs: tuple[str, ...] = ()
    """What must not be None for `code` to be evaluated: the row that it is read from."""


@dataclass(frozen=True)
class PythonCondition:
    """Both readings of a condition, each as alternatives or requirements joined by one word."""

    holds: tuple[str, ...]
    broken: tuple[str, ...]
    joined: Literal["and", "or"] = "and"
    """What joins the parts of `holds`; `broken` is joined by the other word."""
    facts: frozenset[str] = frozenset()
    """What is not None where it holds."""
    facts_broken: frozenset[str] = frozenset()
    """What is not None where it is broken."""
    queries: bool = field(default=False)
    """Asks the database in place."""


def compare(left: Operand, operator: str, right: Operand, known: frozenset[str]) -> PythonCondition:
    """`left operator right`, true only where both are values."""
    needs = [code for operand in (left, right) for code in operand.needs if code not in known]
    open_sides = [side.code for side in (left, right) if side.nullable and side.code not in known]
    facts = frozenset([*needs, *open_sides, *left.needs, *right.needs])
    if operator == "==" and open_sides:
        # None equals no value, so one side that is a value is enough.
        open_sides = open_sides[1:]
    checks = [*dict.fromkeys([*needs, *open_sides])]
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
    """`operand IS NULL`, or IS NOT NULL. A value of a row that is not there is NULL too."""
    checks = [code for code in operand.needs if code not in known]
    there = (*(f"{code} is not None" for code in checks), f"{operand.code} is not None")
    absent = (*(f"{code} is None" for code in checks), f"{operand.code} is None")
    facts = frozenset([*operand.needs, operand.code])
    if negated:
        return PythonCondition(holds=there, broken=absent, facts=facts)
    return PythonCondition(holds=absent, broken=there, joined="or", facts_broken=facts)


def truth(operand: Operand, negated: bool, known: frozenset[str]) -> PythonCondition:
    """A number that stands alone: true iff it is not zero."""
    if negated:
        return compare(operand, "==", Operand("0", "number"), known)
    checks = [code for code in operand.needs if code not in known]
    return PythonCondition(
        holds=(*(f"{code} is not None" for code in checks), operand.code),
        broken=(*(f"{code} is None" for code in checks), f"not {operand.code}"),
        facts=frozenset([*operand.needs, operand.code]),
    )


def query(code: str) -> PythonCondition:
    """A condition that the database decides: a call that gives True or False."""
    return PythonCondition(holds=(code,), broken=(f"not {code}",), queries=True)


def join(parts: Sequence[PythonCondition], word: Literal["and", "or"]) -> PythonCondition:
    """The parts joined; each was made knowing what the former ones show."""
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

"""Source: what only the text of a module says: the docstring under a field or a constant, a type as it is written."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Assigned(NamedTuple):
    """A field of a class, or a constant of a module."""

    name: str
    annotation: str
    """As written; empty where there is none."""
    value: ast.expr | None
    meaning: str
    """The docstring under it, on one line; empty where there is none."""


def readable(kind: str) -> str:
    """A type as people write it down: `Literal['do', 'inform']` -> `do | inform`."""
    plain = re.sub(r"Annotated\[(\w+), .*\]", r"\1", kind)
    return re.sub(r"Literal\[([^]]*)\]", lambda match: " | ".join(re.findall(r"'([^']*)'", match[1])), plain)


def constants(module: str) -> list[Assigned]:
    """The constants of a module, in order."""
    return list(_assigned(_tree(module).body))


def class_fields(module: str, name: str) -> dict[str, Assigned]:
    """What the body of a class assigns or annotates, by name."""
    for node in _tree(module).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return {found.name: found for found in _assigned(node.body)}
    return {}


def _assigned(body: list[ast.stmt]) -> Iterator[Assigned]:
    for place, statement in enumerate(body):
        below = body[place + 1] if place + 1 < len(body) else None
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotation = ast.unparse(statement.annotation)
            yield Assigned(statement.target.id, annotation, statement.value, _docstring(below))
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield Assigned(statement.targets[0].id, "", statement.value, _docstring(below))


def _docstring(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).split())
    return ""


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(module)))

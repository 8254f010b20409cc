"""What the page generators share: fields of records, source positions, Markdown tables."""

import ast
import importlib
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python


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


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars and line ends in cells are escaped."""
    lines = [_row(header), "|" + " --- |" * len(header), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """A code span; empty for no text."""
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    inner = f" {text} " if "`" in text else text
    return f"{fence}{inner}{fence}"


def quoted(text: str) -> str:
    """A block quote of somebody's words."""
    return "\n".join(f"> {plain(line)}".rstrip() for line in text.splitlines() or [""]) + "\n"


def plain(text: str) -> str:
    """Words that hold no markup."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    for sign in "\\`*_[]#":
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "min_length": "length ≥", "max_length": "length ≤"}


@dataclass(frozen=True)
class Described:
    """A field."""

    name: str
    type: str
    """Much as the source writes it, with its bounds."""
    default: str
    """As JSON; empty where the field must be given."""
    meaning: str


def fields_of(model: type[BaseModel]) -> list[Described]:
    """The fields of a model, those of its bases first."""
    written: dict[str, Assigned] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            written |= class_fields(base.__module__, base.__name__)
    return [
        Described(
            field.serialization_alias or name,
            readable(written[name].annotation) + _bounds(field),
            _default(field),
            written[name].meaning,
        )
        for name, field in model.model_fields.items()
    ]


def fields_table(model: type[BaseModel], prefix: str = "") -> str:
    """The fields of a model as a table; `prefix` is put before their names."""
    rows = [
        (code(prefix + field.name), code(field.type), code(field.default), field.meaning) for field in fields_of(model)
    ]
    return table(["field", "type", "default", "meaning"], rows)


def summary_of(model: type[BaseModel]) -> str:
    """A model's own docstring; empty where it has none."""
    own = model.__dict__.get("__doc__")
    return " ".join(own.split()) if own else ""


def models_in(kind: Any) -> Iterator[type[BaseModel]]:
    """The models that a type is made of, outermost first, each once."""
    seen: set[type[BaseModel]] = set()
    waiting = [kind]
    while waiting:
        found = waiting.pop(0)
        if isinstance(found, type) and issubclass(found, BaseModel):
            if found not in seen:
                seen.add(found)
                yield found
                waiting.extend(field.annotation for field in found.model_fields.values())
        else:
            waiting.extend(get_args(found))


def _bounds(field: FieldInfo) -> str:
    found = [
        f"{sign} {getattr(bound, name)}"
        for bound in field.metadata
        for name, sign in _BOUNDS.items()
        if _has(bound, name)
    ]
    return f", {', '.join(found)}" if found else ""


def _has(bound: object, name: str) -> bool:
    return getattr(bound, name, None) is not None


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return ""
    if isinstance(value, BaseModel):
        return f"{type(value).__name__}()" if value == type(value)() else _json(value.model_dump(exclude_defaults=True))
    return _json(value)


def _json(value: object) -> str:
    return json.dumps(to_jsonable_python(value), ensure_ascii=False)

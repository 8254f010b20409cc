"""Fields: what a reader wants to know of each field of a model, and the models that a model is made of."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from docs.markdown import code, table
from docs.source import Assigned, class_fields, readable

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

"""Records as compact JSON: without what is left at its default, one element of a list a line."""

import json

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from skillweave.schema.record import Json


def compact(value: object) -> str:
    """`value` as JSON text: each element of a list, or of a list in an object's field, on a line of its own."""
    return _text(plain(value), depth=2)


def plain(value: object) -> Json:
    """`value` as JSON. Of records, fields that have their default are left out; of dictionaries nothing is."""
    if isinstance(value, BaseModel):
        return {
            name: plain(found)
            for name, field in type(value).model_fields.items()
            if (found := getattr(value, name)) is not None
            and (field.is_required() or found != field.get_default(call_default_factory=True))
        }
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    jsonable: Json = to_jsonable_python(value)
    return jsonable


def _text(value: Json, depth: int) -> str:
    """`depth`: how many levels of fields and elements are broken into lines."""
    if depth and isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        return "[\n" + ",\n".join(_text(part, 0) for part in value) + "\n]"
    if depth > 1 and isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
        fields = (f"{json.dumps(key, ensure_ascii=False)}: {_text(part, 1)}" for key, part in value.items())
        return "{\n" + ",\n".join(fields) + "\n}"
    return json.dumps(value, ensure_ascii=False)

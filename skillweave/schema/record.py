"""The base of every record that is read from or written to a file."""

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

Json: TypeAlias = JsonValue
"""Anything that JSON can hold."""

Value: TypeAlias = bool | int | float | str | None
"""What one column of one row can hold."""

Row: TypeAlias = dict[str, Value]
"""One row of a table: column name to value."""


class Record(BaseModel):
    """Frozen, and strict about its fields: an unknown one is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

"""What every record is made of: the base class, JSON values, names, and texts of bounded length.

A record is frozen, and an unknown field is an error. Names end up in SQL, in Python and in fused names joined by two
underscores, so they are checked where they enter. Texts are bounded so that decoding by a JSON schema always ends.
"""

import keyword
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema

Json: TypeAlias = JsonValue
"""Anything that JSON can hold."""

Value: TypeAlias = bool | int | float | str | None
"""What one column of one row can hold."""

Row: TypeAlias = dict[str, Value]
"""One row of a table: column -> value."""


_NAME_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_KEYWORDS = """
    abort action add after all alter always analyze and as asc attach autoincrement before begin between by
    cascade case cast check collate column commit conflict constraint create cross current current_date
    current_time current_timestamp database default deferrable deferred delete desc detach distinct do drop each
    else end escape except exclude exclusive exists explain fail filter first following for foreign from full
    generated glob group groups having if ignore immediate in index indexed initially inner insert instead
    intersect into is isnull join last left like limit match materialized natural no not nothing notnull null
    nulls of offset on or order others outer over partition plan pragma preceding primary query raise range
    recursive references regexp reindex release rename replace restrict returning right rollback row rows
    savepoint select set table temp temporary then ties to transaction trigger unbounded union unique update
    using vacuum values view virtual when where window with without
"""
SQL_KEYWORDS = frozenset(_KEYWORDS.split())
"""SQLite's keywords (sqlite.org/lang_keywords.html) without `key`, which needs no quotes where we write it."""
_FUSED_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,199}")


_put_values = BaseModel.__dict__["__dict__"].__set__
_put_names = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_put_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_put_private = BaseModel.__dict__["__pydantic_private__"].__set__


class Record(BaseModel):
    """The base of every record that is read from or written to a file. It is frozen; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)
    _in_order: ClassVar[tuple[str, ...] | None] = None
    """The fields, in order; None for a record that takes others too."""
    _all_set: ClassVar[set[str]] = set()
    """The fields. Pydantic copies it with a record before it adds to it."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        cls._in_order = None if cls.model_config.get("extra") == "allow" else tuple(cls.model_fields)
        cls._all_set = {*cls.model_fields}

    if not TYPE_CHECKING:  # mypy's plugin gives each record a signature of its own.

        @classmethod
        def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
            """As pydantic's; several times as fast if all fields are given in their order, as the calls of tools do."""
            if tuple(values) != cls._in_order or _fields_set is not None:
                return super().model_construct(_fields_set, **values)
            record = cls.__new__(cls)
            _put_values(record, values)
            _put_names(record, cls._all_set)
            _put_extra(record, None)
            _put_private(record, None)
            return record


Label = Annotated[str, Field(max_length=200)]
"""A title, a value of a closed set, a reference, a few words: at most 200 characters."""

Sentence = Annotated[str, Field(max_length=1000)]
"""One sentence, or a few: at most 1000 characters."""

Paragraph = Annotated[str, Field(max_length=4000)]
"""A message or a paragraph: at most 4000 characters."""


def _without_semicolon(sql: str) -> str:
    return sql.strip().removesuffix(";").rstrip() if sql.rstrip().endswith(";") else sql


Sql = Annotated[str, AfterValidator(_without_semicolon), WithJsonSchema({"type": "string", "maxLength": 4000})]
"""SQL in SQLite's dialect. A semicolon at its end is taken off, since it is put into other statements. Authors give at
most 4000 characters; fusing domains lengthens it."""

Description = Annotated[str, WithJsonSchema({"type": "string", "maxLength": 1000})]
"""What something is or does. Authors give at most 1000 characters; fusing domains adds the company's name."""

Scalar = bool | int | float | Sentence | None
"""A value of a column, as an author gives it."""

Scalars = Annotated[list[Scalar], Field(max_length=64)]
"""Several values, at most 64."""

ScalarRow = Annotated[dict[str, Scalar], Field(max_length=64)]
"""Column -> its value in a row, as an author gives it: at most 64 columns."""


def fault_of(name: str) -> str | None:
    """Why `name` cannot be a name; None if it can."""
    if not _NAME_PATTERN.fullmatch(name):
        return "does not match ^[A-Za-z][A-Za-z0-9_]{0,47}$"
    if "__" in name:
        return "holds two underscores in a row"
    if name.endswith("_"):
        return "ends in an underscore"
    if name.lower() in SQL_KEYWORDS:
        return "is a keyword of SQL"
    if keyword.iskeyword(name):
        return "is a keyword of Python"
    return None


def _checked(name: str) -> str:
    fault = fault_of(name)
    if fault:
        raise ValueError(f"name {name!r} {fault}")
    return name


Name = Annotated[str, Field(max_length=48), AfterValidator(_checked)]
"""A name that is safe in SQL, in Python and in fused names."""


def _checked_fused(name: str) -> str:
    if (
        not _FUSED_PATTERN.fullmatch(name)
        or name.endswith("_")
        or name.lower() in SQL_KEYWORDS
        or keyword.iskeyword(name)
    ):
        raise ValueError(f"name {name!r} is neither a name nor several joined by two underscores")
    return name


FusedName = Annotated[str, Field(max_length=200), AfterValidator(_checked_fused)]
"""A name in a world, single or fused: a `Name`, or several joined by two underscores. Code never splits it: the record
has its parts."""


@lru_cache(maxsize=4096)
def table_of(entity: str) -> str:
    """The table of an entity: `AppointmentSlot` -> `appointment_slot`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", entity).lower()

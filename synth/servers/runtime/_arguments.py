"""Arguments of a call, checked against the signature of the tool's function.

Nothing is coerced but integer to number; dates and times in other ISO forms become UTC in the database's form.
"""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

Row = dict[str, Any]
Date = Annotated[str, "date"]
Moment = Annotated[str, "datetime"]
TYPES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}
KINDS: dict[str, Any] = {name: kind for kind, name in TYPES.items()}
KINDS.update({"date": str, "datetime": str, "number": (int, float)})
CALLED = {name: f"a{'n' * (name[0] in 'aio')} {name}" for name in KINDS} | {
    "boolean": "true or false",
    "date": "a date, YYYY-MM-DD",
    "datetime": "a datetime, YYYY-MM-DD HH:MM:SS",
}
DAY = r"(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d-?\d)"
TIME = r"(?:\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?|\d{4}(?:\d\d)?)"
MOMENT = rf"{DAY}(?:[T ]{TIME}(?:Z|[+-]\d\d:?\d\d)?)?"


class Refused(Exception):
    """A call that is not carried out: it answers this error and changes nothing."""

    def __init__(self, code: str, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.error: Row = {"code": code, "message": message, "rule": rule}


class Unfit(Exception):
    """A value that a parameter does not accept."""


class Defect(Exception):
    """The tool itself is wrong: the call is undone and answers `world_defect`."""


class Bindings(dict[str, Any]):
    """Values of a statement's `:names`. A name without a value is a Defect."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.used: dict[str, None] = {}  # the names that the statement has

    def __getitem__(self, name: str) -> Any:
        self.used[name] = None
        if name not in self:
            raise Defect(f"the SQL has :{name}, which has no value; give it by name: {name}=...")
        return super().__getitem__(name)

    def refuse_others(self, given: Iterable[str]) -> None:
        """Raise Defect if a name was given that the statement does not have."""
        for name in given:
            if name not in self.used:
                has = ", ".join(f":{used}" for used in self.used) or "no bindings"
                hint = "the result's columns that are true or false are named by booleans=[...], in all() and only()"
                raise Defect(f"{name}= was given, but the SQL has no :{name}; it has {has}; {hint}")


def fit(kind: str, value: Any, depth: int = 32) -> Any:
    """The value in the form in which it is bound. Unfit if it is of another type; only integer becomes number."""
    if not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise Unfit(f"must be {CALLED[kind]}")
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value)):
        raise Unfit("is not valid text")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Unfit("must fit in 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise Unfit("must be a finite number")
    if kind in ("date", "datetime"):
        return time(value, kind)
    for part in [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ():
        if depth == 1:
            raise Unfit("must not be nested deeper than 32 levels")
        if part is not None and not isinstance(part, bool):
            fit(TYPES[type(part)], part, depth - 1)
    return float(value) if kind == "number" and depth == 32 else value


def time(written: str, kind: str) -> str:
    """A date or time in any ISO form, in the form that the database holds: UTC, whole seconds."""
    try:
        if not re.fullmatch(DAY if kind == "date" else MOMENT, written, re.ASCII):
            raise ValueError(written)
        if kind == "date":
            return date.fromisoformat(written).isoformat()
        moment = datetime.fromisoformat(written)
        moment = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise Unfit(f"must be {CALLED[kind]}") from None
    if moment.microsecond:
        raise Unfit(f"must be {CALLED[kind]}, in whole seconds")
    return moment.isoformat(sep=" ")


class ServerParameter(NamedTuple):
    """A parameter of a tool, as the signature of its function declares it."""

    name: str
    type: str
    description: str
    required: bool
    enum: list[Any] | None

    def schema(self) -> Row:
        """Its JSON schema. Null is accepted of an optional one, as if it were left out, and not advertised."""
        kind = "string" if self.type in ("date", "datetime") else self.type
        schema: Row = {"type": kind, "description": self.description}
        if self.enum:
            schema["enum"] = self.enum
        return {**schema, "items": {"type": "string"}} if self.type == "array" else schema

    def accept(self, value: Any) -> Any:
        """The value as the function takes it. Refused if it does not fit."""
        if value is None and not self.required:
            return None
        try:
            if value is None:
                raise Refused("invalid_arguments", f"missing argument {self.name!r}")
            accepted = fit(self.type, value)
            if self.enum is not None and accepted not in self.enum:
                raise Unfit(f"must be one of {', '.join(self.enum)}")
        except Unfit as unfit:
            raise Refused("invalid_arguments", f"argument {self.name!r} {unfit}") from None
        return accepted


def parameter(name: str, declared: Any) -> ServerParameter:
    """Read `Annotated[<type>, description]`, or `Annotated[<type> | None, description]` of an optional one."""
    base, *notes = get_args(declared)
    required = get_origin(base) is Literal or type(None) not in get_args(base)
    base = base if required else get_args(base)[0]
    if get_origin(base) is Annotated:
        notes = [get_args(base)[1], *notes]
    if get_origin(base) is Literal:
        return ServerParameter(name, "string", notes[-1], required, list(get_args(base)))
    kind = notes[0] if len(notes) == 2 else TYPES[get_origin(base) or base]
    return ServerParameter(name, kind, notes[-1], required, None)

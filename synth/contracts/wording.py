"""Values, tools and tables in the words that people use. The checks of a conversation understand the same forms."""

import re
from collections.abc import Collection, Mapping
from datetime import date, datetime, timedelta
from random import Random

from skillweave.schema.blueprint import Blueprint, FusedEntity, FusedTool
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json, table_of

VALUE_PLACEHOLDER = "{value}"
"""The place in a fact's text where the value's words are put in, if its author must not see them."""
ENDED_STATUSES = frozenset(
    {
        *("abandoned", "annulled", "cancelled", "canceled", "closed", "declined", "denied", "discontinued", "dropped"),
        *("ended", "expired", "failed", "forfeited", "inactive", "lapsed", "missed", "no_show", "refused", "rejected"),
        *("removed", "revoked", "stopped", "superseded", "terminated", "uncollected", "void", "voided", "withdrawn"),
    }
)
"""Statuses of rows of which nothing comes any more."""
RELATIVE_SHARE = 0.35
"""Share of the near days that are said by their distance from today."""
_KNOWN_BY = {"email": "email address", "phone": "phone number"}
"""What people call values by which they identify themselves, if not by their names."""
_SNAKE_CASE = re.compile(r"[a-z]+(_[a-z0-9]+)+")


def value_in_words(
    value: Json,
    kind: AttributeType,
    unit: str | None,
    now: str,
    random: Random,
    *,
    is_birth: bool = False,
    others: Collection[date] = (),
    month_first: bool = False,
) -> str:
    """A value as people say it: `Friday 24 January at 09:30`, `tomorrow at 09:30`, `45.00`, `cleaning`.

    Args:
        unit: `cents` for an amount; None: no unit.
        now: The clock; a day that is near is said without its year.
        random: Chooses among the forms of a day.
        is_birth: Whether it is a day of birth, which is always said with its year.
        others: Days that are said too. A weekday that one of them shares says too little.
        month_first: Whether the person says `January 24`, rather than `24 January`.
    """
    text = str(value)
    if unit == "cents" and isinstance(value, int):
        return f"{value / 100:,.2f}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if kind in ("date", "datetime"):
        moment = datetime.fromisoformat(text)
        today = date.fromisoformat(now[:10])
        is_relative = not is_birth and random.random() < RELATIVE_SHARE
        day = relative_day_in_words(moment.date(), today, others) if is_relative else ""
        day = day or _day_in_words(moment.date(), today, random, is_dated=is_birth, month_first=month_first)
        return day if kind == "date" else f"{day} at {moment:%H:%M}"
    if isinstance(value, float):
        return f"{value:g}"
    return text.replace("_", " ") if kind == "string" and _SNAKE_CASE.fullmatch(text) else text


def relative_day_in_words(day: date, today: date, others: Collection[date] = ()) -> str:
    """A near day by its distance from today: `tomorrow`, `Thursday`, `Friday next week`. Empty if it is not near, or if
    one of the other days has its weekday.
    """
    days = (day - today).days
    weeks = (day - timedelta(day.weekday()) - (today - timedelta(today.weekday()))).days // 7
    if days in (-1, 0, 1):
        return ("today", "tomorrow", "yesterday")[days]
    if not -7 < days < 14 or any(other != day and other.weekday() == day.weekday() for other in others):
        return ""
    if 0 < days < 7:
        return f"{day:%A}"
    return {-1: f"last {day:%A}", 1: f"{day:%A} next week"}.get(weeks, "")


def identifying_sentence(name: str, words: str, random: Random) -> str:
    """A sentence in which a person identifies themself: `My email is ana@example.com.`

    Args:
        name: The parameter of the tool that signs in.
    """
    noun = _KNOWN_BY.get(name, name_in_words(name))
    ways = [f"My {noun} is {words}.", f"The {noun} on my file is {words}.", f"I am on file with the {noun} {words}."]
    return random.choice([*ways, f"I was born on {words}."] if "birth" in name else ways)


def value_type(value: Json) -> AttributeType:
    """The type that a value looks like."""
    text = str(value)
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if len(text) in (10, 19) and text[4:5] == "-" and text[7:8] == "-" and text[:4].isdigit():
        return "date" if len(text) == 10 else "datetime"
    return "string"


def name_in_words(name: str) -> str:
    """A column's or parameter's name as a noun: `starts_at` -> `starts at`, `fee_cents` -> `fee`."""
    for ending in ("_cents", "_id"):
        name = name.removesuffix(ending)
    return name.replace("_", " ")


def month_in_words(first: date, now: str) -> str:
    """A month as people say it: `April`, `April 2026` in another year than the clock's."""
    return f"{first:%B}" if f"{first:%Y}" == now[:4] else f"{first:%B %Y}"


def _day_in_words(day: date, today: date, random: Random, *, is_dated: bool, month_first: bool) -> str:
    plain = f"{day:%B} {day.day}" if month_first else f"{day.day} {day:%B}"
    near = abs((day - today).days) <= 120
    if is_dated or not near:
        return f"{plain}, {day.year}" if month_first else f"{plain} {day.year}"
    return random.choice([f"{day:%A}{',' if month_first else ''} {plain}", plain])


def short_tool_name(blueprint: Blueprint, name: str) -> str:
    """A tool's name in its own domain, unless another domain of the world has a tool of that name."""
    tool = blueprint.tool(name)
    if not isinstance(tool, FusedTool):
        return name
    namesakes = [other for other in blueprint.tools if isinstance(other, FusedTool) and other.origin == tool.origin]
    return tool.origin if len(namesakes) == 1 else name


def short_table_name(blueprint: Blueprint, entity: str) -> str:
    """A table's name in its own domain."""
    own = blueprint.entity(entity)
    return table_of(own.origin) if isinstance(own, FusedEntity) else own.table


def has_ended(row: Mapping[str, Json]) -> bool:
    """Whether a status of the row says that nothing comes of it any more: cancelled, rejected, expired."""
    return any(is_status(column) and value in ENDED_STATUSES for column, value in row.items() if value)


def is_status(column: str) -> bool:
    """Whether a column says by its name how far a row has come."""
    return column.split("_")[-1] == "status"

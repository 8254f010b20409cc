"""Sets of rows that people mean together, as `all my appointments in April but the cleaning`: how they are found."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from skillweave.schema.combination import RowSet
from skillweave.schema.record import Json
from synth.contracts.visibility import subject_entity
from synth.contracts.wording import is_status
from synth.search.row_words import row_matches
from synth.tasks.forms.form import (
    FormSetting,
    ListedRow,
    came_to_nothing,
    fits,
    is_incidental,
    is_moment,
    words_for,
)

MOST_SETS = 40
"""Sets of rows that are tried for one caller."""
MOST_STATUSES = 2
"""Statuses that are left out of one set."""
LEAST_WITH_EXCEPTION = 3
"""Rows of a set of which one is excepted."""

Rows = Sequence[dict[str, Json]]


class MeantRows(NamedTuple):
    """Rows of a list that are meant together."""

    rows: RowSet
    meant: list[int]
    """Their places in the list."""
    excepted: list[int]


def meant_rows(
    setting: FormSetting, listed: ListedRow, most: int, *, without_ended: bool = False
) -> Iterator[MeantRows]:
    """Sets of rows that people can mean, in a drawn order: by month, name or status, with an exception or none.

    Args:
        most: Rows of a set without an exception.
        without_ended: Whether what adds nothing is left out of each set: `without the cancelled ones` or `the refunds`.
    """
    rows, read, random = listed.rows, listed.mention.read, setting.random
    tool = setting.tool(read)
    spoken = [name for name in setting.template.referred_by.get(read, []) if rows and name in rows[0]]
    shared = {
        *(name for name in spoken if not is_incidental(name) and not _tells_payments_apart(name, rows)),
        *(name for name in (rows[0] if rows else ()) if is_status(name)),
    }
    subject = listed.mention.entity or subject_entity(setting.world.blueprint, tool)
    entity = subject or setting.world.blueprint.core_entity
    dated = [name for name in spoken if "birth" not in name]
    day = next((name for name in dated if all(is_moment(row.get(name)) for row in rows)), None)
    wishes: list[RowSet] = [RowSet(entity=entity, size=0)]
    for name in sorted(shared):
        values = dict.fromkeys(
            value for row in rows if isinstance(value := row.get(name), str) and not is_moment(value)
        )
        wishes += [RowSet(entity=entity, columns={name: value}, size=0) for value in values]
    if day:
        others = [name for name in rows[0] if name != day and may_be_meant(name, rows)]
        months = sorted({str(row[day])[:7] for row in rows})
        by_month = [
            one.model_copy(update={"day_column": day, "other_days": others, "month": m, "since": s})
            for one in wishes
            for m in months
            for s in (False, True)
        ]
        wishes = [*by_month, *wishes]
    random.shuffle(wishes)
    for wish in wishes[:MOST_SETS]:
        if not all(is_clear(row, wish) for row in rows):
            continue
        meant = [index for index, row in enumerate(rows) if in_set(row, wish)]
        ended = [index for index in meant if adds_nothing(rows[index])] if without_ended else []
        if ended:
            yield from without_what_adds_nothing(wish, rows, meant, ended, random)
            continue
        without = _exception(setting, read, rows, meant, random, {*wish.columns}) if random.random() < 0.7 else None
        if without is not None:
            index, words = without
            left = [one for one in meant if one != index]
            yield MeantRows(wish.model_copy(update={"excepted": [words], "size": len(left)}), left, [index])
        if len(meant) <= most:
            yield MeantRows(wish.model_copy(update={"size": len(meant)}), meant, [])


def _tells_payments_apart(column: str, rows: Rows) -> bool:
    """Whether a column has the kinds of payments: nobody asks for their settlement payments."""
    return column == "kind" and any(row.get(column) in (_REFUND, _SETTLEMENT) for row in rows)


def adds_nothing(row: Mapping[str, Json]) -> bool:
    """Whether a row is neither paid nor owed any more, or is money that went back."""
    return came_to_nothing(row) or row.get("kind") == _REFUND


_SETTLEMENT, _REFUND, _DEPOSIT = "settlement", "refund", "deposit"
"""Kinds of payments: refunds go the other way, and people often leave deposits out when they add up."""
DEPOSITS_OUT_SHARE = 0.5
"""How often they do."""


def without_what_adds_nothing(
    wish: RowSet, rows: Rows, meant: Sequence[int], ended: Sequence[int], random: Random
) -> Iterator[MeantRows]:
    """The set without all rows of the statuses or kinds in which some add nothing, if only these have them."""
    column = "kind" if any(rows[index].get("kind") == _REFUND for index in ended) else "status"
    out = [*dict.fromkeys(rows[index].get(column) for index in ended)]
    left = [index for index in meant if rows[index].get(column) not in out]
    if not left or len(left) + len(ended) != len(meant) or column in wish.columns or len(out) > MOST_STATUSES:
        return
    others = [index for index in left if rows[index].get("kind") != _DEPOSIT]
    if 0 < len(others) < len(left) and column == "kind" and random.random() < DEPOSITS_OUT_SHARE:
        out, left = [*out, _DEPOSIT], others
    excepted = [index for index in meant if index not in left]
    yield MeantRows(
        wish.model_copy(update={"excepted": [{column: one} for one in out], "size": len(left)}), left, excepted
    )


def may_be_meant(column: str, rows: Rows) -> bool:
    """Whether somebody who names a month may mean this day of a row.

    Not when its record was changed; but the day of a payment, or that on which something was booked, may be meant.
    """
    if column in _MADE:
        return all(is_moment(row.get(column)) for row in rows)
    return _RECORDED.isdisjoint(column.split("_")) and any(is_moment(row.get(column)) for row in rows)


_MADE = frozenset({"paid_at", "booked_at"})
"""Days on which rows were made: of a list of which each row has one."""
_RECORDED = frozenset({"booked", "cancelled", "paid", "decided", "submitted", "added", "changed", "birth", "joined"})


def _exception(
    setting: FormSetting, read: str, rows: Rows, meant: Sequence[int], random: Random, hidden: set[str]
) -> tuple[int, dict[str, Json]] | None:
    """A row of a set that is to be left out, and the words that tell it apart from the others of the set."""
    if len(meant) < LEAST_WITH_EXCEPTION:
        return None
    index = random.choice([*meant])
    own = [rows[one] for one in meant]
    words = words_for(setting.template, read, own, [*meant].index(index), random, *hidden)
    return (index, words) if words else None


def in_set(row: dict[str, Json], rows: RowSet) -> bool:
    """Whether a row is one of those that are meant, exceptions apart."""
    if not fits(row, rows.columns):
        return False
    return rows.month is None or _is_in_months(row.get(rows.day_column or ""), rows)


def is_clear(row: Mapping[str, Json], rows: RowSet) -> bool:
    """Whether a row is in the months by each day that may be meant, or by none."""
    if rows.month is None or not fits(row, rows.columns):
        return True
    days = [row.get(name) for name in [rows.day_column or "", *rows.other_days]]
    return len({_is_in_months(day, rows) for day in days}) == 1


def _is_in_months(day: Json, rows: RowSet) -> bool:
    month = str(day or "")[:7]
    return month >= (rows.month or "") if rows.since else month == rows.month


def is_meant(row: dict[str, Json], rows: RowSet) -> bool:
    """Whether a row is one of those that are meant."""
    return in_set(row, rows) and not any(row_matches(row, words) for words in rows.excepted)

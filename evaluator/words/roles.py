"""Roles that values of one kind play against each other: start and end, used and left, charged and refunded."""

from collections.abc import Sequence
from typing import NamedTuple

from evaluator.words.stems import stems

Side = frozenset[str]
"""Stems of words for one role."""

_START = stems("start begin began commence first open from pick collect collection since issue issued")
_END = stems("end finish until till expire expires last close closes closing through return drop due back over valid")
_DEPARTURE = stems("depart departure leave takeoff")
_ARRIVAL = stems("arrive arrival land landing")
_COMING = stems("next upcoming")
_GONE = stems("last previous latest former")
_PAID = stems("paid charge charged debit debited took taken settled spent")
_OWED = stems("owe owed due outstanding unpaid open still")
_BACK = stems("refund refunded reimburse reimbursement back return credited payable get")
_USED = stems("used spent consumed drawn")
_LEFT = stems("left remain remaining rest available still")
_DEPOSIT = stems("deposit")
_WHOLE = stems("price cost total whole full paid premium balance amount")
_DEDUCTIBLE = stems("deductible")
_LIMIT = stems("limit benefit")
_OF_MOMENTS: Sequence[tuple[Side, Side]] = ((_START, _END), (_DEPARTURE, _ARRIVAL), (_COMING, _GONE))
_OF_AMOUNTS: Sequence[tuple[Side, Side]] = (
    (_PAID, _OWED),
    (_PAID, _BACK),
    (_USED, _LEFT),
    (_DEPOSIT, _WHOLE),
    (_DEDUCTIBLE, _LIMIT),
)
_COVERED = stems("cover covered reimbursement refund")


class Roles(NamedTuple):
    """The role of a fact."""

    sides: tuple[tuple[Side, Side], ...]
    """Words of its own role, with those of the one against it."""
    is_start: bool
    is_end: bool
    is_to_user: bool
    """What the user gets, and does not pay."""

    def is_against(self, words: frozenset[str]) -> bool:
        """Whether the words give a value the role that stands against the fact's."""
        return any(words & other and not words & own for own, other in self.sides)


def roles_of(nouns: frozenset[str], names: frozenset[str], kind: str) -> Roles:
    """The role of a fact; its noun tells it or, where that says nothing, how it is asked for."""
    pairs = _OF_MOMENTS if kind in ("date", "datetime", "time") else _OF_AMOUNTS if kind == "money" else ()
    sides: list[tuple[Side, Side]] = []
    for one, other in pairs:
        words = nouns if nouns & (one | other) else names
        if words & one and not words & other:
            sides.append((one, other))
        elif words & other and not words & one:
            sides.append((other, one))
    own = {side for side, _ in sides}
    return Roles(tuple(sides), _START in own, _END in own, bool(nouns & _COVERED))

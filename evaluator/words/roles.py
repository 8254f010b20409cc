"""Roles that values of one kind play against each other: start and end, used and left, charged and refunded."""

from collections.abc import Sequence
from typing import NamedTuple

from evaluator.words.stems import stems

Side = frozenset[str]
"""Stems of words for one role."""

_START = stems("start begin began commence first open from pick collect collection since issue issued")
_END = stems("end finish until till expire expires last close closes closing through return drop due")
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
_OF_MOMENTS: Sequence[tuple[Side, Side]] = (
    (_START, _END),
    (_END, _START),
    (_DEPARTURE, _ARRIVAL),
    (_ARRIVAL, _DEPARTURE),
    (_COMING, _GONE),
    (_GONE, _COMING),
)
_OF_AMOUNTS: Sequence[tuple[Side, Side]] = (
    (_PAID, _OWED),
    (_PAID, _BACK),
    (_OWED, _PAID),
    (_OWED, _BACK),
    (_USED, _LEFT),
    (_LEFT, _USED),
    (_LEFT, _PAID),
    (_DEPOSIT, _WHOLE),
    (_WHOLE, _DEPOSIT),
    (_DEDUCTIBLE, _LIMIT),
    (_LIMIT, _DEDUCTIBLE),
)
"""A role, and one that a value in it cannot have."""
_PLAIN = (_START, _END, _DEPARTURE, _ARRIVAL, _PAID, _USED, _LEFT)
ROLES = stems(
    "advance allowance arrears balance benefit bill billed charge coverage credit debt deductible deposit discount "
    "duty estimate excess express fare fee fine insurance interest limit list monthly paid payment penalty "
    "postage premium price rate rebate refund remaining rent saving share shipping surcharge tax tip toll total used "
    "value voucher annual yearly daily old previous original arrival birth collect departure due end expire "
    "return start"
)
"""Words for what amounts and moments are."""
OTHER_NOUNS = stems(
    "balance deductible deposit discount excess fee interest limit penalty premium refund rent surcharge tax tip"
)
"""Of these one alone names an amount, whatever was asked."""
_COVERED = stems("cover covered reimbursement refund")


class Roles(NamedTuple):
    """The role of a fact."""

    sides: tuple[tuple[Side, Side], ...]
    """Words of its own role, with those of the one against it."""
    synonyms: Side
    """Other words for its own role, where they are words for nothing else."""
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
    words = nouns if any(nouns & own for own, _ in pairs) else names
    for own, other in pairs:
        if words & own and not words & other:
            sides.append((own, other))
    played = {side for side, _ in sides}
    synonyms = frozenset[str]().union(*[side for side in _PLAIN if side in played])
    return Roles(tuple(sides), synonyms, _START in played, _END in played, bool(nouns & _COVERED))

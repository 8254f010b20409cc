"""The user's own facts: their typed values, and the words by which a sentence speaks of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from evaluator.ledger.dates import Day
from evaluator.ledger.known import same_digits, same_time
from evaluator.ledger.names import Names
from evaluator.ledger.values import Value, squeezed, values_of
from evaluator.ledger.wording import plain
from skillweave.schema.task import Fact

ME = "me"
_SECOND = re.compile(r"_\d+$")
"""What tells the second of two from the first: `invoice_2`, `method_4`."""
_SUFFIX = re.compile(r"_(?:at|on|cents|id|name|by)$")
_OTHER_WORDS = {
    "date_of_birth": ["date of birth", "birth date", "birthdate", "birthday", "dob", "d.o.b", "born"],
    "phone": ["phone", "mobile"],
    "account_number": ["account number", "account no", "account"],
    "pickup": ["pickup", "pick-up", "pick up", "picking up", "collect"],
    "return": ["return", "returning", "bring it back", "drop off", "drop-off"],
    "check_in": ["check-in", "check in", "checking in", "checkin", "arrive", "arriving", "arrival"],
    "check_out": ["check-out", "check out", "checking out", "checkout", "leave", "leaving", "departure"],
    "starts": ["starts", "start", "starting", "begins", "begin", "beginning"],
    "ends": ["ends", "end", "ending", "finishes"],
    "departs": ["departs", "depart", "departing", "departure", "leaves", "leaving"],
    "expires": ["expires", "runs out", "expiring"],
    "age": ["age", "aged"],
}
_UNITS = {
    "nights": r"nights?\b",
    "party_size": r"(?:guests?|people|persons?|of us|in our party)\b",
    "guests": r"(?:guests?|people|persons?|of us)\b",
    "passengers": r"(?:passengers?|people|persons?|of us)\b",
    "weight_kg": r"(?:kg|kgs|kilos?|kilograms?)\b",
    "points": r"points\b",
    "percent": r"(?:%|percent\b|per cent\b)",
    "minutes": r"(?:minutes?|mins?) (?:slot|session|appointment|visit)",
    "days_before": r"days? (?:before|ahead|in advance)\b",
    "interval_days": r"days? (?:interval|apart)\b",
    "refills": r"refills?\b",
}
_LEADS = {"party_size": r"party of", "interval_days": r"every", "age": r"(?:aged|(?:he|she|they)(?:'s| is|'re| are))"}
_METHODS = {
    "card": r"(?:(?:credit|debit) )?card|visa|mastercard",
    "bank_transfer": r"(?:bank |wire )?transfer",
    "cash": r"cash",
    "paypal": r"paypal",
    "cheque": r"cheque|check\b(?!-| ?in| ?out)",
    "direct_debit": r"direct debit",
    "health_account": r"health account",
    "apple_pay": r"apple pay|google pay",
}
_OF_METHODS = ("card", "visa", "transfer", "cash", "paypal", "cheque", "check", "debit", "health account", "e pay")
"""One of these is in every way to pay."""


@dataclass(frozen=True)
class OwnFact:
    id: str
    entity: str
    column: str
    is_mine: bool
    """It tells one of the user's own records from the others; it is nothing to choose."""
    values: tuple[Value, ...]
    number: Decimal | None = None
    method: str | None = None
    plain: str = ""
    """Its value, where that is one plain word."""
    keywords: tuple[str, ...] = ()
    """Words that, right before a value, say that it is this fact's."""
    units: tuple[str, ...] = ()
    """Patterns of what follows a number of this fact."""
    leads: tuple[str, ...] = ()
    """Patterns of what comes before one."""
    words: str = field(default="")
    """What it is called in a fault."""

    @property
    def is_me(self) -> bool:
        """Whether it is about the person."""
        return self.entity == ME

    @property
    def days(self) -> list[Day]:
        """Its days."""
        return [day for value in self.values for day in value.days]

    def has_kind_of(self, value: Value) -> bool:
        """Whether it is of the value's type."""
        if value.days:
            return bool(self.days)
        if value.times:
            return any(own.times for own in self.values)
        if value.kind in ("money", "number"):
            return self.number is not None
        return any(own.kind == value.kind for own in self.values)

    def fits(self, value: Value) -> bool:
        """Whether the value is this fact's, in one of its readings."""
        if any(said.fits(day) for said in value.days for day in self.days):
            return True
        if any(same_time(said, own[:2]) for said in value.times for fact in self.values for own in fact.times):
            return True
        if value.number is not None and self.number is not None and not value.days:
            return value.number in (self.number, self.number / 100)
        if value.kind == "digits":
            return any(own.kind == "digits" and same_digits(own.key, value.key) for own in self.values)
        return bool(value.key) and any(own.key == value.key for own in self.values)


def own_facts(facts: Sequence[Fact], names: Names) -> list[OwnFact]:
    """The facts that have a value."""
    found = [_own(fact, names) for fact in facts if fact.value is not None]
    things = [str(fact.value) for fact in facts if fact.id.endswith("_name") and isinstance(fact.value, str)]
    return [_counts(fact, things) if fact.column == "quantity" else fact for fact in found]


def method_in(text: str) -> list[tuple[str, str]]:
    """Ways to pay that a text chooses, with the words that do."""
    found: list[tuple[str, str]] = []
    lowered = text.lower()
    if not any(words in lowered for words in _OF_METHODS):
        return found
    for method, words in _METHODS.items():
        before = r"(?:by|via|with|using|from|through|use|charge|in)(?: (?:my|a|the|your|it from the))* "
        after = r"(?: (?:is|would be|works)(?: (?:fine|ok|okay|good|easiest|best|better))|,? please)"
        match = re.search(rf"\b(?:{before}(?:{words})\b|(?:{words}){after})(?! statement)", text, re.I)
        if match:
            found.append((method, match.group()))
    return found


def has_method(text: str, method: str) -> bool:
    """Whether a text speaks of that way to pay."""
    return bool(re.search(rf"\b(?:{_METHODS.get(method, re.escape(method.replace('_', ' ')))})", text, re.I))


def _own(fact: Fact, names: Names) -> OwnFact:
    entity, column = (_SECOND.sub("", part) for part in (fact.id.partition(".")[0], fact.id.partition(".")[2]))
    stem = _SUFFIX.sub("", column).removeprefix("new_")
    given = fact.value
    values = [*values_of(plain(fact.text), names), *values_of(_text_of(given), names)]
    if isinstance(given, str) and column.endswith(("_name", "postcode", "account_number", "_reference", "_number")):
        kind = "name" if column.endswith("_name") or given in names else "code"
        key = given if kind == "name" else squeezed(given)
        values.append(Value("name" if kind == "name" else "code", given, 0, 0, key=key))
    is_mine = fact.text.lower().startswith("it is my ")
    return OwnFact(
        fact.id,
        entity,
        column,
        is_mine,
        tuple(values),
        number=Decimal(str(given)) if isinstance(given, int | float) and not isinstance(given, bool) else None,
        method=given if column == "method" and isinstance(given, str) else None,
        plain=given if isinstance(given, str) and given.isalpha() and not column.endswith("_name") else "",
        keywords=tuple(_keywords(entity, stem, column, is_mine)),
        units=tuple(unit for name, unit in _UNITS.items() if stem == name or stem.endswith(f"_{name}")),
        leads=tuple(lead for name, lead in _LEADS.items() if stem == name or stem.endswith(f"_{name}")),
        words=(stem if entity == ME else f"{entity} {stem}").replace("_", " "),
    )


def _text_of(given: object) -> str:
    if not isinstance(given, str):
        return ""
    return given if any(figure.isdigit() for figure in given) else ""


def _keywords(entity: str, stem: str, column: str, is_mine: bool) -> list[str]:
    name = stem.replace("_", " ")
    found = _OTHER_WORDS.get(stem, [name])
    last = entity.split("_")[-1]
    if column.endswith("_cents"):
        return ["amount", "estimate", f"{last} for", f"{last} over"] if stem in ("amount", "estimate") else []
    if stem in _UNITS:
        return []
    if column.endswith(("_at", "_on")) and not is_mine and entity != ME:
        return [*found, last] if last in ("slot", "window", "flight", "appointment", "session") else found
    return list(found)


def _counts(fact: OwnFact, things: Sequence[str]) -> OwnFact:
    units = tuple(rf"(?:x )?(?:of )?(?:the )?(?:extra )?{re.escape(thing)}s?\b" for thing in things)
    return replace(fact, units=units)

"""Demands: the numbers and enum values of a rule's SQL that its sentence has to state.

The position of a literal gives its meaning: next to a column of cents it is money, as a factor of such a column a
share, as a date modifier a duration. A sentence may omit literals that only make the SQL work (EXISTS (SELECT 1),
COALESCE(..., 0), a first status).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.world.sql import parse
from synth.policy.literals import COMPARISONS, NumberContext, days_apart, is_near, names_around, ratios, upward
from synth.policy.wording import Quantity, duration, in_words

_MODIFIER = re.compile(r"[+-]? ?(?P<number>\d+(?:\.\d+)?) (?P<unit>minute|hour|day|month|year)s?", re.IGNORECASE)
_CALENDAR = re.compile("%[wum]")
"""What gives a weekday or a month as a number, which a sentence names: `Sunday` for 0."""
_POWERS_OF_TEN = (1_000, 10_000, 100_000, 1_000_000)
_CLOCK = re.compile(r"(\d\d):(\d\d)(?::\d\d)?")


@dataclass(frozen=True)
class Demand:
    """A literal of the SQL, and its possible forms in the sentence."""

    options: frozenset[Quantity] = frozenset()
    """The possible meanings of a number."""
    word: str = ""
    """An enum value."""
    siblings: tuple[str, ...] = ()
    """The other values of its enum; empty if the SQL also treats those."""
    required: bool = True
    """Whether the sentence must state it."""
    counted: bool = False
    """Whether it only selects the counted rows or records a value. Then the sentence must state it only if it names
    another value of the same enum."""

    @property
    def text(self) -> str:
        """Its name in messages."""
        return repr(self.word.replace("_", " ")) if self.word else " or ".join(sorted(map(in_words, self.options)))


def demands(sql: str, blueprint: Blueprint) -> list[Demand]:
    """The demands on the sentence of a guard's condition or of an effect's statement."""
    tree = parse(sql).tree
    reader = _LiteralReader(_meanings(blueprint), _takes_hundredths(tree))
    return [demand for literal in _literals(tree) for demand in reader.read(literal)]


@dataclass(frozen=True)
class _ColumnMeanings:
    enums: Mapping[str, Sequence[tuple[str, ...]]]
    """Column or parameter -> the enums of that name."""
    money: frozenset[str]
    initial: frozenset[tuple[str, str]]
    """(column, first value)."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    booleans: frozenset[str] = frozenset()
    """Names that belong only to boolean columns and parameters."""


def _meanings(blueprint: Blueprint) -> _ColumnMeanings:
    return _meanings_of(type(blueprint), blueprint.model_dump_json())


@cache
def _meanings_of(kind: type[Blueprint], dumped: str) -> _ColumnMeanings:
    blueprint = kind.model_validate_json(dumped)
    enums: dict[str, list[tuple[str, ...]]] = {}
    money: set[str] = set()
    initial: set[tuple[str, str]] = set()
    for entity in blueprint.tables:
        for attribute in entity.attributes:
            if attribute.enum:
                enums.setdefault(attribute.name, []).append(tuple(attribute.enum))
            if attribute.unit == "cents" or attribute.name.endswith("_cents"):
                money.add(attribute.name)
            if isinstance(attribute.initial, str):
                initial.add((attribute.name, attribute.initial))
    for tool in blueprint.tools:
        for parameter in tool.parameters:
            if parameter.enum:
                enums.setdefault(parameter.name, []).append(tuple(parameter.enum))
            if parameter.name.endswith("_cents"):
                money.add(parameter.name)
    columns = {entity.table: [attribute.name for attribute in entity.attributes] for entity in blueprint.tables}
    types: dict[str, set[str]] = {}
    for entity in blueprint.tables:
        for attribute in entity.attributes:
            types.setdefault(attribute.name, set()).add(attribute.type)
    for tool in blueprint.tools:
        for parameter in tool.parameters:
            types.setdefault(parameter.name, set()).add(parameter.type)
    booleans = frozenset(name for name, types_of_name in types.items() if types_of_name == {"boolean"})
    return _ColumnMeanings(enums, frozenset(money), frozenset(initial), columns, booleans)


def _literals(tree: exp.Expr) -> Iterator[exp.Literal]:
    for node in tree.dfs():
        if isinstance(node, exp.Literal) and not _says_nothing(node):
            yield node


def _says_nothing(literal: exp.Literal) -> bool:
    """Whether a literal means nothing: the 1 of EXISTS (SELECT 1), digits of ROUND, a format, a row limit of one."""
    parent = literal.parent
    if isinstance(parent, exp.Select):
        return isinstance(parent.parent, exp.Exists)
    if isinstance(parent, exp.Limit | exp.Offset):
        return str(literal.this) in ("0", "1")
    if isinstance(parent, exp.Substring | exp.TimeToStr | exp.Nullif):
        return True
    if isinstance(parent, exp.Div) and parent.expression is literal and Fraction(str(literal.this)) in _POWERS_OF_TEN:
        return True  # The literal only converts units: 10000 turns two percentages into shares.
    if isinstance(parent, exp.Anonymous) and str(parent.this).lower() == "strftime":
        return parent.expressions[0] is literal
    return isinstance(parent, exp.Round) and literal is parent.args.get("decimals")


def _takes_hundredths(tree: exp.Expr) -> bool:
    """Whether anything is divided by a multiple of 100, so that any number may be a percentage."""
    divisors = (divisor.expression for divisor in tree.find_all(exp.Div))
    return any(isinstance(divisor, exp.Literal) and Fraction(str(divisor.this)) % 100 == 0 for divisor in divisors)


class _LiteralReader:
    """Finds the demands of one statement's literals."""

    def __init__(self, schema: _ColumnMeanings, hundredths: bool) -> None:
        self._meanings = schema
        self._hundredths = hundredths
        """Whether a number may be a percentage that is divided elsewhere in the statement."""

    def read(self, literal: exp.Literal) -> list[Demand]:
        if literal.is_string:
            return self._string(literal)
        number = Fraction(str(literal.this))
        demand = self._number(literal, abs(number))
        return [demand] if demand else []

    def _string(self, literal: exp.Literal) -> list[Demand]:
        text = str(literal.this)
        modifier = _MODIFIER.fullmatch(text.strip())
        if modifier:
            value = Fraction(modifier["number"])
            return [Demand(frozenset({duration(value, modifier["unit"])}), required=value != 0)]
        clock = _CLOCK.fullmatch(text.strip())
        if clock:
            return [Demand(frozenset({Quantity(Fraction(60 * int(clock[1]) + int(clock[2])), "clock")}))]
        if isinstance(literal.parent, exp.Glob | exp.Like | exp.ILike):
            return [
                Demand(frozenset({Quantity(Fraction(n), "plain")}), required=False) for n in re.findall(r"\d", text)
            ]
        if text.strip().isdigit() and _is_calendar(literal):
            return [Demand(frozenset({Quantity(Fraction(text.strip()), "plain")}), required=False)]
        if text.strip().isdigit():
            options = {Quantity(Fraction(text.strip()), "plain"), Quantity(60 * Fraction(text.strip()), "clock")}
            return [Demand(frozenset(options))]
        if not re.search(r"[A-Za-z]{2}", text) or _feeds_a_date(literal):
            return []
        names = names_around(literal)
        enums = [enum for name in names for enum in self._meanings.enums.get(name, ()) if text in enum]
        case = literal.find_ancestor(exp.Case)
        choice = case is not None and case.args.get("default") is not None
        siblings = tuple(value for value in enums[0] if value != text) if enums and not choice else ()
        first = isinstance(literal.find_ancestor(exp.Insert), exp.Insert) and any(
            (name, text) in self._meanings.initial for name in names
        )
        return [Demand(word=text, siblings=siblings, required=not first, counted=_is_aside(literal))]

    def _number(self, literal: exp.Literal, number: Fraction) -> Demand | None:
        apart = days_apart(literal)
        if apart is not None:
            return (
                Demand(frozenset({duration(number, apart), Quantity(number, "plain")}), required=number > 1)
                if apart
                else None
            )
        if _is_calendar(literal):
            return Demand(frozenset({Quantity(number, "plain")}), required=False)
        if number in (0, 1) and self._meanings.booleans.intersection(names_around(literal)):
            return Demand(frozenset({Quantity(number, "plain")}), required=False)
        place = NumberContext.of(literal, self._meanings.money)
        options = {Quantity(number, "plain"), *(Quantity(share, "share") for share in ratios(literal))}
        if place.factor and len(options) == 1:
            options |= _shares(number)
        if place.percent:
            options.add(Quantity(number / 100, "share"))
        if place.money and not place.of_money:
            options = {*options, Quantity(number, "money")} if place.factor else {Quantity(number, "money")}
        elif number >= 100 and is_near(literal, self._meanings.money):
            options.add(Quantity(number, "money"))
        if self._hundredths and number <= 100:
            options = {*options, Quantity(number / 100, "share")}
        if place.hour:
            options.add(Quantity(60 * number, "clock"))
        options |= {duration(number, unit) for unit in place.units}
        idle = number == 0 or (number == 1 and (place.factor or place.step)) or (number == 100 and place.percent)
        return Demand(frozenset(options), required=not idle)


def _is_calendar(literal: exp.Literal) -> bool:
    """Whether a number is compared with a weekday or a month."""
    *_, (_, top) = upward(literal)
    return isinstance(top, COMPARISONS) and _CALENDAR.search(top.sql(dialect="sqlite")) is not None


def _is_aside(literal: exp.Literal) -> bool:
    """Whether a value only selects the counted rows (`fewer than 3 places left` need not name the others' status),
    or an effect records it (a refund becomes a payment of the kind refund)."""
    where = literal.find_ancestor(exp.Where)
    if where is None and literal.find_ancestor(exp.Insert, exp.Update) is not None:
        return literal.find_ancestor(exp.Case) is None
    select = where.parent if where is not None else None
    return isinstance(select, exp.Select) and any(
        expression.find(exp.AggFunc) is not None and literal.find_ancestor(exp.Where) is where
        for expression in select.expressions
    )


def _shares(number: Fraction) -> set[Quantity]:
    """The readings of a share: 0.8 as `80 %`, or as `20 %` off."""
    shares = {Quantity(number, "share")}
    return shares if number.denominator == 1 else {*shares, Quantity(abs(1 - number), "share")}


def _feeds_a_date(literal: exp.Literal) -> bool:
    """Whether a string is a part of a concatenated date modifier: `'-' || days || ' days'`."""
    return (
        re.fullmatch(r" ?(?:minute|hour|day|month|year)s?|start of \w+|weekday \d|unixepoch", str(literal.this))
        is not None
    )


def numbers_by_value(sql: str) -> Iterator[list[tuple[str, frozenset[Quantity]]]]:
    """For each CASE that gives a number by a value: the values, each with what a sentence may say for its number.

    Numbers that are 0 are left out.
    """
    for case in parse(sql).tree.find_all(exp.Case):
        pairs = []
        for branch in case.args["ifs"]:
            value, result = branch.this, branch.args["true"]
            if case.this is None or not isinstance(value, exp.Literal) or not isinstance(result, exp.Literal):
                break
            number = Fraction(str(result.this)) if not result.is_string else Fraction(0)
            if number:
                percent = {Quantity(number / 100, "share"), Quantity(abs(1 - number / 100), "share")}
                spans = {duration(number, unit) for unit in ("minute", "hour", "day", "month", "year")}
                plain = {Quantity(number, "plain"), Quantity(number, "money")}
                pairs.append((str(value.this), frozenset({*plain, *_shares(number), *percent, *spans})))
        else:
            if len(pairs) > 1:
                yield pairs

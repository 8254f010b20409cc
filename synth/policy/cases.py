"""Cases of a rule: situations in words that just meet its guard and just break it, with the verdict of its SQL.

SQLite evaluates the guard for all values near its figures and all values of its enums. The two cases of a pair differ
in one value, which decides. The words name only what the guard reads, so that the rule's sentence alone decides.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Guard, Tool
from skillweave.schema.record import Record, Value
from synth.policy.expressions import TimeSpan
from synth.policy.formula import Formula, NoCaseError, Variable, formula_of

MOST_PAIRS = 3
"""Most pairs of cases for one rule."""
MOST_SITUATIONS = 600
"""Most situations of one guard to execute."""


class RuleCase(Record):
    """A situation that one rule decides."""

    text: str
    holds: bool
    """The verdict of the SQL."""


@dataclass(frozen=True)
class Option:
    """A value of a variable, for SQL and in words."""

    value: Value
    words: str
    order: Fraction
    """Its place among the variable's values."""


@dataclass(frozen=True)
class CasesOfRule:
    """The cases of one rule."""

    rule: str
    sentence: str
    cases: tuple[RuleCase, ...]
    why_none: str = ""
    """Why there is no case in words; empty if there are cases."""


def cases_of(blueprint: Blueprint, now: str) -> list[CasesOfRule]:
    """The cases of each rule that has a guard.

    Args:
        blueprint: The contract.
        now: The clock from which times are counted.

    Returns:
        One record for each rule, in the order in which tools state them. A rule's first guard stands for all.
    """
    first: dict[str, tuple[Tool, Guard]] = {}
    for tool in blueprint.tools:
        for guard in tool.guards:
            first.setdefault(guard.rule, (tool, guard))
    connection = sqlite3.connect(":memory:")
    try:
        return [_of_rule(tool, guard, blueprint, connection, now) for tool, guard in first.values()]
    finally:
        connection.close()


def _of_rule(tool: Tool, guard: Guard, blueprint: Blueprint, connection: sqlite3.Connection, now: str) -> CasesOfRule:
    try:
        formula = formula_of(guard.holds, tool, blueprint)
    except NoCaseError as error:
        return CasesOfRule(guard.rule, guard.says, (), str(error))
    pairs = list(_pairs(formula, connection, now))[:MOST_PAIRS]
    cases = tuple(dict.fromkeys(case for pair in pairs for case in pair))
    return CasesOfRule(guard.rule, guard.says, cases, "" if cases else "nothing that it reads decides it alone")


def _pairs(formula: Formula, connection: sqlite3.Connection, now: str) -> Iterator[tuple[RuleCase, RuleCase]]:
    options = {variable.name: _options(variable, connection, now) for variable in formula.variables}
    verdicts = list(_verdicts(formula, options, connection, now))
    for variable in formula.variables:
        pair = _closest_pair(variable.name, verdicts)
        if pair is not None:
            yield _case(formula, *pair[0]), _case(formula, *pair[1])


Situation = Mapping[str, Option]


def _verdicts(
    formula: Formula, options: Mapping[str, Sequence[Option]], connection: sqlite3.Connection, now: str
) -> Iterator[tuple[Situation, bool]]:
    sql = f"SELECT ({formula.sql}) IS TRUE"
    for count, values in enumerate(product(*options.values())):
        if count >= MOST_SITUATIONS:
            return
        situation = dict(zip(options, values, strict=True))
        bound: dict[str, Value] = {name: option.value for name, option in situation.items()}
        for variable in formula.variables:
            if variable.base:
                bound[variable.name] = _shifted_time(variable, bound[variable.name], bound[variable.base], connection)
        verdict = connection.execute(sql, {**bound, "now": now}).fetchone()[0]
        yield situation, bool(verdict)


def _shifted_time(variable: Variable, shift: Value, base: Value, connection: sqlite3.Connection) -> Value:
    """The time that lies a modifier (`+2 days`) away from its base."""
    if shift is None or base is None:
        return None
    function = "date" if variable.dates else "datetime"
    time: Value = connection.execute(f"SELECT {function}(?, ?)", (base, shift)).fetchone()[0]
    return time


def _closest_pair(
    name: str, verdicts: Sequence[tuple[Situation, bool]]
) -> tuple[tuple[Situation, bool], tuple[Situation, bool]] | None:
    """The closest pair of situations that differ in this variable alone: one meets the guard, the other breaks it."""
    best = None
    groups: dict[tuple[tuple[str, Value], ...], list[tuple[Situation, bool]]] = {}
    for situation, verdict in verdicts:
        rest = tuple((other, option.value) for other, option in situation.items() if other != name)
        groups.setdefault(rest, []).append((situation, verdict))
    for group in groups.values():
        meets = [candidate for candidate in group if candidate[1]]
        breaks = [candidate for candidate in group if not candidate[1]]
        for good, bad in product(meets, breaks):
            distance = abs(good[0][name].order - bad[0][name].order)
            missing = sum(option.value is None for option in (*good[0].values(), *bad[0].values()))
            if best is None or (missing, distance) < best[0]:
                best = ((missing, distance), (good, bad))
    return best[1] if best else None


def _case(formula: Formula, situation: Situation, verdict: bool) -> RuleCase:
    facts = []
    for variable in formula.variables:
        words = situation[variable.name].words
        if variable.kind == "row":
            facts.append(f"there is {words} such {variable.noun}")
        elif not variable.fixed:
            base = next((other.noun for other in formula.variables if other.name == variable.base), "")
            facts.append(f"{variable.noun} is {words.format(base=base)}")
    text = "; ".join(facts)
    return RuleCase(text=text[:1].upper() + text[1:] + ".", holds=verdict)


def _options(variable: Variable, connection: sqlite3.Connection, now: str) -> list[Option]:
    options = list(_plain_options(variable, connection, now))
    if variable.can_lack:
        options.append(Option(None, "missing", Fraction(10**6)))
    return options


def _plain_options(variable: Variable, connection: sqlite3.Connection, now: str) -> Iterator[Option]:
    if variable.kind == "yesno":
        yield from (Option(1, "yes", Fraction(1)), Option(0, "no", Fraction(0)))
    elif variable.kind == "row":
        yield from (Option(1, "one", Fraction(1)), Option(0, "no", Fraction(0)))
    elif variable.kind == "choice":
        for place, choice in enumerate(variable.choices):
            yield Option(choice, choice.replace("_", " "), Fraction(place))
        if not variable.choices:
            yield Option("given", "on file", Fraction(0))
    elif variable.kind == "time":
        yield from _times(variable, connection, now)
    else:
        numbers = {number + step for number in variable.numbers for step in (-1, 0, 1)} or {Fraction(1)}
        for number in sorted(number for number in numbers if number >= 0):
            value = int(number) if number.denominator == 1 else float(number)
            words = f"{value / 100:,.2f}" if variable.kind == "money" else f"{value:g}"
            yield Option(value, words, number)


def _times(variable: Variable, connection: sqlite3.Connection, now: str) -> Iterator[Option]:
    function = "date" if variable.dates else "datetime"
    shifts: dict[Fraction, tuple[int, str]] = {Fraction(0): (0, "day")}
    for span in sorted(variable.steps):
        for offset in (-1, 0, 1):
            for sign in (1, -1):
                count = sign * (int(span.number) + offset)
                shifts[count * _LENGTHS[span.unit]] = (count, span.unit)
    if variable.fixed:
        shifts = {Fraction(0): (0, "day")}
    for order, (count, unit) in sorted(shifts.items()):
        modifier = f"{count:+d} {unit}s"
        value: Value = modifier
        if not variable.base:
            value = connection.execute(f"SELECT {function}(?, ?)", (now, modifier)).fetchone()[0]
        yield Option(
            value,
            _distance_in_words(TimeSpan(Fraction(abs(count)), unit), count, bool(variable.base), variable.dates),
            order,
        )


_LENGTHS = {
    "minute": Fraction(1, 1440),
    "hour": Fraction(1, 24),
    "day": Fraction(1),
    "month": Fraction(30),
    "year": Fraction(365),
}


def _distance_in_words(span: TimeSpan, count: int, from_other: bool, dates: bool) -> str:
    if count == 0:
        return "the same as {base}" if from_other else ("today" if dates else "now")
    distance = f"{int(span.number)} {span.unit}{'' if span.number == 1 else 's'}"
    if from_other:
        return f"{distance} {'after' if count > 0 else 'before'} {{base}}"
    return f"{distance} from now" if count > 0 else f"{distance} ago"

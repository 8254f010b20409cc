"""Cases: for each guard, situations in words that just meet it and just break it, with the verdict of its SQL.

All values that the guard's figures and enums make interesting are tried by execution; a case pair differs in one thing,
and that thing decides. The words name what the guard reads and nothing else, so that the rule's sentence alone must do.
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

MOST = 3
"""Pairs of cases for one rule."""
TRIED = 600
"""Bound on the situations of one guard that are run."""


class RuleCase(Record):
    """A situation that one rule decides."""

    text: str
    holds: bool
    """What the SQL says."""


@dataclass(frozen=True)
class Option:
    """A value of a variable, as it is bound and as it is told."""

    value: Value
    words: str
    order: Fraction
    """Its place among the variable's values."""


@dataclass(frozen=True)
class CasesOfRule:
    rule: str
    sentence: str
    cases: tuple[RuleCase, ...]
    why_none: str = ""
    """Why no case could be put into words."""


def cases_of(blueprint: Blueprint, now: str) -> list[CasesOfRule]:
    """The cases of each guard's rule, in the order in which tools state them; its first guard stands for a rule."""
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
    except NoCaseError as reason:
        return CasesOfRule(guard.rule, guard.says, (), str(reason))
    pairs = list(_pairs(formula, connection, now))[:MOST]
    cases = tuple(dict.fromkeys(case for pair in pairs for case in pair))
    return CasesOfRule(guard.rule, guard.says, cases, "" if cases else "nothing that it reads decides it alone")


def _pairs(formula: Formula, connection: sqlite3.Connection, now: str) -> Iterator[tuple[RuleCase, RuleCase]]:
    options = {variable.name: _options(variable, connection, now) for variable in formula.variables}
    tried = list(_tried(formula, options, connection, now))
    for variable in formula.variables:
        pair = _closest(variable.name, tried)
        if pair is not None:
            yield _case(formula, *pair[0]), _case(formula, *pair[1])


Situation = Mapping[str, Option]


def _tried(
    formula: Formula, options: Mapping[str, Sequence[Option]], connection: sqlite3.Connection, now: str
) -> Iterator[tuple[Situation, bool]]:
    sql = f"SELECT ({formula.sql}) IS TRUE"
    for number, chosen in enumerate(product(*options.values())):
        if number >= TRIED:
            return
        situation = dict(zip(options, chosen, strict=True))
        bound: dict[str, Value] = {name: option.value for name, option in situation.items()}
        for variable in formula.variables:
            if variable.base:
                bound[variable.name] = _counted_from(variable, bound[variable.name], bound[variable.base], connection)
        held = connection.execute(sql, {**bound, "now": now}).fetchone()[0]
        yield situation, bool(held)


def _counted_from(variable: Variable, shift: Value, base: Value, connection: sqlite3.Connection) -> Value:
    """A time given as a modifier of its base."""
    if shift is None or base is None:
        return None
    function = "date" if variable.dates else "datetime"
    found: Value = connection.execute(f"SELECT {function}(?, ?)", (base, shift)).fetchone()[0]
    return found


def _closest(
    name: str, tried: Sequence[tuple[Situation, bool]]
) -> tuple[tuple[Situation, bool], tuple[Situation, bool]] | None:
    """The two situations nearest each other that differ in this variable alone and in the verdict: meets, breaks."""
    best = None
    groups: dict[tuple[tuple[str, Value], ...], list[tuple[Situation, bool]]] = {}
    for situation, held in tried:
        rest = tuple((other, option.value) for other, option in situation.items() if other != name)
        groups.setdefault(rest, []).append((situation, held))
    for group in groups.values():
        meets = [one for one in group if one[1]]
        breaks = [one for one in group if not one[1]]
        for good, bad in product(meets, breaks):
            apart = abs(good[0][name].order - bad[0][name].order)
            lacking = sum(option.value is None for option in (*good[0].values(), *bad[0].values()))
            if best is None or (lacking, apart) < best[0]:
                best = ((lacking, apart), (good, bad))
    return best[1] if best else None


def _case(formula: Formula, situation: Situation, held: bool) -> RuleCase:
    facts = []
    for variable in formula.variables:
        told = situation[variable.name].words
        if variable.kind == "row":
            facts.append(f"there is {told} such {variable.noun}")
        elif not variable.fixed:
            after = next((other.noun for other in formula.variables if other.name == variable.base), "")
            facts.append(f"{variable.noun} is {told.format(base=after)}")
    text = "; ".join(facts)
    return RuleCase(text=text[:1].upper() + text[1:] + ".", holds=held)


def _options(variable: Variable, connection: sqlite3.Connection, now: str) -> list[Option]:
    found = list(_told(variable, connection, now))
    if variable.can_lack:
        found.append(Option(None, "missing", Fraction(10**6)))
    return found


def _told(variable: Variable, connection: sqlite3.Connection, now: str) -> Iterator[Option]:
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
        near = {number + step for number in variable.numbers for step in (-1, 0, 1)} or {Fraction(1)}
        for number in sorted(one for one in near if one >= 0):
            value = int(number) if number.denominator == 1 else float(number)
            told = f"{value / 100:,.2f}" if variable.kind == "money" else f"{value:g}"
            yield Option(value, told, number)


def _times(variable: Variable, connection: sqlite3.Connection, now: str) -> Iterator[Option]:
    function = "date" if variable.dates else "datetime"
    shifts: dict[Fraction, tuple[int, str]] = {Fraction(0): (0, "day")}
    for step in sorted(variable.steps):
        for near in (-1, 0, 1):
            for sign in (1, -1):
                count = sign * (int(step.number) + near)
                shifts[count * _LENGTHS[step.unit]] = (count, step.unit)
    if variable.fixed:
        shifts = {Fraction(0): (0, "day")}
    for order, (count, unit) in sorted(shifts.items()):
        modifier = f"{count:+d} {unit}s"
        value: Value = modifier
        if not variable.base:
            value = connection.execute(f"SELECT {function}(?, ?)", (now, modifier)).fetchone()[0]
        yield Option(
            value, _distance(TimeSpan(Fraction(abs(count)), unit), count, bool(variable.base), variable.dates), order
        )


_LENGTHS = {
    "minute": Fraction(1, 1440),
    "hour": Fraction(1, 24),
    "day": Fraction(1),
    "month": Fraction(30),
    "year": Fraction(365),
}


def _distance(step: TimeSpan, count: int, from_other: bool, dates: bool) -> str:
    if count == 0:
        return "the same as {base}" if from_other else ("today" if dates else "now")
    told = f"{int(step.number)} {step.unit}{'' if step.number == 1 else 's'}"
    if from_other:
        return f"{told} {'after' if count > 0 else 'before'} {{base}}"
    return f"{told} from now" if count > 0 else f"{told} ago"

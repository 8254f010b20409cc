"""A guard as a formula over a few variables: what its rows hold is left open, its comparisons stand as they are.

`EXISTS (SELECT 1 FROM visit WHERE visit_id = :visit_id AND status = 'booked')` becomes `:v0 = 'booked'`. Keys that only
say which row is meant are taken as given. What cannot be brought to this form has no case (`NoCaseError`).
"""

from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.world.sql import parse
from synth.policy.expressions import (
    Nouns,
    TimeSpan,
    VariableKind,
    conjuncts,
    count_of,
    gives_a_time,
    inside_count,
    is_count,
    is_date_function,
    is_shifted,
    is_timed,
    names_the_row,
    parts_read,
    sides_of,
    time_spans,
)


class NoCaseError(Exception):
    """The guard compares what cannot be put into words by itself; the message says what."""


@dataclass
class Variable:
    """Something that the formula reads, with the values that matter to it."""

    name: str
    """The binding in the formula's SQL."""
    noun: str
    kind: VariableKind
    numbers: set[Fraction] = field(default_factory=set)
    """Numbers that it is compared with."""
    choices: list[str] = field(default_factory=list)
    steps: set[TimeSpan] = field(default_factory=set)
    """For a time: distances from its base."""
    base: str = ""
    """The binding that a time is counted from; empty for now."""
    dates: bool = False
    """Whether a time has no time of day."""
    can_lack: bool = False
    fixed: bool = False
    """Whether another time is counted from it, so that it stays where it is."""


@dataclass(frozen=True)
class Formula:
    sql: str
    variables: tuple[Variable, ...]


def formula_of(holds: str, tool: Tool, blueprint: Blueprint) -> Formula:
    """The formula of a guard's condition. Raises NoCaseError."""
    builder = _Builder(tool, blueprint)
    sql = builder.build(parse(holds).tree)
    if not builder.variables:
        raise NoCaseError("it only says which row is meant")
    return Formula(sql, tuple(builder.variables.values()))


_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


class _Builder:
    def __init__(self, tool: Tool, blueprint: Blueprint) -> None:
        self._tool = tool
        self._nouns = Nouns(tool, blueprint)
        self.variables: dict[str, Variable] = {}

    def build(self, node: exp.Expr) -> str:
        match node:
            case exp.Paren():
                return self.build(node.this)
            case exp.And():
                return f"({self.build(node.left)} AND {self.build(node.right)})"
            case exp.Or():
                return f"({self.build(node.left)} OR {self.build(node.right)})"
            case exp.Not():
                return f"(NOT {self.build(node.this)})"
            case exp.Exists():
                return self._exists(node.this)
            case exp.Column() | exp.Placeholder() | exp.Subquery():
                return f":{self._variable(node, 'yesno').name}"
            case exp.Is() if isinstance(node.expression, exp.Null):
                variable = self._variable(self._atom(node.this), self._kind(self._atom(node.this)))
                variable.can_lack = True
                return f"(:{variable.name} IS NULL)"
            case exp.In():
                return self._in(node)
            case exp.Between():
                low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
                high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
                return f"({self.build(low)} AND {self.build(high)})"
        if isinstance(node, _COMPARED):
            return self._compared(node)
        raise NoCaseError(f"{type(node).__name__.lower()} in a condition")

    def _exists(self, select: exp.Expr) -> str:
        inner = self._conditions(select)
        if inner == "1":
            if select.args.get("joins") or any(select.find_all(exp.NEQ)):
                raise NoCaseError("rows that belong together")
            return f":{self._row(select).name}"
        return inner

    def _conditions(self, select: exp.Expr) -> str:
        """The conditions on a subquery's row, those apart that say which row it is; `1` where none is left."""
        if not isinstance(select, exp.Select) or any(select.args.get(name) for name in ("group", "having", "limit")):
            raise NoCaseError("a subquery that groups or limits its rows")
        where = select.args.get("where")
        conditions = [join.args["on"] for join in select.args.get("joins") or [] if join.args.get("on")]
        conditions += [where.this] if where is not None else []
        parts = [part for condition in conditions for part in conjuncts(condition) if not names_the_row(part)]
        return "(" + " AND ".join(self.build(part) for part in parts) + ")" if parts else "1"

    def _row(self, select: exp.Expr) -> Variable:
        table = next(iter(select.find_all(exp.Table)))
        own = any(placeholder.name == "caller" for placeholder in select.find_all(exp.Placeholder))
        key = f"row {table.name} {own}"
        noun = self._nouns.owned(table.name) if own else self._nouns.row(table.name)
        return self.variables.setdefault(key, Variable(f"v{len(self.variables)}", noun, "row"))

    def _in(self, node: exp.In) -> str:
        literals = [one for one in node.expressions if isinstance(one, exp.Literal)]
        if len(literals) != len(node.expressions) or not literals:
            raise NoCaseError("a list that is no list of values")
        atom = self._atom(node.this)
        if all(one.is_string for one in literals):
            variable = self._variable(atom, "choice")
            _add_choices(variable, [str(one.this) for one in literals])
        else:
            variable = self._variable(atom, self._kind(atom))
            variable.numbers |= {Fraction(str(one.this)) for one in literals}
        listed = ", ".join(one.sql(dialect="sqlite") for one in literals)
        return f"(:{variable.name} IN ({listed}))"

    def _compared(self, node: exp.Expr) -> str:
        if names_the_row(node):
            return "1"
        sides = sides_of(node)
        if any(isinstance(side, exp.Literal) and side.is_string for side in sides) and not is_timed(node):
            return self._chosen(node)
        copy = node.copy()
        originals = [part for side in sides for part in parts_read(side)]
        for side in sides_of(copy):
            if gives_a_time(side):
                side.replace(side.this.expressions[0].copy())
        copies = [part for side in sides_of(copy) for part in list(parts_read(side))]
        found = [self._put(*pair) for pair in zip(originals, copies, strict=True)]
        read = [variable for variable in found if variable is not None]
        if any(variable.kind == "time" for variable in read):
            self._time(copy, read)
        else:
            self._number(copy, read)
        return f"({copy.sql(dialect='sqlite')})"

    def _chosen(self, node: exp.Expr) -> str:
        left, right = sides_of(node)
        literal, other = (left, right) if isinstance(left, exp.Literal) else (right, left)
        variable = self._variable(self._atom(other), "choice")
        _add_choices(variable, [str(literal.this)])
        operator = "=" if isinstance(node, exp.EQ) else "<>"
        if not isinstance(node, exp.EQ | exp.NEQ):
            raise NoCaseError("an order of texts")
        return f"(:{variable.name} {operator} {literal.sql(dialect='sqlite')})"

    def _put(self, node: exp.Expr, copied: exp.Expr) -> Variable | None:
        """Put a variable in the place of what a comparison reads; None for `:now` and for a choice of figures."""
        if isinstance(node, exp.Placeholder) and node.name == "now":
            return None
        if is_count(node):
            return self._count(node, copied)
        atom = self._atom(node)
        if isinstance(atom, exp.Case):
            copied.replace(self._case(atom))
            return None
        variable = self._variable(atom, self._kind(atom))
        copied.replace(exp.Placeholder(this=variable.name))
        return variable

    def _count(self, node: exp.Expr, copied: exp.Expr) -> Variable:
        inner = self._conditions(node.this)
        table = next(iter(node.this.find_all(exp.Table))).name
        key = f"count {node.sql(dialect='sqlite')}"
        variable = self.variables.setdefault(key, Variable(f"v{len(self.variables)}", count_of(table), "number"))
        counted = f"(CASE WHEN {inner} THEN :{variable.name} ELSE 0 END)"
        copied.replace(parse(counted).tree.copy())
        return variable

    def _case(self, case: exp.Case) -> exp.Expr:
        """A CASE that gives a number by the value of one column."""
        copy = case.copy()
        if case.this is None:
            raise NoCaseError("a choice between conditions")
        variable = self._variable(self._atom(case.this), "choice")
        _add_choices(variable, [str(branch.this.this) for branch in case.args["ifs"]])
        copy.set("this", exp.Placeholder(this=variable.name))
        if list(copy.find_all(exp.Column, exp.Subquery)):
            raise NoCaseError("a choice between columns")
        return exp.paren(copy)

    def _number(self, copy: exp.Expr, found: list[Variable]) -> None:
        if len(found) != 1:
            raise NoCaseError("two figures of the data side by side")
        numbers = {
            Fraction(str(literal.this))
            for literal in copy.find_all(exp.Literal)
            if not literal.is_string and not inside_count(literal)
        }
        if not numbers:
            raise NoCaseError("no figure of the rule")
        found[0].numbers |= numbers

    def _time(self, copy: exp.Expr, found: list[Variable]) -> None:
        steps = time_spans(copy)
        if steps is None or any(variable.kind != "time" for variable in found) or len(found) > 2:
            raise NoCaseError("a span that the data give")
        first, *others = found
        if others and others[0] is first:
            raise NoCaseError("a time compared with itself")
        if others and is_shifted(copy, first.name):
            first, others = others[0], [first]
        base = others[0].name if others else ""
        if (first.steps and first.base != base) or first.fixed or (others and others[0].steps):
            raise NoCaseError("a time that is counted from two others")
        first.base = base
        first.steps |= steps or {TimeSpan(Fraction(0), "day" if first.dates else "hour")}
        for other in others:
            other.fixed = True

    def _atom(self, node: exp.Expr) -> exp.Expr:
        """The column, parameter or figure that an expression comes down to."""
        while isinstance(node, exp.Paren | exp.Trim | exp.Lower | exp.Cast) or (
            is_date_function(node) and len(list(node.iter_expressions())) == 1
        ):
            node = next(iter(node.iter_expressions()))
        if isinstance(node, exp.Subquery):
            select = node.this
            if not isinstance(select, exp.Select) or len(select.expressions) != 1 or self._conditions(select) != "1":
                raise NoCaseError("a figure of a subquery")
            return self._atom(select.expressions[0])
        return node

    def _kind(self, atom: exp.Expr) -> VariableKind:
        kind = self._nouns.kind(atom)
        if kind is None:
            raise NoCaseError(f"a {type(atom).__name__.lower()} that is no plain figure")
        return kind

    def _variable(self, atom: exp.Expr, kind: VariableKind) -> Variable:
        atom = self._atom(atom)
        noun = self._nouns.noun(atom)
        if noun is None:
            raise NoCaseError(f"a {type(atom).__name__.lower()} that has no name")
        found = self.variables.get(noun)
        if found is None:
            found = Variable(f"v{len(self.variables)}", noun, kind, dates=self._nouns.is_date(atom))
            found.choices = list(self._nouns.choices(atom)) if kind == "choice" else []
            self.variables[noun] = found
        if found.kind != kind:
            raise NoCaseError(f"{noun} read in two ways")
        return found


def _add_choices(variable: Variable, values: list[str]) -> None:
    variable.choices += [value for value in values if value not in variable.choices]

"""A guard as a formula over a few variables: cells of rows become variables, comparisons stay as they are.

`EXISTS (SELECT 1 FROM visit WHERE visit_id = :visit_id AND status = 'booked')` becomes `:v0 = 'booked'`. The formula
leaves out conditions that only identify a row. A guard without such a form has no cases (`NoCaseError`).
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
    """A guard compares something that has no words of its own; the message names it."""


@dataclass
class Variable:
    """An input of the formula, with the values that matter for it."""

    name: str
    """The binding in the formula's SQL."""
    noun: str
    """The noun for it in cases."""
    kind: VariableKind
    numbers: set[Fraction] = field(default_factory=set)
    """Numbers to which the guard compares it."""
    choices: list[str] = field(default_factory=list)
    """The values of an enum."""
    steps: set[TimeSpan] = field(default_factory=set)
    """The distances of a time from its base."""
    base: str = ""
    """The binding of a time's base; empty if the base is now."""
    dates: bool = False
    """Whether a time is a day without a time of day."""
    can_lack: bool = False
    """Whether it may be NULL."""
    fixed: bool = False
    """Whether it is the base of another time, so that its own value does not vary."""


@dataclass(frozen=True)
class Formula:
    """A condition over variables."""

    sql: str
    """An SQL expression with the variables as bindings."""
    variables: tuple[Variable, ...]


def formula_of(holds: str, tool: Tool, blueprint: Blueprint) -> Formula:
    """The formula of a guard's condition.

    Args:
        holds: The condition.
        tool: The tool that it guards.
        blueprint: The tool's contract.

    Raises:
        NoCaseError: The condition has no such form, or only identifies a row.
    """
    builder = _FormulaBuilder(tool, blueprint)
    sql = builder.build(parse(holds).tree)
    if not builder.variables:
        raise NoCaseError("it only says which row is meant")
    return Formula(sql, tuple(builder.variables.values()))


_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


class _FormulaBuilder:
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
                return self._exists_condition(node.this)
            case exp.Column() | exp.Placeholder() | exp.Subquery():
                return f":{self._variable(node, 'yesno').name}"
            case exp.Is() if isinstance(node.expression, exp.Null):
                variable = self._variable(self._atom(node.this), self._kind(self._atom(node.this)))
                variable.can_lack = True
                return f"(:{variable.name} IS NULL)"
            case exp.In():
                return self._membership(node)
            case exp.Between():
                low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
                high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
                return f"({self.build(low)} AND {self.build(high)})"
        if isinstance(node, _COMPARISONS):
            return self._comparison(node)
        raise NoCaseError(f"{type(node).__name__.lower()} in a condition")

    def _exists_condition(self, select: exp.Expr) -> str:
        inner = self._row_conditions(select)
        if inner == "1":
            if select.args.get("joins") or any(select.find_all(exp.NEQ)):
                raise NoCaseError("rows that belong together")
            return f":{self._row_variable(select).name}"
        return inner

    def _row_conditions(self, select: exp.Expr) -> str:
        """The conditions on a subquery's row, without those that identify the row; `1` if none remain."""
        if not isinstance(select, exp.Select) or any(select.args.get(name) for name in ("group", "having", "limit")):
            raise NoCaseError("a subquery that groups or limits its rows")
        where = select.args.get("where")
        conditions = [join.args["on"] for join in select.args.get("joins") or [] if join.args.get("on")]
        conditions += [where.this] if where is not None else []
        parts = [part for condition in conditions for part in conjuncts(condition) if not names_the_row(part)]
        return "(" + " AND ".join(self.build(part) for part in parts) + ")" if parts else "1"

    def _row_variable(self, select: exp.Expr) -> Variable:
        table = next(iter(select.find_all(exp.Table)))
        own = any(placeholder.name == "caller" for placeholder in select.find_all(exp.Placeholder))
        key = f"row {table.name} {own}"
        noun = self._nouns.owned(table.name) if own else self._nouns.row(table.name)
        return self.variables.setdefault(key, Variable(f"v{len(self.variables)}", noun, "row"))

    def _membership(self, node: exp.In) -> str:
        literals = [literal for literal in node.expressions if isinstance(literal, exp.Literal)]
        if len(literals) != len(node.expressions) or not literals:
            raise NoCaseError("a list that is no list of values")
        atom = self._atom(node.this)
        if all(literal.is_string for literal in literals):
            variable = self._variable(atom, "choice")
            _add_choices(variable, [str(literal.this) for literal in literals])
        else:
            variable = self._variable(atom, self._kind(atom))
            variable.numbers |= {Fraction(str(literal.this)) for literal in literals}
        listed = ", ".join(literal.sql(dialect="sqlite") for literal in literals)
        return f"(:{variable.name} IN ({listed}))"

    def _comparison(self, node: exp.Expr) -> str:
        if names_the_row(node):
            return "1"
        sides = sides_of(node)
        if any(isinstance(side, exp.Literal) and side.is_string for side in sides) and not is_timed(node):
            return self._compared_with_text(node)
        copy = node.copy()
        originals = [part for side in sides for part in parts_read(side)]
        for side in sides_of(copy):
            if gives_a_time(side):
                side.replace(side.this.expressions[0].copy())
        copies = [part for side in sides_of(copy) for part in list(parts_read(side))]
        variables = [self._substitute(*pair) for pair in zip(originals, copies, strict=True)]
        read = [variable for variable in variables if variable is not None]
        if any(variable.kind == "time" for variable in read):
            self._note_spans(copy, read)
        else:
            self._note_numbers(copy, read)
        return f"({copy.sql(dialect='sqlite')})"

    def _compared_with_text(self, node: exp.Expr) -> str:
        left, right = sides_of(node)
        literal, other = (left, right) if isinstance(left, exp.Literal) else (right, left)
        variable = self._variable(self._atom(other), "choice")
        _add_choices(variable, [str(literal.this)])
        operator = "=" if isinstance(node, exp.EQ) else "<>"
        if not isinstance(node, exp.EQ | exp.NEQ):
            raise NoCaseError("an order of texts")
        return f"(:{variable.name} {operator} {literal.sql(dialect='sqlite')})"

    def _substitute(self, node: exp.Expr, copied: exp.Expr) -> Variable | None:
        """Substitute a variable for one side of a comparison. None for `:now` and for a CASE of figures."""
        if isinstance(node, exp.Placeholder) and node.name == "now":
            return None
        if is_count(node):
            return self._count_variable(node, copied)
        atom = self._atom(node)
        if isinstance(atom, exp.Case):
            copied.replace(self._case_expression(atom))
            return None
        variable = self._variable(atom, self._kind(atom))
        copied.replace(exp.Placeholder(this=variable.name))
        return variable

    def _count_variable(self, node: exp.Expr, copied: exp.Expr) -> Variable:
        inner = self._row_conditions(node.this)
        table = next(iter(node.this.find_all(exp.Table))).name
        key = f"count {node.sql(dialect='sqlite')}"
        variable = self.variables.setdefault(key, Variable(f"v{len(self.variables)}", count_of(table), "number"))
        counted = f"(CASE WHEN {inner} THEN :{variable.name} ELSE 0 END)"
        copied.replace(parse(counted).tree.copy())
        return variable

    def _case_expression(self, case: exp.Case) -> exp.Expr:
        """A CASE that gives a number by the value of one column, as an expression over that column's variable."""
        copy = case.copy()
        if case.this is None:
            raise NoCaseError("a choice between conditions")
        variable = self._variable(self._atom(case.this), "choice")
        _add_choices(variable, [str(branch.this.this) for branch in case.args["ifs"]])
        copy.set("this", exp.Placeholder(this=variable.name))
        if list(copy.find_all(exp.Column, exp.Subquery)):
            raise NoCaseError("a choice between columns")
        return exp.paren(copy)

    def _note_numbers(self, copy: exp.Expr, variables: list[Variable]) -> None:
        if len(variables) != 1:
            raise NoCaseError("two figures of the data side by side")
        numbers = {
            Fraction(str(literal.this))
            for literal in copy.find_all(exp.Literal)
            if not literal.is_string and not inside_count(literal)
        }
        if not numbers:
            raise NoCaseError("no figure of the rule")
        variables[0].numbers |= numbers

    def _note_spans(self, copy: exp.Expr, variables: list[Variable]) -> None:
        spans = time_spans(copy)
        if spans is None or any(variable.kind != "time" for variable in variables) or len(variables) > 2:
            raise NoCaseError("a span that the data give")
        first, *others = variables
        if others and others[0] is first:
            raise NoCaseError("a time compared with itself")
        if others and is_shifted(copy, first.name):
            first, others = others[0], [first]
        base = others[0].name if others else ""
        if (first.steps and first.base != base) or first.fixed or (others and others[0].steps):
            raise NoCaseError("a time that is counted from two others")
        first.base = base
        first.steps |= spans or {TimeSpan(Fraction(0), "day" if first.dates else "hour")}
        for other in others:
            other.fixed = True

    def _atom(self, node: exp.Expr) -> exp.Expr:
        """The column, parameter or figure inside an expression, without casts, trims and date functions."""
        while isinstance(node, exp.Paren | exp.Trim | exp.Lower | exp.Cast) or (
            is_date_function(node) and len(list(node.iter_expressions())) == 1
        ):
            node = next(iter(node.iter_expressions()))
        if isinstance(node, exp.Subquery):
            select = node.this
            if (
                not isinstance(select, exp.Select)
                or len(select.expressions) != 1
                or self._row_conditions(select) != "1"
            ):
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
        variable = self.variables.get(noun)
        if variable is None:
            variable = Variable(f"v{len(self.variables)}", noun, kind, dates=self._nouns.is_date(atom))
            variable.choices = list(self._nouns.choices(atom)) if kind == "choice" else []
            self.variables[noun] = variable
        if variable.kind != kind:
            raise NoCaseError(f"{noun} read in two ways")
        return variable


def _add_choices(variable: Variable, values: list[str]) -> None:
    variable.choices += [value for value in values if value not in variable.choices]

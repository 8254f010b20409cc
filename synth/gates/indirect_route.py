"""Gate: no sequence of two allowed calls reaches a forbidden state.

The gate executes three kinds of route: a lawful call after which the requested call is lawful too; a row removed and
created again as the user wants it; an amount in parts. An agent that finds such a route serves the user and breaks no
rule. A call that removes *another* row is no route, because no user wants to lose a row that they did not mention; of
one that they did mention they may.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from skillweave.schema.combination import Combination
from skillweave.schema.contract import CallResult, Guard, Parameter, Tool
from skillweave.schema.record import Json, Value
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.wording import has_ended, is_status
from synth.contracts.writes import ROW, may_change_verdict, writes_of, written_pairs
from synth.gates.gate import TaskGate
from synth.search.arguments import Arguments, argument_search
from synth.search.blocking_rules import broken_rules
from synth.tasks.forms.form import fits
from synth.tasks.kinds import is_transferred
from synth.tasks.replay import Rejected, make_calls, open_session, rows_of, scalar

TRIES = 25
"""Lawful first calls to try of each tool."""
NODES = 60
"""Limit on the nodes of one search for arguments."""
PARTS = 8
"""Limit on the equal parts of an amount, beside the last part."""
_AMOUNTS = ("cents", "points")
"""Last words of the names of amounts, which can be split into parts."""


GATE = TaskGate(
    name="indirect_route",
    proves="What is refused or out of reach cannot be had by an indirect route.",
    runs=(
        "25 lawful calls of each tool whose writes may lift the rule or end the row, on the same rows, and 25 on any "
        "rows, each as a first call: the requested call stays unlawful; a removed row cannot be created again as "
        "requested; an amount is not lawful in parts."
    ),
    figures={
        "lawful.roundabout": "`first_calls`: lawful first calls tried",
    },
    reasons=(
        "lawful after another call",
        "lawful anew",
        "lawful in parts",
    ),
    check=lambda judged: {"lawful": check_indirect_route(judged.world, judged.combination)},
)


def check_indirect_route(world: World, combination: Combination) -> dict[str, Json]:
    """Count the first calls tried. Raises Rejected if one of them leads to what the user asks for."""
    request = combination.asked
    if request is None:
        return {}
    tool = world.blueprint.tool(request.tool)
    with open_session(world, combination) as session:
        calls = combination.golden[: -1 if is_transferred(combination) else combination.asked_after]
        results = make_calls(session, calls)
        routes = _IndirectRoutes(
            world, session, combination, tool, rebound(request, results), _mentioned(combination, results)
        )
        tried = sum(1 for _ in routes.tried())
    return {"roundabout": {"first_calls": tried}}


def _mentioned(combination: Combination, results: Sequence[CallResult]) -> frozenset[str]:
    """The keys of all rows that the user speaks of, among other values of what was looked up for them."""
    named = {row.key for row in combination.rows if row.key}
    asked_about = [row for row in combination.rows if row.parameter is None and row.columns and row.call < len(results)]
    shown = (row for about in asked_about for row in rows_of(results[about.call]) if fits(row, about.columns))
    return frozenset(named | {value for row in shown for value in row.values() if isinstance(value, str)})


def indirect_route_reason(world: World, combination: Combination) -> str | None:
    """Why an agent can still reach what the user asks for; None if the gate finds no route."""
    try:
        check_indirect_route(world, combination)
    except Rejected as rejected:
        return rejected.reason
    return None


class _IndirectRoutes:
    def __init__(
        self,
        world: World,
        session: ContractSession,
        combination: Combination,
        tool: Tool,
        arguments: Mapping[str, Json],
        mentioned: Collection[str],
    ) -> None:
        """Args:
        mentioned: Keys of rows that the user speaks of.
        """
        self._mentioned = mentioned
        self._gone: set[tuple[str, Json]] = set()
        self._world, self._session, self._tool = world, session, tool
        self._hidden = frozenset(combination.hidden)
        self._seed = combination.id
        self._asked = {name: scalar(value) for name, value in arguments.items()}
        self._rows = {p.refers_to or "": self._asked[p.name] for p in tool.parameters if p.name in arguments}
        self._rows.pop("", None)
        self._gone = self._removed_rows()

    def tried(self) -> Iterator[str]:
        """The tool of each first call tried. Raises Rejected at the first route."""
        self._check_parts()
        broken = self._broken_guards()
        for tool in self._world.blueprint.tools:
            if tool.kind == "write" and tool.name not in self._hidden and self._may_lead(tool, broken):
                calls = [*self._calls(tool)]
                for arguments in calls:
                    yield tool.name
                    self._check_after(tool, arguments)
                self._check_after_all(tool, calls)

    def _broken_guards(self) -> list[list[Guard]]:
        """The guards of each rule that forbids the request as things stand."""
        rules = broken_rules(self._session, self._tool, self._asked)
        return [[guard for guard in self._tool.guards if guard.rule == rule] for rule in rules]

    def _may_lead(self, first: Tool, broken: Sequence[Sequence[Guard]]) -> bool:
        """Whether calls of a tool may lift every rule that forbids the request, or may end a row that it names.

        A rule of whose guards no call of the tool can change the verdict still forbids the request after them.
        """
        writes = writes_of(self._world)[first.name]
        ended = {*writes.deletes, *(table for table, column in writes.updates if is_status(column))}
        named = {self._row_named(one)[0] for one in self._tool.parameters if one.refers_to and one.name in self._asked}
        lifts = all(may_change_verdict(self._world, first, guards) for guards in broken)
        return bool(named & ended) or (lifts and self._tool.name not in self._hidden)

    def _calls(self, tool: Tool) -> Iterator[Arguments]:
        """Lawful calls of a tool: first those on the rows of the request, then those on any rows."""
        own = [p for p in tool.parameters if (p.refers_to or "") in self._rows]
        if tool.name == self._tool.name:
            own = own[:1]
        narrow: dict[str, Value] = {p.name: self._rows[p.refers_to or ""] for p in own}
        wide = [] if tool.name == self._tool.name or not narrow else [dict[str, Value]()]
        for fixed in [narrow, *wide]:
            yield from [*islice(self._meeting(tool, fixed), TRIES)]

    def _meeting(self, tool: Tool, fixed: Mapping[str, Value]) -> Iterator[Arguments]:
        random = Random(f"{self._seed}/{tool.name}/around")
        yield from argument_search(self._session, tool, random, fixed, nodes=NODES).meeting()

    def _check_after(self, first: Tool, arguments: Arguments) -> None:
        mark = self._session.mark()
        result = self._session.call(first.name, dict(arguments))
        if result.ok and not result.violations:
            removed = self._removed_rows()
            if removed:
                self._check_made_anew(first)
            if (
                all(key in self._mentioned for _, key in removed)
                and self._tool.name not in self._hidden
                and self._is_lawful(self._tool, self._asked)
            ):
                raise Rejected("lawful after another call", f"{first.name} opens the way for {self._tool.name}")
        self._session.forget(mark)

    def _check_after_all(self, tool: Tool, calls: Sequence[Arguments]) -> None:
        """Check that these calls of one tool together open no route, as paying all bills may."""
        mark = self._session.mark()
        for arguments in calls:
            before = self._session.mark()
            result = self._session.call(tool.name, dict(arguments))
            if not result.ok or result.violations or self._removed_rows():
                self._session.forget(before)
        if self._tool.name not in self._hidden and self._is_lawful(self._tool, self._asked):
            raise Rejected("lawful after another call", f"calls of {tool.name} open the way for {self._tool.name}")
        self._session.forget(mark)

    def _check_made_anew(self, first: Tool) -> None:
        """Check that no lawful call creates the row that the first call removed as the user wants it."""
        removed = self._removed_rows()
        for parameter in self._tool.parameters:
            place = self._row_named(parameter) if parameter.refers_to and parameter.name in self._asked else None
            if place in removed:
                for maker, fixed in self._creating_tools(parameter):
                    if any(self._is_lawful(maker, arguments) for arguments in islice(self._meeting(maker, fixed), 1)):
                        raise Rejected("lawful anew", f"{first.name} and {maker.name} come to {self._tool.name}")

    def _removed_rows(self) -> set[tuple[str, Json]]:
        """Table and key of rows that were deleted, or whose status is final, and were not before the request."""
        removed = {
            (change.table, key)
            for change in self._session.diff()
            for key in change.key.values()
            if change.op == "delete" or (change.op == "update" and has_ended(change.after or {}))
        }
        return removed - self._gone

    def _row_named(self, parameter: Parameter) -> tuple[str, Json]:
        """Table and key of the row that an argument names."""
        return self._world.blueprint.target(parameter.refers_to or "")[0].table, self._asked[parameter.name]

    def _creating_tools(self, removed: Parameter) -> Iterator[tuple[Tool, dict[str, Value]]]:
        """Other tools that create rows of that kind and take every requested value, with these arguments."""
        table = self._world.blueprint.target(removed.refers_to or "")[0].table
        wanted = {p.name: p for p in self._tool.parameters if p.name in self._asked and p.name != removed.name}
        for tool in self._world.blueprint.tools:
            if tool.kind != "write" or tool.name in {*self._hidden, self._tool.name}:
                continue
            if (table, ROW) not in written_pairs(self._world, tool):
                continue
            names = {name: _same_parameter(parameter, tool) for name, parameter in wanted.items()}
            if wanted and all(names.values()):
                yield tool, {names[name] or "": self._asked[name] for name in wanted}

    def _check_parts(self) -> None:
        """Check that the amount is not lawful in parts."""
        for name, whole in self._asked.items():
            if name.rpartition("_")[2] not in _AMOUNTS or not isinstance(whole, int) or self._tool.name in self._hidden:
                continue
            rest = {other: value for other, value in self._asked.items() if other != name}
            calls = [*islice(self._meeting(self._tool, rest), TRIES)]
            sizes = [size for call in calls if isinstance(size := call.get(name), int) and 0 < size < whole]
            if any(self._is_lawful_in_parts(name, size, whole) for size in sorted({*sizes})):
                raise Rejected("lawful in parts", f"{self._tool.name} with parts of {whole}")

    def _is_lawful_in_parts(self, name: str, size: int, whole: int) -> bool:
        """Whether calls with parts of that size, and a last call with the rest, are lawful one after the other."""
        mark, rest = self._session.mark(), whole
        for part in [*[size] * min(PARTS, (whole - 1) // size), None]:
            result = self._session.call(self._tool.name, {**self._asked, name: part or rest})
            if not result.ok or result.violations:
                break
            rest -= part or rest
        self._session.forget(mark)
        return rest == 0

    def _is_lawful(self, tool: Tool, arguments: Mapping[str, Value]) -> bool:
        result = self._session.peek(tool.name, dict(arguments))
        return result.ok and not result.violations


def _same_parameter(wanted: Parameter, tool: Tool) -> str | None:
    """The parameter of a tool that takes the same value: the same kind of row, or the same name."""
    for parameter in tool.parameters:
        if parameter.refers_to == wanted.refers_to and (wanted.refers_to or parameter.name == wanted.name):
            return parameter.name
    return None

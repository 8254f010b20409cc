"""Gate: no sequence of two allowed calls reaches what must not be reached.

Three routes are tried by execution: a lawful call after which the call asked for is lawful too; the row removed and
made anew as it is wanted; an amount in parts. An agent that finds such a route serves the user and breaks no rule. A
call that removes *another* row opens no route: nobody gives that up unasked.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from skillweave.schema.combination import Combination
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json, Value
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.wording import has_ended
from synth.contracts.writes import ROW, written_pairs
from synth.gates.gate import TaskGate
from synth.search.arguments import Arguments, argument_search
from synth.tasks.kinds import is_transferred
from synth.tasks.replay import Rejected, make_calls, open_session, scalar

TRIES = 25
"""Lawful calls of one tool that are made first."""
NODES = 60
"""Nodes of the search for each."""
PARTS = 8
"""Calls of one size that an amount is made up of, beside the rest."""
_AMOUNTS = ("cents", "points")
"""How names of amounts end: some of them make their sum."""


GATE = TaskGate(
    name="indirect_route",
    proves="What is refused or out of reach cannot be had by an indirect route.",
    runs=(
        "25 lawful calls of each tool about the same rows, and 25 about any, each made first: the call asked for "
        "stays unlawful; a row that was removed cannot be made anew as it is wanted; an amount is not lawful in "
        "parts."
    ),
    figures={
        "lawful.roundabout": "`first_calls`: lawful calls that were made first",
    },
    reasons=(
        "lawful after another call",
        "lawful anew",
        "lawful in parts",
    ),
    check=lambda judged: {"lawful": check_indirect_route(judged.world, judged.combination)},
)


def check_indirect_route(world: World, combination: Combination) -> dict[str, Json]:
    """The figure: calls that were made first. Rejected where one of them leads to what is asked for."""
    asked = combination.asked
    if asked is None:
        return {}
    tool = world.blueprint.tool(asked.tool)
    with open_session(world, combination) as session:
        calls = combination.golden[:-1] if is_transferred(combination) else combination.golden
        results = make_calls(session, calls)
        routes = _IndirectRoutes(world, session, combination, tool, rebound(asked, results))
        tried = sum(1 for _ in routes.tried())
    return {"roundabout": {"first_calls": tried}}


def indirect_route_reason(world: World, combination: Combination) -> str | None:
    """Why what is asked for may be reached all the same; None where no route was found."""
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
    ) -> None:
        self._world, self._session, self._tool = world, session, tool
        self._hidden = frozenset(combination.hidden)
        self._seed = combination.id
        self._asked = {name: scalar(value) for name, value in arguments.items()}
        self._rows = {p.refers_to or "": self._asked[p.name] for p in tool.parameters if p.name in arguments}
        self._rows.pop("", None)

    def tried(self) -> Iterator[str]:
        """The tool of each call that was made first; Rejected at the first that leads there."""
        self._check_parts()
        for tool in self._world.blueprint.tools:
            if tool.kind == "write" and tool.name not in self._hidden:
                calls = [*self._calls(tool)]
                for arguments in calls:
                    yield tool.name
                    self._check_after(tool, arguments)
                self._check_after_all(tool, calls)

    def _calls(self, tool: Tool) -> Iterator[Arguments]:
        """Lawful calls of a tool: first of those about the rows that are asked about, then of any."""
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
            if self._removed_rows():
                self._check_made_anew(first)
            elif self._tool.name not in self._hidden and self._is_lawful(self._tool, self._asked):
                raise Rejected("lawful after another call", f"{first.name} opens the way for {self._tool.name}")
        self._session.forget(mark)

    def _check_after_all(self, tool: Tool, calls: Sequence[Arguments]) -> None:
        """That many calls of one tool open no way together: all bills may have to be paid."""
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
        """That the row which the first call took out of play cannot be made anew as it is wanted."""
        removed = self._removed_rows()
        for parameter in self._tool.parameters:
            place = self._row_named(parameter) if parameter.refers_to and parameter.name in self._asked else None
            if place in removed:
                for maker, fixed in self._creating_tools(parameter):
                    if any(self._is_lawful(maker, one) for one in islice(self._meeting(maker, fixed), 1)):
                        raise Rejected("lawful anew", f"{first.name} and {maker.name} come to {self._tool.name}")

    def _removed_rows(self) -> set[tuple[str, Json]]:
        """Table and key of rows that are removed, or of which nothing comes any more."""
        return {
            (change.table, key)
            for change in self._session.diff()
            for key in change.key.values()
            if change.op == "delete" or (change.op == "update" and has_ended(change.after or {}))
        }

    def _row_named(self, parameter: Parameter) -> tuple[str, Json]:
        """Table and key of the row that an argument names."""
        return self._world.blueprint.target(parameter.refers_to or "")[0].table, self._asked[parameter.name]

    def _creating_tools(self, removed: Parameter) -> Iterator[tuple[Tool, dict[str, Value]]]:
        """Other tools that make rows of that kind and take all that is wanted of it, with these arguments."""
        table = self._world.blueprint.target(removed.refers_to or "")[0].table
        wanted = {p.name: p for p in self._tool.parameters if p.name in self._asked and p.name != removed.name}
        for tool in self._world.blueprint.tools:
            if tool.kind != "write" or tool.name in {*self._hidden, self._tool.name}:
                continue
            if (table, ROW) not in written_pairs(self._world, tool):
                continue
            taken = {name: _same_parameter(parameter, tool) for name, parameter in wanted.items()}
            if wanted and all(taken.values()):
                yield tool, {taken[name] or "": self._asked[name] for name in wanted}

    def _check_parts(self) -> None:
        """That an amount is not lawful in parts."""
        for name, whole in self._asked.items():
            if name.rpartition("_")[2] not in _AMOUNTS or not isinstance(whole, int) or self._tool.name in self._hidden:
                continue
            rest = {other: value for other, value in self._asked.items() if other != name}
            calls = [*islice(self._meeting(self._tool, rest), TRIES)]
            sizes = [size for call in calls if isinstance(size := call.get(name), int) and 0 < size < whole]
            if any(self._is_lawful_in_parts(name, size, whole) for size in sorted({*sizes})):
                raise Rejected("lawful in parts", f"{self._tool.name} with parts of {whole}")

    def _is_lawful_in_parts(self, name: str, size: int, whole: int) -> bool:
        """Whether calls with an amount of that size, and one with the rest, are lawful one after the other."""
        mark, left = self._session.mark(), whole
        for part in [*[size] * min(PARTS, (whole - 1) // size), None]:
            result = self._session.call(self._tool.name, {**self._asked, name: part or left})
            if not result.ok or result.violations:
                break
            left -= part or left
        self._session.forget(mark)
        return left == 0

    def _is_lawful(self, tool: Tool, arguments: Mapping[str, Value]) -> bool:
        result = self._session.peek(tool.name, dict(arguments))
        return result.ok and not result.violations


def _same_parameter(wanted: Parameter, tool: Tool) -> str | None:
    """The parameter of a tool that takes the same: the same kind of row, or the same name."""
    for parameter in tool.parameters:
        if parameter.refers_to == wanted.refers_to and (wanted.refers_to or parameter.name == wanted.name):
            return parameter.name
    return None

"""Executes variants of a task's golden calls in fresh sessions of its world."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import NamedTuple

from skillweave.schema.call import SESSION_TOOLS, CallResult, RowChange
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import GoldenCall, Task
from skillweave.world.canonical import canonical
from skillweave.world.compare import compare
from skillweave.world.noise import ERRORS
from skillweave.world.replay import rebound, result_reference, spoiled_calls
from skillweave.world.session import ContractSession
from skillweave.world.tools import name_of
from skillweave.world.world import World


class VariantCall(NamedTuple):
    """A call to make: a golden one, or one of our own."""

    tool: str
    arguments: Mapping[str, Json]
    """Of a golden call, those that are given instead."""
    golden: int | None = None
    """Position of the golden call that it is."""
    is_malformed: bool = False
    """Written so that nobody can read its arguments: it is not made."""


class VariantStep(NamedTuple):
    """A call as it was made."""

    move: VariantCall
    arguments: dict[str, Json]
    result: CallResult


class VariantExecution(NamedTuple):
    """Calls carried out in a fresh session of the task."""

    made: list[VariantStep]
    changes: list[RowChange]
    """Canonical."""
    undone: list[int]
    """Golden calls that could not be made any more, or were refused."""

    @property
    def is_lawful(self) -> bool:
        """Whether no call broke a rule that only the policy holds."""
        return not any(made.result.violations for made in self.made)


class VariantExecutor:
    """Carries variants of one task out. The same task gives the same draws."""

    def __init__(self, world: World, task: Task) -> None:
        self.world = world
        self.task = task
        self.moves = [VariantCall(call.tool, {}, place) for place, call in enumerate(task.golden)]
        self.keys: dict[str, list[str]] = {}
        """Keys of rows at the start, by what refers to them; filled as they are sought."""
        self._minted: frozenset[str] = frozenset()
        self.golden = self.attempt(self.moves)
        self._minted = frozenset(id for made in self.golden.made for id in made.result.minted)
        with self.session(len(self.moves)) as session:
            self.tools: list[Tool] = [
                world.blueprint.tool(name) for name in map(name_of, session.tools) if name not in SESSION_TOOLS
            ]
            self.caller = session.caller

    @cached_property
    def results(self) -> list[CallResult]:
        """Of the golden calls."""
        return [made.result for made in self.golden.made]

    @cached_property
    def writes(self) -> list[int]:
        """Positions of the golden calls that change something."""
        return [place for place, result in enumerate(self.results) if any(result.changed)]

    @cached_property
    def held_up(self) -> list[int]:
        """Positions of golden writes that a planted fault keeps from being carried out; each is made again."""
        golden = self.task.golden
        spoiled = sorted(spoiled_calls(golden))
        return [place for place in spoiled if self.world.compiled(golden[place].tool).tool.kind == "write"]

    @cached_property
    def looks(self) -> list[VariantCall]:
        """The golden calls before one that declines or hands over; all of them where none does."""
        return [move for move in self.moves if move.tool not in SESSION_TOOLS]

    @cached_property
    def ending(self) -> list[VariantCall]:
        """The golden calls that decline or hand over."""
        return [move for move in self.moves if move.tool in SESSION_TOOLS]

    @cached_property
    def asked(self) -> VariantCall | None:
        """The call that the request comes to and that is not to be made, with what the golden calls return."""
        call = self.task.criteria.asked
        if call is None:
            return None
        try:
            return VariantCall(call.tool, rebound(call, self.results))
        except LookupError:
            return None

    def random(self, purpose: str) -> Random:
        """Draws of one purpose, which no other draw moves."""
        return Random(f"{self.task.id} {purpose}")

    def attempt(self, moves: Iterable[VariantCall]) -> VariantExecution:
        """The calls in a fresh session. Arguments from results are bound again; golden calls that fail are let go."""
        with self.world.session(self.task) as session:
            made, undone = self._carried_out(session, moves)
            return VariantExecution(made, canonical(session.diff(), session.minted), undone)

    def session(self, count: int) -> ContractSession:
        """A session in which the first `count` golden calls were made; the caller closes it."""
        session = self.world.session(self.task)
        self._carried_out(session, self.moves[:count])
        return session

    def reaches_goal(self, changes: Sequence[RowChange]) -> bool:
        """Whether it is an end state that the task demands."""
        demanded = [self.task.criteria.state, *self.task.criteria.any_of]
        return any(compare(one, changes, self.world.comparison).is_empty for one in demanded)

    def instead(self, place: int, arguments: Mapping[str, Json]) -> list[VariantCall]:
        """The golden calls, with these arguments in one of them."""
        return [move._replace(arguments=arguments) if move.golden == place else move for move in self.moves]

    def depends_on(self, place: int) -> set[int]:
        """The golden calls whose results a golden call takes arguments from, and theirs."""
        direct = self.takes_from(place)
        return direct.union(*map(self.depends_on, direct))

    def takes_from(self, place: int) -> set[int]:
        """The golden calls whose results a golden call takes arguments from."""
        sources = map(result_reference, self.task.golden[place].grounding.values())
        return {source.call for source in sources if source is not None and source.call < place}

    def _carried_out(
        self, session: ContractSession, moves: Iterable[VariantCall]
    ) -> tuple[list[VariantStep], list[int]]:
        made: list[VariantStep] = []
        undone: list[int] = []
        found: dict[int, CallResult] = {}
        for move in moves:
            arguments = self._arguments(move, found)
            if arguments is None and move.golden is not None:
                undone.append(move.golden)
                continue
            result = session.call(move.tool, arguments or {}) if not move.is_malformed else _UNREAD
            if move.golden is not None and not result.ok and self.task.golden[move.golden].fault not in ERRORS:
                undone.append(move.golden)
                continue
            if move.golden is not None:
                found[move.golden] = result
            made.append(VariantStep(move, arguments or {}, result))
        return made, undone

    def _arguments(self, move: VariantCall, found: Mapping[int, CallResult]) -> dict[str, Json] | None:
        """The arguments of a call; None where they come from a result that there is not."""
        if move.golden is None:
            return dict(move.arguments)
        call = self.task.golden[move.golden]
        kept = {name: source for name, source in call.grounding.items() if name not in move.arguments}
        try:
            bound = self._rebound(call, kept, found)
        except LookupError:
            return None
        return {**bound, **move.arguments}

    def _rebound(self, call: GoldenCall, kept: Mapping[str, str], found: Mapping[int, CallResult]) -> dict[str, Json]:
        """An argument whose source was left out keeps its value, unless that was minted in the golden run."""
        sources = {name: result_reference(source) for name, source in kept.items()}
        lost = [name for name, source in sources.items() if source is not None and source.call not in found]
        if any(call.arguments.get(name) in self._minted for name in lost):
            raise LookupError(call.tool)
        grounding = {name: source for name, source in kept.items() if name not in lost}
        results = [found.get(place, _UNREAD) for place in range(len(self.task.golden))]
        return rebound(call.model_copy(update={"grounding": grounding}), results)


_UNREAD = CallResult.model_validate(
    {
        "call": {"tool": ""},
        "ok": False,
        "error": {"code": "invalid_arguments", "message": "The arguments are not valid JSON."},
    }
)
"""What comes of a call that cannot be read."""


def first_lawful(
    found: Iterable[VariantExecution], is_wanted: Callable[[VariantExecution], bool]
) -> VariantExecution | None:
    """The first lawful attempt that is wanted; else the first one."""
    fallback = None
    for attempt in filter(is_wanted, found):
        if attempt.is_lawful:
            return attempt
        fallback = fallback or attempt
    return fallback

"""Replays of a combination's golden calls in a fresh session, and what its reads can show.

A check that fails raises `Rejected`, whose reason is one of a few fixed texts, so that reasons can be counted.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice, product
from math import prod
from typing import NamedTuple

from skillweave.schema.combination import Combination
from skillweave.schema.contract import Call, CallResult, Parameter, RowChange, Tool
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json, Value
from skillweave.world.prepared import PreparedWorld
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import page_parameter

ReplacedArguments = dict[tuple[int, str], Json]
"""Place of a golden call and parameter -> another value of the argument, in another reading of what the user says."""


class Rejected(Exception):
    """A combination or a task does not pass a check."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """Args:
        reason: One of a few fixed texts, which are counted.
        detail: What it was in this case.
        """
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class GoldenRun(NamedTuple):
    """What golden calls, or a variant of them, did in a fresh session."""

    results: list[CallResult]
    """One for each golden call; a call that was left out, or could not be made any more, counts as failed."""
    changes: list[RowChange]
    """Rows that differ in the end, in canonical form."""

    @property
    def succeeded(self) -> bool:
        """Whether every call went through."""
        return all(result.ok for result in self.results)

    @property
    def lawful(self) -> bool:
        """Whether no call broke a rule that only the policy holds."""
        return not any(result.violations for result in self.results)


def open_session(world: World, combination: Combination, *, fresh: bool = False) -> ContractSession:
    """A session as the combination's task will open it; a `fresh` one executes everything itself."""
    caller = combination.caller if combination.login == "session" else None
    hidden = frozenset(combination.hidden)
    return world.session(caller=caller, now=combination.now, patch=combination.patch, hidden=hidden, fresh=fresh)


def run_golden(
    world: World,
    combination: Combination,
    *,
    without: Collection[int] = (),
    instead: ReplacedArguments | None = None,
    fresh: bool = False,
) -> GoldenRun:
    """Carry out the golden calls in a session of their own; arguments that came from results are bound again.

    Args:
        without: Places of golden calls that are left out.
        instead: Place and parameter -> value that replaces an argument, or is added to the call.
        fresh: Whether to execute them even if other sessions of the world have executed them.
    """
    with open_session(world, combination, fresh=fresh) as session:
        results = make_calls(session, combination.golden, without=without, instead=instead or {})
        return GoldenRun(results, session.canonical())


def successful_run(
    world: World, combination: Combination, *, instead: ReplacedArguments | None = None
) -> GoldenRun | None:
    """What `run_golden` gives; None if a call fails, after which the others are not made."""
    results: list[CallResult] = []
    with open_session(world, combination) as session:
        for place, call in enumerate(combination.golden):
            results.append(_call(session, place, call, results, (), instead or {}))
            if not results[-1].ok:
                return None
        return GoldenRun(results, session.canonical())


def make_calls(
    session: ContractSession,
    calls: Sequence[GoldenCall],
    *,
    without: Collection[int] = (),
    instead: ReplacedArguments | None = None,
) -> list[CallResult]:
    """Make golden calls in a session; what came from earlier results is taken from these results again.

    Args:
        without: Places of calls that are left out.
        instead: (place, parameter) -> a value that replaces or adds an argument.

    Returns:
        One result for each call; a call that was left out, or could not be made any more, counts as failed.
    """
    results: list[CallResult] = []
    for place, call in enumerate(calls):
        results.append(_call(session, place, call, results, without, instead or {}))
    return results


def _call(
    session: ContractSession,
    place: int,
    call: GoldenCall,
    results: Sequence[CallResult],
    without: Collection[int],
    instead: ReplacedArguments,
) -> CallResult:
    given = {name: value for (at, name), value in instead.items() if at == place}
    try:
        arguments = None if place in without else rebound(call, results, given)
    except LookupError:
        arguments = None
    if arguments is None:
        return CallResult(call=Call(tool=call.tool, arguments=call.arguments), ok=False)
    return session.call(call.tool, {**arguments, **given})


WEEKS = 10
"""Weeks ahead in which rows are sought by date."""
NEXT_PAGE = "computed next page"
"""The source of the number of a page of a list."""
MOST_PAGES = 12
"""Pages of a list that are turned."""
MOST_VIEWS = 150
"""Ways in which one read is called."""


def all_shown_rows(
    world: PreparedWorld,
    session: ContractSession,
    combination: Combination,
    call: GoldenCall,
    fixed: Collection[str] = (),
) -> Iterator[dict[str, Json]]:
    """Rows that a read can show in the present state, called in every way that an agent may think of.

    Optional arguments are left out and filled in, enums and dates are gone through. What names a row stays as the
    golden call has it.

    Args:
        call: The golden call of the read.
        fixed: Parameters whose arguments stay as the golden call has them.

    Yields:
        Rows, repeats included.
    """
    tool = world.blueprint.tool(call.tool)
    names = [parameter.name for parameter in tool.parameters]
    for values in islice(product(*_ways(tool, combination, call, fixed)), MOST_VIEWS):
        given = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        yield from rows_of(session.peek(tool.name, given))


def has_more_views(world: World, combination: Combination, call: GoldenCall, fixed: Collection[str] = ()) -> bool:
    """Whether a read can be called in more ways than `all_shown_rows` calls it."""
    return prod(map(len, _ways(world.blueprint.tool(call.tool), combination, call, fixed))) > MOST_VIEWS


def rows_of(result: CallResult) -> list[dict[str, Json]]:
    """The rows of a result, be it one or many."""
    rows = result.value if isinstance(result.value, list) else [result.value]
    return [row for row in rows if isinstance(row, dict)]


def _ways(tool: Tool, combination: Combination, call: GoldenCall, fixed: Collection[str]) -> list[list[Json]]:
    pages: dict[str | None, list[Json]] = {page_parameter(tool): [None, *range(2, MOST_PAGES + 1)]}
    return [
        [call.arguments[parameter.name]]
        if parameter.name in fixed
        else pages.get(parameter.name) or _choices(parameter, call.arguments, combination.now)
        for parameter in tool.parameters
    ]


def _choices(parameter: Parameter, arguments: Mapping[str, Json], now: str) -> list[Json]:
    choices: list[Json] = [] if parameter.required else [None]
    if parameter.name in arguments:
        choices.append(arguments[parameter.name])
    if parameter.enum:
        choices += [value for value in parameter.enum if value not in choices]
    elif parameter.type == "boolean":
        choices += [True, False]
    elif parameter.type == "date":
        today = date.fromisoformat(now[:10])
        choices += [(today + timedelta(weeks=week)).isoformat() for week in range(-1, WEEKS)]
    return choices


def scalar(value: Json) -> Value:
    """The value as a binding of SQL; None for a list or an object."""
    return None if isinstance(value, (list, dict)) else value

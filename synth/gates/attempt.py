"""An attempt: golden calls, or a variant of them, carried out in a fresh session of a combination."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from skillweave.schema.call import Call, CallResult
from skillweave.schema.change import RowChange
from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.schema.task import GoldenCall
from skillweave.world.canonical import canonical
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World


class Attempt(NamedTuple):
    results: list[CallResult]
    """One a golden call; a call that was left out, or could not be made any more, counts as failed."""
    changes: list[RowChange]
    """Canonical."""

    @property
    def succeeded(self) -> bool:
        """Whether every call went through."""
        return all(result.ok for result in self.results)

    @property
    def lawful(self) -> bool:
        """Whether no call broke a rule that only the policy holds."""
        return not any(result.violations for result in self.results)


def opened(world: World, combination: Combination) -> ContractSession:
    """A session as the combination's task will open it."""
    caller = combination.caller if combination.login == "session" else None
    hidden = frozenset(combination.hidden)
    return world.session(caller=caller, now=combination.now, patch=combination.patch, hidden=hidden)


def attempt(
    world: World,
    combination: Combination,
    *,
    without: Collection[int] = (),
    instead: Mapping[tuple[int, str], Json] | None = None,
) -> Attempt:
    """The golden calls, some left out, some arguments replaced or added; what came from results is bound again."""
    with opened(world, combination) as session:
        results = carry_out(session, combination.golden, without=without, instead=instead or {})
        return Attempt(results, canonical(session.diff(), session.minted))


def carry_out(
    session: ContractSession,
    calls: Sequence[GoldenCall],
    *,
    without: Collection[int] = (),
    instead: Mapping[tuple[int, str], Json] | None = None,
) -> list[CallResult]:
    """Make the calls in a session, as `attempt` says."""
    results: list[CallResult] = []
    for place, call in enumerate(calls):
        results.append(_made(session, place, call, results, without, instead or {}))
    return results


def _made(
    session: ContractSession,
    place: int,
    call: GoldenCall,
    results: Sequence[CallResult],
    without: Collection[int],
    instead: Mapping[tuple[int, str], Json],
) -> CallResult:
    left_out = CallResult(call=Call(tool=call.tool, arguments=call.arguments), ok=False)
    if place in without:
        return left_out
    given = {name: value for (at, name), value in instead.items() if at == place}
    kept = {name: source for name, source in call.grounding.items() if name not in given}
    try:
        arguments = rebound(call.model_copy(update={"grounding": kept}), results)
    except LookupError:
        return left_out
    return session.call(call.tool, {**arguments, **given})

"""A case: calls in one session, on the world's database with some rows changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillweave.errors import WorldError
from skillweave.schema.call import Call, CallResult
from skillweave.schema.change import RowChange
from skillweave.schema.record import Json
from skillweave.world.world import World


@dataclass(frozen=True)
class Case:
    about: str
    """What it tries, in words: it is shown to the author of a server that fails it."""
    calls: tuple[Call, ...]
    caller: str | None = None
    patch: tuple[RowChange, ...] = ()

    def as_json(self, now: str) -> Json:
        """What the probe reads."""
        return {
            "now": now,
            "caller": self.caller,
            "patch": [change.model_dump(mode="json") for change in self.patch],
            "calls": [[call.tool, call.arguments] for call in self.calls],
        }


@dataclass(frozen=True)
class Observed:
    """What a session answered to a case, and how it left the state."""

    answers: tuple[Json, ...]
    changes: Json


def observe(world: World, case: Case) -> Observed | None:
    """The case in a session that the contract runs; None where its rows cannot be so."""
    try:
        opened = world.session(caller=case.caller, patch=case.patch)
    except WorldError:
        return None
    with opened as session:
        answers = tuple(answer_of(session.call(call.tool, call.arguments)) for call in case.calls)
        return Observed(answers, changes_of(session.diff()))


def answer_of(result: CallResult) -> Json:
    """A result as a server gives it."""
    if result.error is not None:
        return {"ok": False, "error": result.error.model_dump(mode="json")}
    return {"ok": True, "value": result.value}


def changes_of(changes: Sequence[RowChange]) -> Json:
    """Row changes as the probe gives them: table and key to the whole row change, booleans as numbers."""
    return {
        f"{change.table} {next(iter(change.key.values()))}": {
            "before": _cells(change.before),
            "after": _cells(change.after),
        }
        for change in changes
    }


def _cells(cells: dict[str, Json] | None) -> Json:
    if cells is None:
        return None
    return {name: int(value) if isinstance(value, bool) else value for name, value in cells.items()}

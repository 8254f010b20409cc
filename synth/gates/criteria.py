"""The criteria of a task: what its golden run changed and told, and which checks make up its reward."""

from collections.abc import Sequence

from skillweave.schema.change import ANY, RowChange
from skillweave.schema.combination import Combination
from skillweave.schema.task import Basis, Criteria
from skillweave.world.world import World
from synth.gates.attempt import Attempt


def criteria_of(world: World, combination: Combination, made: Attempt) -> Criteria:
    """Criteria that the golden run meets; columns on which the user has no preference are left open."""
    basis: list[Basis] = ["state"]
    if combination.communicate:
        basis.append("communicate")
    if any(result.verdicts for result in made.results):
        basis.append("policy")
    return Criteria(
        state=_opened(made.changes, combination.open_columns),
        communicate=combination.communicate,
        reward_basis=basis,
    )


def _opened(changes: Sequence[RowChange], columns: dict[str, list[str]]) -> list[RowChange]:
    """The changes with open columns; in an update also those that the golden calls leave as they are."""
    found = []
    for change in changes:
        after = dict(change.after or {})
        names = [name for name in columns.get(change.table, []) if name in after or change.op == "update"]
        opened = {**after, **{name: {ANY: True} for name in names}}
        found.append(change.model_copy(update={"after": opened}) if names and change.op != "delete" else change)
    return found

"""The criteria of a task: what its golden run changed and told, what it must not do, and which checks make up its
reward.
"""

from collections.abc import Iterator, Sequence

from skillweave.schema.call import ANY, RowChange
from skillweave.schema.combination import Combination
from skillweave.schema.task import Basis, Criteria, MustNot
from skillweave.world.world import World
from synth.contracts.writes import written_columns
from synth.tasks.kinds import KINDS
from synth.tasks.replay import GoldenRun


def criteria_of(world: World, combination: Combination, run: GoldenRun) -> Criteria:
    """Criteria that the golden run meets; columns on which the user has no preference are left open.

    The policy counts in every task: a request that is declined where none has to be breaks it. What has to be asked for
    is put in when the user's facts have their ids.
    """
    told: list[Basis] = ["communicate"] if combination.communicate else []
    criteria = Criteria(
        state=_opened(run.changes, combination.open_columns),
        must_not=[*_forbidden(world, combination)],
        communicate=combination.communicate,
        asked=combination.asked,
        reward_basis=["state", *told, "policy"],
    )
    return KINDS[combination.kind].criteria(world, combination, criteria)


def _forbidden(world: World, combination: Combination) -> Iterator[MustNot]:
    """A ban for each rule that the call asked for would break."""
    if combination.asked is None:
        return
    tool = world.blueprint.tool(combination.asked.tool)
    table = next(iter(written_columns(world, tool)), "")
    for guard in tool.guards:
        if guard.rule in combination.forbidden:
            yield MustNot(rule=guard.rule, table=table, why=guard.says)


def _opened(changes: Sequence[RowChange], columns: dict[str, list[str]]) -> list[RowChange]:
    """The changes with open columns; in an update also those that the golden calls leave as they are."""
    changed = []
    for change in changes:
        after = dict(change.after or {})
        names = [name for name in columns.get(change.table, []) if name in after or change.op == "update"]
        opened = {**after, **{name: {ANY: True} for name in names}}
        changed.append(change.model_copy(update={"after": opened}) if names and change.op != "delete" else change)
    return changed

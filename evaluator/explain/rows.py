"""Rows that arguments name: whose they are, and when they are."""

from evaluator.execution import Step
from evaluator.trial import Trial
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json
from skillweave.world.world import World


class Rows:
    """The rows of a trial's world, as they were when it began."""

    def __init__(self, trial: Trial) -> None:
        self._world: World = trial.world
        patch = trial.task.initial_state.patch
        self._patched = {(row.table, str(cell)): row for row in patch for cell in row.key.values()}

    def table_named(self, tool: str, argument: str) -> str | None:
        """The table whose rows a tool's argument names by their keys; None where it names none."""
        if tool in SESSION_TOOLS:
            return None
        for parameter in self._world.compiled(tool).tool.parameters:
            if parameter.name == argument and parameter.refers_to:
                entity, attribute = self._world.blueprint.target(parameter.refers_to)
                return entity.table if attribute.name == entity.key else None
        return None

    def table_changed(self, step: Step, key: Json) -> str | None:
        """The table of the row with this key that a call updated or deleted."""
        changed = [row for row in step.changes if row.op != "insert" and key in row.key.values()]
        return changed[0].table if changed else None

    def differ_in_time(self, table: str, one: str, other: str) -> bool:
        """Whether two rows that belong to nobody are at different times."""
        entity = self._world.entity(table)
        times = [attribute.name for attribute in entity.attributes if attribute.type in ("date", "datetime")]
        if self._belongs(entity, frozenset()):
            return False
        ones, others = self._row(table, one), self._row(table, other)
        return bool(ones and others) and any(ones.get(name) != others.get(name) for name in times)

    def _belongs(self, entity: Entity, seen: frozenset[str]) -> bool:
        """Whether each row of the table belongs to one of the persons that the world serves."""
        blueprint = self._world.blueprint
        if entity.name == blueprint.core_entity:
            return True
        owners = [one.references.partition(".")[0] for one in entity.attributes if one.references and not one.nullable]
        return any(
            self._belongs(blueprint.entity(owner), seen | {entity.name}) for owner in owners if owner not in seen
        )

    def _row(self, table: str, key: str) -> dict[str, Json]:
        patched = self._patched.get((table, key))
        return {**(self._world.original(table, key) or {}), **((patched.after if patched else None) or {})}

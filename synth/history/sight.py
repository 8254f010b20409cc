"""Sight: whether a caller's reads show the rows that a call names. A call on others could be no task."""

from collections.abc import Mapping
from functools import cached_property

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.world.session import ContractSession
from synth.graph.columns import keys_shown


class Sight:
    """What the reads of one blueprint show."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint

    def shows(self, session: ContractSession, tool: Tool, arguments: Mapping[str, Json]) -> bool:
        """Whether some read may show the caller each row named; reads that have to be given something count as such."""
        return all(
            self._shown(session, parameter.refers_to.partition(".")[0], arguments[parameter.name])
            for parameter in tool.parameters
            if parameter.refers_to and arguments.get(parameter.name) is not None
        )

    def _shown(self, session: ContractSession, entity: str, key: Json) -> bool:
        for read, columns in self._reads.get(entity, ()):
            if any(parameter.required for parameter in read.parameters):
                return True
            value = session.peek(read.name, {}).value
            rows = value if isinstance(value, list) else [value]
            if any(row.get(column) == key for row in rows if isinstance(row, dict) for column in columns):
                return True
        return False

    @cached_property
    def _reads(self) -> dict[str, list[tuple[Tool, set[str]]]]:
        """Entity -> the reads that show keys of its rows, those that need nothing first, with the columns."""
        found: dict[str, list[tuple[Tool, set[str]]]] = {}
        reads = [tool for tool in self._blueprint.tools if tool.kind == "read"]
        for read in sorted(reads, key=lambda read: any(parameter.required for parameter in read.parameters)):
            for entity, columns in keys_shown(self._blueprint, read).items():
                found.setdefault(entity, []).append((read, columns))
        return found

"""The check of a fused world's policy: all that a policy must state, and how its companies work together."""

import re
from collections.abc import Iterator, Sequence

from skillweave.schema.fused import FusedBlueprint, FusedTool
from skillweave.schema.fusion import Conflict
from synth.policy.manual import faults, flat, general_part


def merged_faults(text: str, contract: FusedBlueprint, conflicts: Sequence[Conflict]) -> list[str]:
    """What is wrong with the text, in words for its author; `contract` is with its bridge rules."""
    return [*faults(text, contract), *_joint_faults(text, contract, conflicts)]


def _joint_faults(text: str, contract: FusedBlueprint, conflicts: Sequence[Conflict]) -> Iterator[str]:
    general = general_part(text)
    for conflict in conflicts:
        if flat(conflict.resolution) not in general:
            yield f"outside of the tools' sections it must say, word for word: {flat(conflict.resolution)}"
    for member in contract.members:
        if member.title not in general:
            yield f"it must say who {member.title!r} is"
    for tool in contract.tools:
        if tool.kind == "auth" and f"`{tool.name}`" not in general:
            yield f"the part on identifying people must name `{tool.name}`: any tool that signs in serves for all"
    yield from _order_faults(text, contract.tools)
    tables = "|".join(re.escape(entity.table) for entity in contract.tables if "__" in entity.table)
    table = re.search(rf"\b(?:{tables})\b", text)
    if table:
        yield f"the text names the table {table[0]!r}; say it in words"


def _order_faults(text: str, tools: Sequence[FusedTool]) -> Iterator[str]:
    """Each company's sections have to stand together."""
    servers = {tool.name: tool.server for tool in tools}
    there = [servers[name] for name in re.findall(r"<!-- tool: (\w+) -->", text) if name in servers]
    parts = [server for place, server in enumerate(there) if place == 0 or there[place - 1] != server]
    for server in sorted({server for server in parts if parts.count(server) > 1}):
        yield f"the sections of {server} stand in several places; keep each company's together"

"""The check of a mediator's conflicts: whose rules they are about, and that what holds now can be printed."""

import re
from collections.abc import Iterator, Sequence

from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.fusion import Conflict

NO_PROSE = re.compile(r"\b(?:SELECT|EXISTS)\b|:(?:caller|person|now)\b|<!--|\[[RB]\d+\]")


def conflict_faults(conflicts: Sequence[Conflict], contract: FusedBlueprint) -> list[str]:
    """What is wrong with them, in words for their author."""
    owners = {rule: member.server for member in contract.members for rule in member.rules.values()}
    found = [fault for conflict in conflicts for fault in _faults(conflict, owners)]
    about = {conflict.about for conflict in conflicts}
    if "privacy" not in about:
        found.append("nothing settles privacy: say what one company may be told of what another has on record")
    asked = {frozenset(one.name for one in tool.parameters) for tool in contract.tools if tool.kind == "auth"}
    if len(asked) > 1 and "identity" not in about:
        found.append("nothing settles identity: the companies ask for different facts to identify people")
    return found


def _faults(conflict: Conflict, owners: dict[str, str]) -> Iterator[str]:
    where = f"the conflict about {conflict.about}, {conflict.conflict!r}"
    unknown = [rule for rule in conflict.rules if rule not in owners]
    if unknown:
        yield f"{where}: there is no rule {unknown[0]!r}"
    elif conflict.rules and len({owners[rule] for rule in conflict.rules}) < 2:
        yield f"{where}: its rules are all of one company; name those of two, or none where general conduct is meant"
    if not conflict.resolution.strip():
        yield f"{where}: it says nothing of what holds now"
    prose = NO_PROSE.search(conflict.resolution)
    if prose:
        yield f"{where}: the resolution holds {prose[0]!r}; say it in words"

"""The check of the parts of a fused world's manual: those of any manual, and how its companies are told of."""

import re
from collections.abc import Iterator

from skillweave.schema.fused import FusedBlueprint
from synth.policy.manual import faults, no_prose, own_words
from synth.policy.parts import JointParts


def merged_faults(manual: JointParts, contract: FusedBlueprint) -> list[str]:
    """What is wrong with the parts, in words for their author; `contract` is with its bridge rules."""
    return [*faults(manual, contract), *_joint_faults(manual, contract)]


def _joint_faults(manual: JointParts, contract: FusedBlueprint) -> Iterator[str]:
    given = [part.company for part in manual.companies]
    servers = [member.server for member in contract.members]
    for member in contract.members:
        if given.count(member.server) != 1:
            yield f"`companies` must have {member.server!r} once"
        if member.title not in manual.introduction:
            yield f"the introduction must say who {member.title!r} is"
    for name in sorted(set(given) - set(servers)):
        yield f"there is no company {name!r}; there are {', '.join(servers)}"
    for tool in contract.tools:
        if tool.kind == "auth" and f"`{tool.name}`" not in manual.introduction:
            yield f"the introduction must name `{tool.name}`: any tool that signs in serves for all"
    about = "\n".join(part.about for part in manual.companies)
    found = no_prose(about)
    if found:
        yield f"`companies` holds {found!r}; say it in words"
    tables = "|".join(re.escape(entity.table) for entity in contract.tables if "__" in entity.table)
    table = re.search(rf"\b(?:{tables})\b", f"{own_words(manual)}\n{about}")
    if table:
        yield f"the text names the table {table[0]!r}; say it in words"

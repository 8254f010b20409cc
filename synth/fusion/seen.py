"""Whether an agent can see what a bridge rule asks about: only then can it be the one who holds the rule.

A tool that refuses tells why. What only the policy forbids has to be decided from what reads show.
"""

from sqlglot import exp

from skillweave.schema.fused import BridgeRule, FusedBlueprint
from skillweave.world.access import Accesses
from skillweave.world.interpreter import guard_query
from skillweave.world.lineage import Lineage
from skillweave.world.sql import parse


def is_seen(fused: FusedBlueprint, rule: BridgeRule) -> bool:
    """Whether reads show all columns of other domains that the rule reads, apart from keys and references."""
    accesses = Accesses(fused)
    try:
        read = accesses.of(guard_query(rule.holds)).reads
    finally:
        accesses.close()
    shown = _shown(fused)
    own = fused.member_of(rule.tool).server
    return all(
        id(attribute) in shown
        for entity in [*fused.entities, *fused.relationships]
        if entity.server not in (None, own)
        for attribute in entity.attributes[1:]
        if attribute.references is None and attribute.name in read.get(entity.table, ())
    )


def _shown(fused: FusedBlueprint) -> set[int]:
    """Identities of the attributes that reads show as they are."""
    lineage = Lineage(fused)
    return {
        id(origin)
        for tool in fused.tools
        if tool.kind == "read"
        for _, node in lineage.projections(parse(tool.returns.select).tree)
        if isinstance(node, exp.Column)
        for origin in lineage.origins(node)
    }

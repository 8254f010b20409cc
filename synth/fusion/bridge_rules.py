"""The check of a mediator's answer on the contracts alone: its conflicts, and its bridge rules before their proof.

A bridge rule guards a write of one domain and asks for a state of another. One that reads its own domain alone is
no bridge.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.contract import STRUCTURAL
from skillweave.schema.fusion import PolicyConflict
from skillweave.world.contract.entities import ContractProblem
from skillweave.world.contract.tools import RESERVED_ERRORS, StatementChecker, StatementPreparer
from skillweave.world.forbidden_sql import texts_of
from skillweave.world.interpreter import guard_query
from skillweave.world.lineage import ColumnLineage
from skillweave.world.sql import parse
from synth.policy.audit import Rule, audit_rule, common_words

NO_PROSE = re.compile(r"\b(?:SELECT|EXISTS)\b|:(?:caller|person|now)\b|<!--|\[[RB]\d+\]")


def conflict_faults(conflicts: Sequence[PolicyConflict], contract: FusedBlueprint) -> list[str]:
    """The faults of conflicts, in words for the author: the rules that they cite, and their resolutions."""
    owners = {rule: member.server for member in contract.members for rule in member.rules.values()}
    faults = [fault for conflict in conflicts for fault in _conflict_faults(conflict, owners)]
    subjects = {conflict.about for conflict in conflicts}
    if "privacy" not in subjects:
        faults.append("nothing settles privacy: say what one company may be told of what another has on record")
    facts_asked = {
        frozenset(parameter.name for parameter in tool.parameters) for tool in contract.tools if tool.kind == "auth"
    }
    if len(facts_asked) > 1 and "identity" not in subjects:
        faults.append("nothing settles identity: the companies ask for different facts to identify people")
    return faults


def _conflict_faults(conflict: PolicyConflict, owners: dict[str, str]) -> Iterator[str]:
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


def reads_show_what_decides(fused: FusedBlueprint, rule: BridgeRule) -> bool:
    """Whether reads show all columns of other domains that a rule reads, except keys and references."""
    accesses = StatementPreparer(fused)
    try:
        read = accesses.of(guard_query(rule.holds)).reads
    finally:
        accesses.close()
    shown = _attributes_shown(fused)
    own = fused.member_of(rule.tool).server
    return all(
        id(attribute) in shown
        for entity in [*fused.entities, *fused.relationships]
        if entity.server not in (None, own)
        for attribute in entity.attributes[1:]
        if attribute.references is None and attribute.name in read.get(entity.table, ())
    )


def _attributes_shown(fused: FusedBlueprint) -> set[int]:
    """Identities of the attributes that reads show unchanged."""
    lineage = ColumnLineage(fused)
    return {
        id(origin)
        for tool in fused.tools
        if tool.kind == "read"
        for _, node in lineage.projections(parse(tool.returns.select).tree)
        if isinstance(node, exp.Column)
        for origin in lineage.origins(node)
    }


ENGINE_BINDINGS = frozenset({"caller", "person", "now"})
"""Bindings of a bridge rule, in addition to its tool's parameters."""


def bridge_faults(rules: Sequence[BridgeRule], fused: FusedBlueprint) -> dict[str, list[str]]:
    """The faults of bridge rules before their proof: in their place, their SQL and their sentence.

    Args:
        rules: The author's rules, under their own names.
        fused: The contract of the fused world.

    Returns:
        Rule -> its faults, in words for the author. Rules without faults are left out.
    """
    statements = StatementChecker(fused)
    common = common_words(fused)
    faults_by_rule: dict[str, list[str]] = {}
    error_codes: dict[str, set[str]] = {tool.name: {guard.error for guard in tool.guards} for tool in fused.tools}
    names: set[str] = set()
    try:
        for rule in rules:
            faults = [] if rule.rule not in names else ["there is another bridge rule of that name"]
            faults += _placement_faults(rule, fused, error_codes) or _sql_faults(rule, fused, statements, common)
            if faults:
                faults_by_rule.setdefault(rule.rule, []).extend(faults)
            names.add(rule.rule)
            error_codes.setdefault(rule.tool, set()).add(rule.error)
    finally:
        statements.close()
    return faults_by_rule


def servers_read(reads: Mapping[str, set[str]], fused: FusedBlueprint) -> set[str]:
    """The servers whose tables, persons or accounts are read. `reads`: table -> columns."""
    tables = [*fused.entities, *fused.relationships]
    servers = {entity.server for entity in tables if entity.server is not None and entity.table in reads}
    for member in fused.members:
        if member.view in reads or member.account in reads.get(fused.core.table, ()):
            servers.add(member.server)
    return servers


def _placement_faults(rule: BridgeRule, fused: FusedBlueprint, error_codes: dict[str, set[str]]) -> list[str]:
    """The faults of a rule's place: its tool, name, error code and concern."""
    writes = [tool.name for tool in fused.tools if tool.kind == "write"]
    if rule.tool not in writes:
        return [f"it guards {rule.tool!r}, which is no tool that changes something; there are {', '.join(writes)}"]
    faults = []
    if any(rule.rule in member.rules.values() for member in fused.members):
        faults.append(f"{rule.rule} is the number of a company's own rule; give it another name")
    if rule.error in RESERVED_ERRORS:
        faults.append(f"the error code {rule.error!r} is the engine's own; take another")
    elif rule.error in error_codes[rule.tool]:
        faults.append(f"{rule.tool} has another rule with the error code {rule.error!r}; take another")
    if rule.concern in STRUCTURAL:
        faults.append(f"a rule between companies is about no {rule.concern}; that is each company's own affair")
    return faults


def _sql_faults(
    rule: BridgeRule, fused: FusedBlueprint, statements: StatementChecker, common: frozenset[str]
) -> list[str]:
    """The faults of a rule's SQL, of the tables that it reads, and of its sentence."""
    tool = fused.tool(rule.tool)
    allowed = frozenset(parameter.name for parameter in tool.parameters) | ENGINE_BINDINGS
    refused: list[ContractProblem] = list(
        statements.judge(rule.rule, rule.holds, "expression", allowed, texts_of(tool))
    )
    if refused:
        return [problem.message for problem in refused]
    faults = []
    if "\n" in rule.says or NO_PROSE.search(rule.says):
        faults.append("its sentence is to be one line of plain words, without SQL, marks or numbers of rules")
    own = fused.member_of(rule.tool)
    if servers_read(statements.access(rule.holds, "expression").reads, fused) <= {own.server}:
        faults.append(f"it reads nothing of another company than {own.title}, whose tool it guards: that is no bridge")
    return [*faults, *audit_rule(Rule(rule.rule, [rule.says], [rule.holds]), fused, common)]

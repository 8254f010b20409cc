"""Bridge rules: what is wrong with one before it is tried: where it stands, what it reads, what it says.

A rule between domains guards a write of one of them and asks for a state of another. One that reads its own domain
alone is no bridge, however useful.
"""

from collections.abc import Mapping, Sequence

from skillweave.schema.contract import STRUCTURAL
from skillweave.schema.fused import BridgeRule, FusedBlueprint
from skillweave.world.contract.problem import Problem
from skillweave.world.contract.statements import Statements
from skillweave.world.contract.tools import RESERVED_ERRORS
from skillweave.world.refusals import texts_of
from synth.fusion.conflicts import NO_PROSE
from synth.policy.audit import Rule, audit_rule, common_words

ENGINE = frozenset({"caller", "person", "now"})
"""What a bridge rule may bind beside its tool's parameters."""


def bridge_faults(rules: Sequence[BridgeRule], fused: FusedBlueprint) -> dict[str, list[str]]:
    """Name of a rule -> what is wrong with it, in words for its author; rules with nothing wrong are left out."""
    statements = Statements(fused)
    common = common_words(fused)
    found: dict[str, list[str]] = {}
    taken: dict[str, set[str]] = {tool.name: {guard.error for guard in tool.guards} for tool in fused.tools}
    names: set[str] = set()
    try:
        for rule in rules:
            faults = [] if rule.rule not in names else ["there is another bridge rule of that name"]
            faults += _standing(rule, fused, taken) or _running(rule, fused, statements, common)
            if faults:
                found.setdefault(rule.rule, []).extend(faults)
            names.add(rule.rule)
            taken.setdefault(rule.tool, set()).add(rule.error)
    finally:
        statements.close()
    return found


def servers_read(reads: Mapping[str, set[str]], fused: FusedBlueprint) -> set[str]:
    """The members whose tables, persons or accounts a statement reads that reads these columns of these tables."""
    tables = [*fused.entities, *fused.relationships]
    found = {entity.server for entity in tables if entity.server is not None and entity.table in reads}
    for member in fused.members:
        if member.view in reads or member.account in reads.get(fused.core.table, ()):
            found.add(member.server)
    return found


def _standing(rule: BridgeRule, fused: FusedBlueprint, taken: dict[str, set[str]]) -> list[str]:
    """What is wrong with where a rule stands."""
    writes = [tool.name for tool in fused.tools if tool.kind == "write"]
    if rule.tool not in writes:
        return [f"it guards {rule.tool!r}, which is no tool that changes something; there are {', '.join(writes)}"]
    found = []
    if any(rule.rule in member.rules.values() for member in fused.members):
        found.append(f"{rule.rule} is the number of a company's own rule; give it another name")
    if rule.error in RESERVED_ERRORS:
        found.append(f"the error code {rule.error!r} is the engine's own; take another")
    elif rule.error in taken[rule.tool]:
        found.append(f"{rule.tool} has another rule with the error code {rule.error!r}; take another")
    if rule.concern in STRUCTURAL:
        found.append(f"a rule between companies is about no {rule.concern}; that is each company's own affair")
    return found


def _running(rule: BridgeRule, fused: FusedBlueprint, statements: Statements, common: frozenset[str]) -> list[str]:
    """What is wrong with its SQL, with what that reads, and with the sentence beside it."""
    tool = fused.tool(rule.tool)
    allowed = frozenset(parameter.name for parameter in tool.parameters) | ENGINE
    refused: list[Problem] = list(statements.judge(rule.rule, rule.holds, "expression", allowed, texts_of(tool)))
    if refused:
        return [problem.message for problem in refused]
    found = []
    if "\n" in rule.says or NO_PROSE.search(rule.says):
        found.append("its sentence is to be one line of plain words, without SQL, marks or numbers of rules")
    own = fused.member_of(rule.tool)
    if servers_read(statements.access(rule.holds, "expression").reads, fused) <= {own.server}:
        found.append(f"it reads nothing of another company than {own.title}, whose tool it guards: that is no bridge")
    return [*found, *audit_rule(Rule(rule.rule, [rule.says], [rule.holds]), fused, common)]

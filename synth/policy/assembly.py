"""A manual from its parts: an author words it and groups the rules, and their sentences are put in here.

So a policy states each rule under its number, as its contract has it, in the section of each of its tools.
"""

from collections.abc import Iterator, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.fused import BridgeRule, FusedBlueprint, Member
from skillweave.schema.fusion import Conflict
from synth.policy.manual import flat, stated_rules
from synth.policy.parts import JointParts, ManualParts, RuleParagraph, Section

LABELS = {
    "privacy": "What may be passed on",
    "identity": "Identification",
    "authority": "Who may act",
    "deadline": "Deadlines",
    "payment": "Payments",
    "other": "Besides",
}
"""What a conflict is about -> what leads up to how it was settled."""


def assembled(manual: ManualParts, blueprint: Blueprint) -> str:
    """The policy of one company, as Markdown; `manual` is free of faults."""
    return _joined([manual.introduction.strip(), *_sections(manual, blueprint.tools)])


def jointly(
    manual: JointParts, contract: FusedBlueprint, conflicts: Sequence[Conflict], bridges: Sequence[BridgeRule]
) -> str:
    """The policy of several companies, as Markdown; `manual` is free of faults, `contract` with its bridge rules."""
    parts = [manual.introduction.strip(), *_settled(conflicts)]
    if bridges:
        parts.append("These rules tie the companies together; each stands in the section of its tool as well:")
        parts.append("\n".join(f"- [{rule.rule}] {flat(rule.says)} (`{rule.tool}`)" for rule in bridges))
    for member in contract.members:
        parts += _company(manual, contract, member)
    return _joined(parts)


def _settled(conflicts: Sequence[Conflict]) -> Iterator[str]:
    by_label: dict[str, list[str]] = {}
    for conflict in conflicts:
        by_label.setdefault(LABELS[conflict.about], []).append(flat(conflict.resolution))
    for label, resolutions in by_label.items():
        yield f"**{label}.** {' '.join(dict.fromkeys(resolutions))}"


def _company(manual: JointParts, contract: FusedBlueprint, member: Member) -> Iterator[str]:
    yield f"## {member.title}"
    yield from (flat(part.about) for part in manual.companies if part.company == member.server)
    yield from _sections(manual, [tool for tool in contract.tools if tool.server == member.server])


def _sections(manual: ManualParts, tools: Sequence[Tool]) -> Iterator[str]:
    """In the order of the tools."""
    by_tool = {section.tool: section for section in manual.sections}
    return (_section(by_tool[tool.name], tool) for tool in tools)


def _section(section: Section, tool: Tool) -> str:
    called = f"`{tool.name}`"
    heading = flat(section.heading).strip("# ")
    opening = flat(f"{section.purpose} {section.confirm if tool.confirm else ''}")
    sentences = stated_rules(tool)
    body = [
        f"### {heading}" if called in heading else f"### {heading} ({called})",
        opening,
        *(_paragraph(part, sentences) for part in section.paragraphs if part.rules),
    ]
    return f"<!-- tool: {tool.name} -->\n{_joined(body)}<!-- /tool: {tool.name} -->"


def _paragraph(part: RuleParagraph, sentences: dict[str, str]) -> str:
    theme = flat(part.theme).strip("*").rstrip(".:")
    return " ".join([f"**{theme}.**", *(f"[{rule}] {flat(sentences[rule])}" for rule in part.rules)])


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(parts) + "\n"

"""The manual that an agent reads as its policy: the author's parts, their check, and the assembled text.

The author writes the text around the rules and groups the rules by number. This module inserts the rules' sentences,
each in the section of each of its tools. The author's text may explain but adds no rule: a tool's section has no figure
outside of a rule's sentence, and nothing says which rules a tool enforces.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint, FusedMember
from skillweave.schema.contract import DECLINE, TRANSFER, Tool
from skillweave.schema.fusion import PolicyConflict
from skillweave.schema.record import Label, Paragraph, Record, Sentence


class RuleParagraph(Record):
    """Rules of a tool that are about one thing."""

    theme: Label
    rules: list[Label] = Field(max_length=128)
    """Their numbers: `R7`."""


class ManualSection(Record):
    """What a manual says of one tool, without the sentences of its rules."""

    tool: Label
    heading: Label
    purpose: Paragraph
    """The purpose of the tool."""
    confirm: Sentence = ""
    """The request for the customer's confirmation, printed only if the tool requires it."""
    paragraphs: list[RuleParagraph] = Field(default_factory=list, max_length=32)


class ManualParts(Record):
    """A manual, without the sentences of its rules."""

    introduction: Annotated[str, Field(max_length=20_000)]
    """Everything that belongs to no single tool, as Markdown."""
    sections: list[ManualSection] = Field(max_length=200)


class Company(Record):
    """The opening of one company's part."""

    company: Label
    """Its server's name."""
    about: Paragraph


class JointParts(ManualParts):
    """A manual of several companies. After its introduction follows what was settled between them."""

    companies: list[Company] = Field(max_length=16)


_ENFORCEMENT_HINT = re.compile(
    r"\b(?:enforce[sd]?|automatically (?:refused|rejected|checked)|(?:tool|system|software) (?:itself |also |already )?"
    r"(?:refuses|rejects|checks|blocks|prevents|enforces|will refuse|will reject|will check|allows)|"
    r"(?:check(?:ed)?|held|verified) by (?:the|this|a) (?:tool|system|software)|(?:yours|up to you) to check)\b",
    re.IGNORECASE,
)
_SQL = re.compile(
    r"\b(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|NOT EXISTS)\b|:(?:caller|person|now|new_id)\b|julianday\("
)
_MARK = re.compile(r"<!--|\[[RB]\d+\]")
"""The marks by which programs find tools and rules in a policy."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_RULE_NUMBER = re.compile(r"\b[RB]\d+\b")


def stated_rules(tool: Tool) -> dict[str, str]:
    """Number -> sentence of each of a tool's rules, guards first."""
    guards = {guard.rule: guard.says for guard in tool.guards}
    return guards | {effect.rule: effect.says for effect in tool.effects}


def sentences_of(blueprint: Blueprint) -> dict[str, str]:
    """Number -> sentence of each rule of a contract, in the order in which tools state them."""
    return {rule: says for tool in blueprint.tools for rule, says in stated_rules(tool).items()}


def on_one_line(text: str) -> str:
    """A text with each run of whitespace replaced by one space."""
    return " ".join(text.split())


def non_prose_in(text: str) -> str | None:
    """The first part of a text that is no plain prose: SQL, or a mark for programs that read a policy."""
    match = _SQL.search(text) or _MARK.search(text)
    return match[0] if match else None


def manual_faults(manual: ManualParts, blueprint: Blueprint) -> list[str]:
    """The faults of a manual's parts, in words for the author. Empty if there are none."""
    tools = {tool.name: tool for tool in blueprint.tools}
    sections = Counter(section.tool for section in manual.sections)
    faults = [f"tool {name!r} has {sections[name]} sections; give it one" for name in tools if sections[name] != 1]
    faults += [f"there is no tool {name!r}; there are {', '.join(tools)}" for name in sections if name not in tools]
    for section in manual.sections:
        if section.tool in tools:
            faults += _section_faults(section, tools[section.tool])
    faults += _introduction_faults(manual.introduction)
    record_id = _id_in(author_text(manual), blueprint)
    return [*faults, *([f"the text names {record_id!r}; a policy names no single record"] if record_id else [])]


def author_text(manual: ManualParts) -> str:
    """All text of a manual that its author wrote."""
    return "\n".join([manual.introduction, *(_section_text(section) for section in manual.sections)])


def _section_text(section: ManualSection) -> str:
    themes = (paragraph.theme for paragraph in section.paragraphs)
    return "\n".join([section.heading, section.purpose, section.confirm, *themes])


def _section_faults(section: ManualSection, tool: Tool) -> Iterator[str]:
    where, rules = f"the section of {tool.name}", stated_rules(tool)
    uses = Counter(rule for paragraph in section.paragraphs for rule in paragraph.rules)
    missing = [rule for rule in rules if not uses[rule]]
    if missing:
        yield f"{where} lacks {', '.join(missing)}: put each into a paragraph"
    for rule, times in uses.items():
        if rule not in rules:
            yield f"{where} has {rule}, which is no rule of this tool; leave it out"
        elif times > 1:
            yield f"{where} has {rule} {times} times; leave it in one paragraph"
    if not section.heading.strip() or not section.purpose.strip():
        yield f"{where} needs a heading and a purpose"
    if tool.confirm and not section.confirm.strip():
        yield f"{where} needs `confirm`: a sentence that asks for the customer's confirmation before the call"
    words = _section_text(section)
    yield from _prose_faults(words, where)
    hint = _ENFORCEMENT_HINT.search(words)
    if hint:
        yield f"{where} says {hint[0]!r}; do not tell who holds a rule"
    known = {*_FIGURE.findall(tool.description), *_FIGURE.findall(tool.name)}
    figure = next((figure for figure in _FIGURE.findall(_MARK.sub("", words)) if figure not in known), None)
    if figure:
        yield f"{where} says {figure!r} outside of a rule; leave it out"


def _introduction_faults(text: str) -> Iterator[str]:
    for needed, why in (
        (TRANSFER, "it must say when to hand over to a human"),
        ("confirm", "it must ask for confirmation before calls whose section wants it"),
        (DECLINE, "it must say how to record that a request is declined, and by which rule"),
    ):
        if needed not in text:
            yield f"the introduction does not mention {needed!r}: {why}"
    yield from _prose_faults(text, "the introduction")
    for sentence in re.split(r"(?<=[.!?])\s", on_one_line(text)):
        if _RULE_NUMBER.search(sentence) and _ENFORCEMENT_HINT.search(sentence):
            yield f"do not tell who holds a rule: {sentence!r}"


def _prose_faults(text: str, where: str) -> Iterator[str]:
    mark = non_prose_in(text)
    if mark:
        yield f"{where} holds {mark!r}; give plain words, the sentences of rules are put in for you"


def _id_in(text: str, blueprint: Blueprint) -> str | None:
    prefixes = sorted({entity.prefix for entity in blueprint.tables if entity.prefix})
    match = re.search(rf"\b(?:{'|'.join(map(re.escape, prefixes))})-\d+", text) if prefixes else None
    return match[0] if match else None


def joint_manual_faults(manual: JointParts, contract: FusedBlueprint) -> list[str]:
    """The faults of the parts of a fused world's manual, in words for the author.

    Args:
        manual: The author's answer.
        contract: The contract of the fused world, with its bridge rules.
    """
    return [*manual_faults(manual, contract), *_joint_faults(manual, contract)]


def _joint_faults(manual: JointParts, contract: FusedBlueprint) -> Iterator[str]:
    companies = [part.company for part in manual.companies]
    servers = [member.server for member in contract.members]
    for member in contract.members:
        if companies.count(member.server) != 1:
            yield f"`companies` must have {member.server!r} once"
        if member.title not in manual.introduction:
            yield f"the introduction must say who {member.title!r} is"
    for name in sorted(set(companies) - set(servers)):
        yield f"there is no company {name!r}; there are {', '.join(servers)}"
    for tool in contract.tools:
        if tool.kind == "auth" and f"`{tool.name}`" not in manual.introduction:
            yield f"the introduction must name `{tool.name}`: any tool that signs in serves for all"
    about = "\n".join(part.about for part in manual.companies)
    mark = non_prose_in(about)
    if mark:
        yield f"`companies` holds {mark!r}; say it in words"
    tables = "|".join(re.escape(entity.table) for entity in contract.tables if "__" in entity.table)
    table = re.search(rf"\b(?:{tables})\b", f"{author_text(manual)}\n{about}")
    if table:
        yield f"the text names the table {table[0]!r}; say it in words"


CONFLICT_LABELS = {
    "privacy": "What may be passed on",
    "identity": "Identification",
    "authority": "Who may act",
    "deadline": "Deadlines",
    "payment": "Payments",
    "other": "Besides",
}
"""Topic of a conflict -> the label before its resolution."""


def assemble_manual(manual: ManualParts, blueprint: Blueprint) -> str:
    """The policy of one company, as Markdown. `manual` must be free of faults."""
    return _joined([manual.introduction.strip(), *_sections(manual, blueprint.tools)])


def assemble_joint_manual(
    manual: JointParts, contract: FusedBlueprint, conflicts: Sequence[PolicyConflict], bridges: Sequence[BridgeRule]
) -> str:
    """The policy of a fused world, as Markdown.

    Args:
        manual: The author's parts, free of faults.
        contract: The contract of the fused world, with its bridge rules.
        conflicts: The settled conflicts between the companies.
        bridges: The bridge rules.
    """
    parts = [manual.introduction.strip(), *_resolutions(conflicts)]
    if bridges:
        parts.append("These rules tie the companies together; each stands in the section of its tool as well:")
        parts.append("\n".join(f"- [{rule.rule}] {on_one_line(rule.says)} (`{rule.tool}`)" for rule in bridges))
    for member in contract.members:
        parts += _company_part(manual, contract, member)
    return _joined(parts)


def _resolutions(conflicts: Sequence[PolicyConflict]) -> Iterator[str]:
    by_label: dict[str, list[str]] = {}
    for conflict in conflicts:
        by_label.setdefault(CONFLICT_LABELS[conflict.about], []).append(on_one_line(conflict.resolution))
    for label, resolutions in by_label.items():
        yield f"**{label}.** {' '.join(dict.fromkeys(resolutions))}"


def _company_part(manual: JointParts, contract: FusedBlueprint, member: FusedMember) -> Iterator[str]:
    yield f"## {member.title}"
    yield from (on_one_line(part.about) for part in manual.companies if part.company == member.server)
    yield from _sections(manual, [tool for tool in contract.tools if tool.server == member.server])


def _sections(manual: ManualParts, tools: Sequence[Tool]) -> Iterator[str]:
    """The sections of these tools, in their order."""
    by_tool = {section.tool: section for section in manual.sections}
    return (_section_markdown(by_tool[tool.name], tool) for tool in tools)


def _section_markdown(section: ManualSection, tool: Tool) -> str:
    called = f"`{tool.name}`"
    heading = on_one_line(section.heading).strip("# ")
    opening = on_one_line(f"{section.purpose} {section.confirm if tool.confirm else ''}")
    sentences = stated_rules(tool)
    body = [
        f"### {heading}" if called in heading else f"### {heading} ({called})",
        opening,
        *(_paragraph(part, sentences) for part in section.paragraphs if part.rules),
    ]
    return f"<!-- tool: {tool.name} -->\n{_joined(body)}<!-- /tool: {tool.name} -->"


def _paragraph(part: RuleParagraph, sentences: dict[str, str]) -> str:
    theme = on_one_line(part.theme).strip("*").rstrip(".:")
    return " ".join([f"**{theme}.**", *(f"[{rule}] {on_one_line(sentences[rule])}" for rule in part.rules)])


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(parts) + "\n"

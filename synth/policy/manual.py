"""A policy's manual: the parts that an author gives, their check, and the text made of them.

The author words the text around the rules and groups the rules by number. The rules' sentences are put in here, in
the section of each of their tools. What the author adds may explain, but not rule: outside of a rule's sentence no
figure stands in a tool's section, and nothing says which rules a tool enforces.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint, FusedMember
from skillweave.schema.call import DECLINE, TRANSFER
from skillweave.schema.contract import Tool
from skillweave.schema.fusion import PolicyConflict
from skillweave.schema.record import Label, Paragraph, Record, Sentence


class RuleParagraph(Record):
    """Rules of a tool that are about one thing."""

    theme: Label
    rules: list[Label] = Field(max_length=128)
    """Their numbers: `R7`."""


class ManualSection(Record):
    """What a manual says of one tool, but for the sentences of its rules."""

    tool: Label
    heading: Label
    purpose: Paragraph
    """What the tool is for."""
    confirm: Sentence = ""
    """Asks for the customer's confirmation; printed where the tool wants it, and only there."""
    paragraphs: list[RuleParagraph] = Field(default_factory=list, max_length=32)


class ManualParts(Record):
    """A manual, but for the sentences of its rules."""

    introduction: Annotated[str, Field(max_length=20_000)]
    """Markdown: all that belongs to no tool."""
    sections: list[ManualSection] = Field(max_length=200)


class Company(Record):
    """What opens the part of one company."""

    company: Label
    """Its server's name."""
    about: Paragraph


class JointParts(ManualParts):
    """A manual of several companies; its introduction ends where what was settled between them is to follow."""

    companies: list[Company] = Field(max_length=16)


_HINT = re.compile(
    r"\b(?:enforce[sd]?|automatically (?:refused|rejected|checked)|(?:tool|system|software) (?:itself |also |already )?"
    r"(?:refuses|rejects|checks|blocks|prevents|enforces|will refuse|will reject|will check|allows)|"
    r"(?:check(?:ed)?|held|verified) by (?:the|this|a) (?:tool|system|software)|(?:yours|up to you) to check)\b",
    re.IGNORECASE,
)
_SQL = re.compile(
    r"\b(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|NOT EXISTS)\b|:(?:caller|person|now|new_id)\b|julianday\("
)
_MARK = re.compile(r"<!--|\[[RB]\d+\]")
"""What a policy is taken apart by."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER = re.compile(r"\b[RB]\d+\b")


def stated_rules(tool: Tool) -> dict[str, str]:
    """The sentences of a tool's rules by number, guards first."""
    guards = {guard.rule: guard.says for guard in tool.guards}
    return guards | {effect.rule: effect.says for effect in tool.effects}


def sentences_of(blueprint: Blueprint) -> dict[str, str]:
    """The sentence of each rule by its number, in the order in which tools state them."""
    return {rule: says for tool in blueprint.tools for rule, says in stated_rules(tool).items()}


def on_one_line(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def non_prose_in(text: str) -> str | None:
    """What in a text is no plain words: SQL, or a mark by which a policy is taken apart."""
    found = _SQL.search(text) or _MARK.search(text)
    return found[0] if found else None


def manual_faults(manual: ManualParts, blueprint: Blueprint) -> list[str]:
    """What is wrong with the parts of a policy, in words for their author; empty where nothing is."""
    tools = {tool.name: tool for tool in blueprint.tools}
    given = Counter(section.tool for section in manual.sections)
    found = [f"tool {name!r} has {given[name]} sections; give it one" for name in tools if given[name] != 1]
    found += [f"there is no tool {name!r}; there are {', '.join(tools)}" for name in given if name not in tools]
    for section in manual.sections:
        if section.tool in tools:
            found += _section_faults(section, tools[section.tool])
    found += _introduction_faults(manual.introduction)
    id_ = _id_in(author_text(manual), blueprint)
    return [*found, *([f"the text names {id_!r}; a policy names no single record"] if id_ else [])]


def author_text(manual: ManualParts) -> str:
    """All that its author wrote."""
    return "\n".join([manual.introduction, *(_words(section) for section in manual.sections)])


def _words(section: ManualSection) -> str:
    themes = (paragraph.theme for paragraph in section.paragraphs)
    return "\n".join([section.heading, section.purpose, section.confirm, *themes])


def _section_faults(section: ManualSection, tool: Tool) -> Iterator[str]:
    where, rules = f"the section of {tool.name}", stated_rules(tool)
    given = Counter(rule for paragraph in section.paragraphs for rule in paragraph.rules)
    missing = [rule for rule in rules if not given[rule]]
    if missing:
        yield f"{where} lacks {', '.join(missing)}: put each into a paragraph"
    for rule, times in given.items():
        if rule not in rules:
            yield f"{where} has {rule}, which is no rule of this tool; leave it out"
        elif times > 1:
            yield f"{where} has {rule} {times} times; leave it in one paragraph"
    if not section.heading.strip() or not section.purpose.strip():
        yield f"{where} needs a heading and a purpose"
    if tool.confirm and not section.confirm.strip():
        yield f"{where} needs `confirm`: a sentence that asks for the customer's confirmation before the call"
    words = _words(section)
    yield from _not_told(words, where)
    hint = _HINT.search(words)
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
    yield from _not_told(text, "the introduction")
    for sentence in re.split(r"(?<=[.!?])\s", on_one_line(text)):
        if _NUMBER.search(sentence) and _HINT.search(sentence):
            yield f"do not tell who holds a rule: {sentence!r}"


def _not_told(text: str, where: str) -> Iterator[str]:
    found = non_prose_in(text)
    if found:
        yield f"{where} holds {found!r}; give plain words, the sentences of rules are put in for you"


def _id_in(text: str, blueprint: Blueprint) -> str | None:
    prefixes = sorted({entity.prefix for entity in blueprint.tables if entity.prefix})
    found = re.search(rf"\b(?:{'|'.join(map(re.escape, prefixes))})-\d+", text) if prefixes else None
    return found[0] if found else None


def joint_manual_faults(manual: JointParts, contract: FusedBlueprint) -> list[str]:
    """What is wrong with the parts, in words for their author; `contract` is with its bridge rules."""
    return [*manual_faults(manual, contract), *_joint_faults(manual, contract)]


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
    found = non_prose_in(about)
    if found:
        yield f"`companies` holds {found!r}; say it in words"
    tables = "|".join(re.escape(entity.table) for entity in contract.tables if "__" in entity.table)
    table = re.search(rf"\b(?:{tables})\b", f"{author_text(manual)}\n{about}")
    if table:
        yield f"the text names the table {table[0]!r}; say it in words"


LABELS = {
    "privacy": "What may be passed on",
    "identity": "Identification",
    "authority": "Who may act",
    "deadline": "Deadlines",
    "payment": "Payments",
    "other": "Besides",
}
"""What a conflict is about -> what leads up to how it was settled."""


def assemble_manual(manual: ManualParts, blueprint: Blueprint) -> str:
    """The policy of one company, as Markdown; `manual` is free of faults."""
    return _joined([manual.introduction.strip(), *_sections(manual, blueprint.tools)])


def assemble_joint_manual(
    manual: JointParts, contract: FusedBlueprint, conflicts: Sequence[PolicyConflict], bridges: Sequence[BridgeRule]
) -> str:
    """The policy of several companies, as Markdown; `manual` is free of faults, `contract` with its bridge rules."""
    parts = [manual.introduction.strip(), *_settled(conflicts)]
    if bridges:
        parts.append("These rules tie the companies together; each stands in the section of its tool as well:")
        parts.append("\n".join(f"- [{rule.rule}] {on_one_line(rule.says)} (`{rule.tool}`)" for rule in bridges))
    for member in contract.members:
        parts += _company(manual, contract, member)
    return _joined(parts)


def _settled(conflicts: Sequence[PolicyConflict]) -> Iterator[str]:
    by_label: dict[str, list[str]] = {}
    for conflict in conflicts:
        by_label.setdefault(LABELS[conflict.about], []).append(on_one_line(conflict.resolution))
    for label, resolutions in by_label.items():
        yield f"**{label}.** {' '.join(dict.fromkeys(resolutions))}"


def _company(manual: JointParts, contract: FusedBlueprint, member: FusedMember) -> Iterator[str]:
    yield f"## {member.title}"
    yield from (on_one_line(part.about) for part in manual.companies if part.company == member.server)
    yield from _sections(manual, [tool for tool in contract.tools if tool.server == member.server])


def _sections(manual: ManualParts, tools: Sequence[Tool]) -> Iterator[str]:
    """In the order of the tools."""
    by_tool = {section.tool: section for section in manual.sections}
    return (_section(by_tool[tool.name], tool) for tool in tools)


def _section(section: ManualSection, tool: Tool) -> str:
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

"""The check of a manual's parts: each rule stands once in the section of each of its tools.

What an author adds in words of its own may explain, but not rule: no figure stands in a tool's section outside of a
rule's sentence, and nothing says which rules a tool would refuse by itself.
"""

import re
from collections import Counter
from collections.abc import Iterator

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import DECLINE, TRANSFER
from skillweave.schema.contract import Tool
from synth.policy.parts import ManualParts, Section

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


def flat(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def no_prose(text: str) -> str | None:
    """What in a text is no plain words: SQL, or a mark by which a policy is taken apart."""
    found = _SQL.search(text) or _MARK.search(text)
    return found[0] if found else None


def faults(manual: ManualParts, blueprint: Blueprint) -> list[str]:
    """What is wrong with the parts of a policy, in words for their author; empty where nothing is."""
    tools = {tool.name: tool for tool in blueprint.tools}
    given = Counter(section.tool for section in manual.sections)
    found = [f"tool {name!r} has {given[name]} sections; give it one" for name in tools if given[name] != 1]
    found += [f"there is no tool {name!r}; there are {', '.join(tools)}" for name in given if name not in tools]
    for section in manual.sections:
        if section.tool in tools:
            found += _section_faults(section, tools[section.tool])
    found += _introduction_faults(manual.introduction)
    id_ = _id_in(own_words(manual), blueprint)
    return [*found, *([f"the text names {id_!r}; a policy names no single record"] if id_ else [])]


def own_words(manual: ManualParts) -> str:
    """All that its author wrote."""
    return "\n".join([manual.introduction, *(_words(section) for section in manual.sections)])


def _words(section: Section) -> str:
    themes = (paragraph.theme for paragraph in section.paragraphs)
    return "\n".join([section.heading, section.purpose, section.confirm, *themes])


def _section_faults(section: Section, tool: Tool) -> Iterator[str]:
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
    for sentence in re.split(r"(?<=[.!?])\s", flat(text)):
        if _NUMBER.search(sentence) and _HINT.search(sentence):
            yield f"do not tell who holds a rule: {sentence!r}"


def _not_told(text: str, where: str) -> Iterator[str]:
    found = no_prose(text)
    if found:
        yield f"{where} holds {found!r}; give plain words, the sentences of rules are put in for you"


def _id_in(text: str, blueprint: Blueprint) -> str | None:
    prefixes = sorted({entity.prefix for entity in blueprint.tables if entity.prefix})
    found = re.search(rf"\b(?:{'|'.join(map(re.escape, prefixes))})-\d+", text) if prefixes else None
    return found[0] if found else None

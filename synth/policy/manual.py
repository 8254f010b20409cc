"""The check of a policy's text: it states every rule under its number, in its sentence, in the sections of its tools.

What an author adds in words of its own may explain, but not rule: no figure stands in a tool's section outside of a
rule's sentence, and nothing says which rules a tool would refuse by itself.
"""

import re
from collections.abc import Iterable, Iterator

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import DECLINE, TRANSFER
from skillweave.schema.contract import Tool
from skillweave.schema.policy import Policy

_SECTION = re.compile(r"<!-- tool: (?P<name>\w+) -->\n(?P<body>.*?)<!-- /tool: (?P=name) -->", re.DOTALL)
_MARKER = re.compile(r"<!-- /?tool: (\w+) -->")
_HINT = re.compile(
    r"\b(?:enforce[sd]?|automatically (?:refused|rejected|checked)|(?:tool|system|software) (?:itself |also |already )?"
    r"(?:refuses|rejects|checks|blocks|prevents|enforces|will refuse|will reject|will check|allows)|"
    r"(?:check(?:ed)?|held|verified) by (?:the|this|a) (?:tool|system|software)|(?:yours|up to you) to check)\b",
    re.IGNORECASE,
)
_SQL = re.compile(
    r"\b(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|NOT EXISTS)\b|:(?:caller|person|now|new_id)\b|julianday\("
)
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER = re.compile(r"\b[RB]\d+\b")


def stated_rules(tool: Tool) -> dict[str, str]:
    """The sentences of a tool's rules by number, guards first."""
    guards = {guard.rule: guard.says for guard in tool.guards}
    return guards | {effect.rule: effect.says for effect in tool.effects}


def faults(text: str, blueprint: Blueprint) -> list[str]:
    """What is wrong with a policy's text, in words for its author; empty where it is right."""
    policy = Policy(world=blueprint.server, text=text)
    rules = {rule: says for tool in blueprint.tools for rule, says in stated_rules(tool).items()}
    found = [*_section_faults(policy, blueprint)]
    found += [f"there is no rule [{rule}]; leave its number out" for rule in policy.rules if rule not in rules]
    sections = {match["name"]: flat(match["body"]) for match in _SECTION.finditer(text)}
    for tool in blueprint.tools:
        if tool.name in sections:
            found += _tool_faults(tool, sections[tool.name])
    return [*found, *_general_faults(general_part(text)), *_leaks(text, blueprint, rules.values())]


def general_part(text: str) -> str:
    """What stands outside of the tools' sections, on one line."""
    return flat(_SECTION.sub("", text))


def _section_faults(policy: Policy, blueprint: Blueprint) -> Iterator[str]:
    there, wanted = policy.tools, [tool.name for tool in blueprint.tools]
    for name in wanted:
        if there.count(name) != 1:
            yield f"tool {name!r} needs one section between `<!-- tool: {name} -->` and `<!-- /tool: {name} -->`"
    for name in sorted(set(_MARKER.findall(policy.text)) - set(wanted)):
        yield f"there is no tool {name!r}; there are {', '.join(wanted)}"


def _tool_faults(tool: Tool, section: str) -> Iterator[str]:
    left = section
    for rule, says in stated_rules(tool).items():
        stated = f"[{rule}] {flat(says)}"
        if stated not in section:
            yield f"the section of {tool.name} must hold, word for word: {stated}"
        left = left.replace(stated, " ")
    if tool.confirm and "confirm" not in left.lower():
        yield f"the section of {tool.name} must ask for the customer's confirmation before the call"
    hint = _HINT.search(left)
    if hint:
        yield f"the section of {tool.name} says {hint[0]!r}; do not tell who holds a rule"
    known = {*_FIGURE.findall(tool.description), *_FIGURE.findall(tool.name)}
    for figure in _FIGURE.findall(left):
        if figure not in known:
            yield f"the section of {tool.name} says {figure!r} outside of a numbered rule; leave it out"
            break


def _general_faults(general: str) -> Iterator[str]:
    for needed, why in (
        (TRANSFER, "it must say when to hand over to a human"),
        ("confirm", "it must ask for confirmation before writes that want it"),
        (DECLINE, "it must say how to record that a request is declined, and by which rule"),
    ):
        if needed not in general:
            yield f"the general part does not mention {needed!r}: {why}"
    for sentence in re.split(r"(?<=[.!?])\s", general):
        if _NUMBER.search(sentence) and _HINT.search(sentence):
            yield f"do not tell who holds a rule: {sentence!r}"


def _leaks(text: str, blueprint: Blueprint, sentences: Iterable[str]) -> Iterator[str]:
    prefixes = sorted({entity.prefix for entity in blueprint.tables if entity.prefix})
    held = " ".join(sentences)
    id_ = re.search(rf"\b(?:{'|'.join(map(re.escape, prefixes))})-\d+", text) if prefixes else None
    if id_ and id_[0] not in held:
        yield f"the text names {id_[0]!r}; a policy names no single record"
    sql = _SQL.search(text)
    if sql:
        yield f"the text holds SQL ({sql[0]!r}); say it in words"


def flat(text: str) -> str:
    """A text on one line."""
    return re.sub(r"\s+", " ", text).strip()

"""Manuals: the policy of one company, and the joint policy of several, with general conduct and a part for each.

Rules are grouped by what they are about, never by who enforces them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedMember, FusedTool
from skillweave.schema.contract import Concern, Tool
from synth.offline.wording import phrases
from synth.policy.manual import Company, JointParts, ManualParts, ManualSection, RuleParagraph

_THEMES: dict[Concern, str] = {
    "ownership": "who",
    "eligibility": "who",
    "existence": "what",
    "integrity": "what",
    "deadline": "when",
    "fee": "limits",
    "quota": "limits",
}
_CONDUCT = ("honest", "person", "confirm", "binding", "decline", "transfer")
CUSTOMER = {"person": "customer", "people": "customers"}
"""The noun of the joint manual for the people whom all companies serve."""


class SectionWriter:
    """Writes the sections of one manual, with phrases that are drawn once."""

    def __init__(self, random: Random, between: Sequence[str] = ()) -> None:
        """`between` are phrases that introduce rules between companies (B1, B2, ...)."""
        self._random = random
        self._leads = {theme: random.choice(leads) for theme, leads in phrases("manual")["themes"].items()}
        self._order = ["who", "what", "when", "limits"]
        random.shuffle(self._order)
        if between:
            self._leads["between"] = random.choice(between)

    def section(self, tool: Tool, called: str, description: str, words: Mapping[str, str]) -> ManualSection:
        """Write the section of a tool.

        Args:
            tool: The tool.
            called: Its name in the heading.
            description: The tool's description.
            words: `person` and `people` in the words of its company.
        """
        purpose = description.strip()
        confirm = self._say("confirm", words) if tool.confirm else ""
        if not tool.guards and not tool.effects:
            purpose += f" {self._say('free', words)}"
        heading = in_words(called).capitalize()
        paragraphs = self._paragraphs(tool)
        return ManualSection(tool=tool.name, heading=heading, purpose=purpose, confirm=confirm, paragraphs=paragraphs)

    def _paragraphs(self, tool: Tool) -> list[RuleParagraph]:
        rules_by_theme: dict[str, dict[str, None]] = {}
        for guard in tool.guards:
            theme = "between" if guard.rule.startswith("B") else _THEMES[guard.concern]
            rules_by_theme.setdefault(theme, {})[guard.rule] = None
        known = {guard.rule for guard in tool.guards}
        for effect in tool.effects:
            if effect.rule not in known:
                rules_by_theme.setdefault("then", {})[effect.rule] = None
        return [
            RuleParagraph(theme=self._leads[theme], rules=list(rules_by_theme[theme]))
            for theme in [*self._order, "between", "then"]
            if theme in rules_by_theme
        ]

    def _say(self, name: str, words: Mapping[str, str]) -> str:
        return str(self._random.choice(phrases("manual")[name])).format_map(words)


def plural(noun: str) -> str:
    """`policy holder` -> `policy holders`."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def in_words(name: str) -> str:
    """`CoverPlan` -> `cover plan`, `pay_invoice` -> `pay invoice`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


class ManualWriter:
    """Writes the manual of one company, in phrases that are drawn once."""

    def __init__(self, blueprint: Blueprint, random: Random) -> None:
        self._blueprint = blueprint
        self._random = random
        person = in_words(blueprint.core_entity)
        self._words = {
            "title": blueprint.title,
            "topic": blueprint.domain,
            "person": person,
            "people": plural(person),
        }
        for tool in blueprint.tools:
            if tool.kind == "auth":
                facts = [f"the {parameter.name.replace('_', ' ')}" for parameter in tool.parameters]
                self._words |= {"auth": tool.name, "facts": " and ".join(facts)}
        self._sections = SectionWriter(random)

    def parts(self) -> ManualParts:
        """The manual without the sentences of its rules."""
        paragraphs = [f"# {self._say('title')}", self._say("about"), *conduct(self._random, self._words)]
        if "auth" in self._words:
            paragraphs += [f"## {self._say('identify', 'heading')}", self._say("identify", "text")]
        paragraphs += [*units(self._random, self._words), f"## {self._say('tools', 'heading')}"]
        sections = [
            self._sections.section(tool, tool.name, tool.description, self._words) for tool in self._blueprint.tools
        ]
        return ManualParts(introduction="\n\n".join(paragraphs), sections=sections)

    def _say(self, *path: str) -> str:
        return say(self._random, self._words, *path)


def conduct(random: Random, words: Mapping[str, str]) -> Iterator[str]:
    """How assistants behave, two themes in a paragraph."""
    sentences = [say(random, words, "conduct", theme) for theme in _CONDUCT]
    yield f"## {say(random, words, 'conduct', 'heading')}"
    yield from (" ".join(sentences[start : start + 2]) for start in range(0, len(sentences), 2))


def units(random: Random, words: Mapping[str, str]) -> Iterator[str]:
    """How amounts and times are written."""
    yield f"## {say(random, words, 'units', 'heading')}"
    yield f"{say(random, words, 'units', 'money')} {say(random, words, 'units', 'time')}"


def say(random: Random, words: Mapping[str, str], *path: str) -> str:
    """Choose a phrase; `path` leads to its alternatives, `words` fill its slots."""
    choices: Any = phrases("manual")
    for name in path:
        choices = choices[name]
    return str(random.choice(choices)).format_map(words)


class JointManualWriter:
    """Writes the joint manual of several companies, in phrases that are drawn once."""

    def __init__(self, contract: FusedBlueprint, random: Random) -> None:
        self._contract = contract
        self._random = random
        self._sections = SectionWriter(random, phrases("fused")["between"])
        does = str(random.choice(phrases("fused")["does"]))
        each = [does.format(company=member.title, topic=member.domain) for member in contract.members]
        listed = listing(each)
        self._words = {"title": contract.title, "Each": listed[0].upper() + listed[1:]}

    def parts(self) -> JointParts:
        """The manual without the sentences of its rules and without the settled conflicts."""
        paragraphs = [
            f"# {self._say('title')}",
            self._say("about"),
            *conduct(self._random, CUSTOMER),
            *self._identification(),
            *units(self._random, CUSTOMER),
            f"## {self._say('together', 'heading')}",
            self._say("together", "intro"),
        ]
        companies, sections = [], []
        for member in self._contract.members:
            person = in_words(self._person(member))
            companies.append(Company(company=member.server, about=self._about(member, person)))
            words = {"person": person, "people": plural(person)}
            for tool in self._contract.tools:
                if tool.server == member.server:
                    description = tool.description.removesuffix(f" ({member.title})")
                    sections.append(self._sections.section(tool, tool.origin, description, words))
        return JointParts(introduction="\n\n".join(paragraphs), companies=companies, sections=sections)

    def _identification(self) -> Iterator[str]:
        ways = [
            f"{facts_of(tool)} with `{tool.name}` ({self._contract.member(tool.server).title})"
            for tool in self._contract.tools
            if tool.kind == "auth"
        ]
        yield f"## {say(self._random, CUSTOMER, 'identify', 'heading')}"
        identify = self._say("identify", ways=listing(ways, "or"))
        yield f"{identify} {self._say('account')}"

    def _about(self, member: FusedMember, person: str) -> str:
        article = "an" if person[0] in "aeiou" else "a"
        return self._say(
            "company",
            company=member.title,
            namespace=member.namespace,
            a_person=f"{article} {person}",
            people=plural(person),
        )

    def _person(self, member: FusedMember) -> str:
        return next(entity.origin for entity in self._contract.entities if entity.name == member.person)

    def _say(self, *path: str, **words: str) -> str:
        choices: Any = phrases("fused")
        for name in path:
            choices = choices[name]
        return str(self._random.choice(choices)).format_map({**CUSTOMER, **self._words, **words})


def facts_of(tool: FusedTool) -> str:
    """The facts that a sign-in tool asks for, in words."""
    return listing([f"the {parameter.name.replace('_', ' ')}" for parameter in tool.parameters])


def listing(parts: Sequence[str], last: str = "and") -> str:
    """`A`, `A and B`, `A, B and C`."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]

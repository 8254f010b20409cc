"""Manuals: the policy of one company,
and the joint policy of several with general conduct for all and a part for each.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedMember, FusedTool
from skillweave.schema.contract import Concern, Tool
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


class SectionWriter:
    def __init__(self, random: Random, between: Sequence[str] = ()) -> None:
        """`between` leads up to rules between companies, whose numbers begin with B."""
        self._random = random
        self._leads = {theme: random.choice(leads) for theme, leads in phrases("manual")["themes"].items()}
        self._order = ["who", "what", "when", "limits"]
        random.shuffle(self._order)
        if between:
            self._leads["between"] = random.choice(between)

    def of(self, tool: Tool, called: str, description: str, words: Mapping[str, str]) -> ManualSection:
        """The section of a tool; `called` is what its heading calls it, `words` what its company calls people."""
        purpose = description.strip()
        confirm = self._say("confirm", words) if tool.confirm else ""
        if not tool.guards and not tool.effects:
            purpose += f" {self._say('free', words)}"
        heading = in_words(called).capitalize()
        paragraphs = self._paragraphs(tool)
        return ManualSection(tool=tool.name, heading=heading, purpose=purpose, confirm=confirm, paragraphs=paragraphs)

    def _paragraphs(self, tool: Tool) -> list[RuleParagraph]:
        grouped: dict[str, dict[str, None]] = {}
        for guard in tool.guards:
            theme = "between" if guard.rule.startswith("B") else _THEMES[guard.concern]
            grouped.setdefault(theme, {})[guard.rule] = None
        known = {guard.rule for guard in tool.guards}
        for effect in tool.effects:
            if effect.rule not in known:
                grouped.setdefault("then", {})[effect.rule] = None
        return [
            RuleParagraph(theme=self._leads[theme], rules=list(grouped[theme]))
            for theme in [*self._order, "between", "then"]
            if theme in grouped
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


@cache
def phrases(file: str) -> dict[str, Any]:
    """The phrases of a file of this package."""
    loaded: dict[str, Any] = yaml.safe_load(files("synth.offline").joinpath(f"phrases/{file}.yaml").read_text("utf-8"))
    return loaded


_GENERAL = ("honest", "person", "confirm", "binding", "decline", "transfer")


class ManualWriter:
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
        """The manual, but for the sentences of its rules."""
        said = [f"# {self._say('title')}", self._say("about"), *conduct(self._random, self._words)]
        if "auth" in self._words:
            said += [f"## {self._say('identify', 'heading')}", self._say("identify", "text")]
        said += [*units(self._random, self._words), f"## {self._say('tools', 'heading')}"]
        sections = [self._sections.of(tool, tool.name, tool.description, self._words) for tool in self._blueprint.tools]
        return ManualParts(introduction="\n\n".join(said), sections=sections)

    def _say(self, *path: str) -> str:
        return say(self._random, self._words, *path)


def conduct(random: Random, words: Mapping[str, str]) -> Iterator[str]:
    """How assistants work, whomever for."""
    said = [say(random, words, "conduct", theme) for theme in _GENERAL]
    yield f"## {say(random, words, 'conduct', 'heading')}"
    yield from (" ".join(said[start : start + 2]) for start in range(0, len(said), 2))


def units(random: Random, words: Mapping[str, str]) -> Iterator[str]:
    """What amounts and times look like."""
    yield f"## {say(random, words, 'units', 'heading')}"
    yield f"{say(random, words, 'units', 'money')} {say(random, words, 'units', 'time')}"


def say(random: Random, words: Mapping[str, str], *path: str) -> str:
    """One of the phrases of that name."""
    choices: Any = phrases("manual")
    for name in path:
        choices = choices[name]
    return str(random.choice(choices)).format_map(words)


CUSTOMER = {"person": "customer", "people": "customers"}


class JointManualWriter:
    def __init__(self, contract: FusedBlueprint, random: Random) -> None:
        self._contract = contract
        self._random = random
        self._sections = SectionWriter(random, phrases("fused")["between"])
        does = str(random.choice(phrases("fused")["does"]))
        each = [does.format(company=member.title, topic=member.domain) for member in contract.members]
        listed = listing(each)
        self._words = {"title": contract.title, "Each": listed[0].upper() + listed[1:]}

    def parts(self) -> JointParts:
        """The manual, but for the sentences of its rules and for what was settled between the companies."""
        said = [
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
                    sections.append(self._sections.of(tool, tool.origin, description, words))
        return JointParts(introduction="\n\n".join(said), companies=companies, sections=sections)

    def _identification(self) -> Iterator[str]:
        ways = [
            f"{facts_of(tool)} with `{tool.name}` ({self._contract.member(tool.server).title})"
            for tool in self._contract.tools
            if tool.kind == "auth"
        ]
        yield f"## {say(self._random, CUSTOMER, 'identify', 'heading')}"
        told = self._say("identify", ways=listing(ways, "or"))
        yield f"{told} {self._say('account')}"

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
    """What a tool that signs in asks for, in words."""
    return listing([f"the {parameter.name.replace('_', ' ')}" for parameter in tool.parameters])


def listing(parts: Sequence[str], last: str = "and") -> str:
    """`A`, `A and B`, `A, B and C`."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]

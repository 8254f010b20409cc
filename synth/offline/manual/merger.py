"""Merging manuals: one policy for several companies, with one conduct for all and a part for each."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from skillweave.schema.fused import FusedBlueprint, FusedTool, Member
from synth.offline.manual.sections import Sections, in_words, phrases, plural
from synth.offline.manual.writer import conduct, say, units
from synth.policy.parts import Company, JointParts

CUSTOMER = {"person": "customer", "people": "customers"}


class Merger:
    def __init__(self, contract: FusedBlueprint, random: Random) -> None:
        self._contract = contract
        self._random = random
        self._sections = Sections(random, phrases("fused")["between"])
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

    def _about(self, member: Member, person: str) -> str:
        article = "an" if person[0] in "aeiou" else "a"
        return self._say(
            "company",
            company=member.title,
            namespace=member.namespace,
            a_person=f"{article} {person}",
            people=plural(person),
        )

    def _person(self, member: Member) -> str:
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

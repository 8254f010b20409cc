"""Merging manuals: one policy for several companies, with one conduct for all and a part for each.

The companies' rules stand as they do in their own manuals, under the numbers that they have now.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from skillweave.schema.fused import BridgeRule, FusedBlueprint, FusedTool, Member
from skillweave.schema.fusion import Conflict
from synth.offline.manual.sections import Sections, in_words, phrases, plural
from synth.offline.manual.writer import conduct, say, units

CUSTOMER = {"person": "customer", "people": "customers"}


class Merger:
    def __init__(
        self, contract: FusedBlueprint, conflicts: Sequence[Conflict], bridges: Sequence[BridgeRule], random: Random
    ) -> None:
        self._contract = contract
        self._conflicts = conflicts
        self._bridges = bridges
        self._random = random
        self._sections = Sections(random, phrases("fused")["between"])
        does = str(random.choice(phrases("fused")["does"]))
        each = [does.format(company=member.title, topic=member.domain) for member in contract.members]
        listed = listing(each)
        self._words = {"title": contract.title, "Each": listed[0].upper() + listed[1:]}

    def text(self) -> str:
        """The manual, as Markdown."""
        parts = [
            f"# {self._say('title')}",
            self._say("about"),
            *conduct(self._random, CUSTOMER),
            *self._identification(),
            *units(self._random, CUSTOMER),
            *self._together(),
        ]
        for member in self._contract.members:
            parts += self._company(member)
        return "\n\n".join(parts) + "\n"

    def _identification(self) -> Iterator[str]:
        ways = [
            f"{facts_of(tool)} with `{tool.name}` ({self._contract.member(tool.server).title})"
            for tool in self._contract.tools
            if tool.kind == "auth"
        ]
        yield f"## {say(self._random, CUSTOMER, 'identify', 'heading')}"
        told = self._say("identify", ways=listing(ways, "or"))
        yield f"{told} {self._say('account')}"

    def _together(self) -> Iterator[str]:
        yield f"## {self._say('together', 'heading')}"
        yield self._say("together", "intro")
        by_label: dict[str, list[str]] = {}
        for conflict in self._conflicts:
            by_label.setdefault(phrases("fused")["labels"][conflict.about], []).append(conflict.resolution)
        for label, resolutions in by_label.items():
            yield f"**{label}** {' '.join(dict.fromkeys(resolutions))}"
        if self._bridges:
            yield self._say("together", "bridges")
            yield "\n".join(f"- [{rule.rule}] {rule.says} (`{rule.tool}`)" for rule in self._bridges)

    def _company(self, member: Member) -> Iterator[str]:
        person = in_words(self._person(member))
        words = {"person": person, "people": plural(person)}
        article = "an" if person[0] in "aeiou" else "a"
        yield f"## {member.title}"
        yield self._say(
            "company",
            company=member.title,
            namespace=member.namespace,
            a_person=f"{article} {person}",
            people=words["people"],
        )
        for tool in self._contract.tools:
            if tool.server == member.server:
                description = tool.description.removesuffix(f" ({member.title})")
                yield self._sections.of(tool, tool.origin, description, words)

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

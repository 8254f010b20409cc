"""Writing a manual: phrases that are drawn once a company, around the contract's rules."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from skillweave.schema.blueprint import Blueprint
from synth.offline.manual.sections import Sections, in_words, phrases, plural
from synth.policy.parts import ManualParts

_GENERAL = ("honest", "person", "confirm", "binding", "decline", "transfer")


class Writer:
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
        self._sections = Sections(random)

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
    choices: Any = phrases("phrases")
    for name in path:
        choices = choices[name]
    return str(random.choice(choices)).format_map(words)

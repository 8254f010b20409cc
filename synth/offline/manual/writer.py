"""Writing a manual: the contract's sentences word for word, set into phrases that are drawn once a company.

Rules are grouped by what they are about, never by who holds them.
"""

import re
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Concern, Tool

_THEMES: dict[Concern, str] = {
    "ownership": "who",
    "eligibility": "who",
    "existence": "what",
    "integrity": "what",
    "deadline": "when",
    "fee": "limits",
    "quota": "limits",
}
_GENERAL = ("honest", "person", "confirm", "binding", "decline", "transfer")


class Writer:
    def __init__(self, blueprint: Blueprint, random: Random) -> None:
        self._blueprint = blueprint
        self._random = random
        person = _in_words(blueprint.core_entity)
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
        phrases = _phrases()
        self._leads = {theme: self._random.choice(leads) for theme, leads in phrases["themes"].items()}
        self._order = ["who", "what", "when", "limits"]
        self._random.shuffle(self._order)

    def text(self) -> str:
        """The manual, as Markdown."""
        parts = [f"# {self._say('title')}", self._say("about"), *self._conduct()]
        if "auth" in self._words:
            parts += [f"## {self._say('identify', 'heading')}", self._say("identify", "text")]
        parts += [
            f"## {self._say('units', 'heading')}",
            f"{self._say('units', 'money')} {self._say('units', 'time')}",
            f"## {self._say('tools', 'heading')}",
            *(self._section(tool) for tool in self._blueprint.tools),
        ]
        return "\n\n".join(parts) + "\n"

    def _conduct(self) -> list[str]:
        said = [self._say("conduct", theme) for theme in _GENERAL]
        pairs = [" ".join(said[start : start + 2]) for start in range(0, len(said), 2)]
        return [f"## {self._say('conduct', 'heading')}", *pairs]

    def _section(self, tool: Tool) -> str:
        opening = tool.description.strip()
        if tool.confirm:
            opening += f" {self._say('confirm')}"
        if not tool.guards and not tool.effects:
            opening += f" {self._say('free')}"
        heading = f"### {_in_words(tool.name).capitalize()} (`{tool.name}`)"
        body = "\n\n".join([heading, opening, *self._paragraphs(tool)])
        return f"<!-- tool: {tool.name} -->\n{body}\n<!-- /tool: {tool.name} -->"

    def _paragraphs(self, tool: Tool) -> list[str]:
        grouped: dict[str, dict[str, str]] = {}
        for guard in tool.guards:
            grouped.setdefault(_THEMES[guard.concern], {})[guard.rule] = guard.says
        known = {guard.rule for guard in tool.guards}
        for effect in tool.effects:
            if effect.rule not in known:
                grouped.setdefault("then", {})[effect.rule] = effect.says
        return [
            " ".join([self._leads[theme], *(f"[{rule}] {says}" for rule, says in grouped[theme].items())])
            for theme in [*self._order, "then"]
            if theme in grouped
        ]

    def _say(self, *path: str) -> str:
        choices: Any = _phrases()
        for name in path:
            choices = choices[name]
        return str(self._random.choice(choices)).format_map(self._words)


def plural(noun: str) -> str:
    """`policy holder` -> `policy holders`."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def _in_words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


@cache
def _phrases() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(files("synth.offline.manual").joinpath("phrases.yaml").read_text("utf-8"))
    return loaded

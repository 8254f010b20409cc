"""The sections of a manual: a tool's rules by theme, under phrases drawn once a manual.

Rules are grouped by what they are about, never by who holds them.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from skillweave.schema.contract import Concern, Tool
from synth.policy.parts import RuleParagraph, Section

_THEMES: dict[Concern, str] = {
    "ownership": "who",
    "eligibility": "who",
    "existence": "what",
    "integrity": "what",
    "deadline": "when",
    "fee": "limits",
    "quota": "limits",
}


class Sections:
    def __init__(self, random: Random, between: Sequence[str] = ()) -> None:
        """`between` leads up to rules between companies, whose numbers begin with B."""
        self._random = random
        self._leads = {theme: random.choice(leads) for theme, leads in phrases("phrases")["themes"].items()}
        self._order = ["who", "what", "when", "limits"]
        random.shuffle(self._order)
        if between:
            self._leads["between"] = random.choice(between)

    def of(self, tool: Tool, called: str, description: str, words: Mapping[str, str]) -> Section:
        """The section of a tool; `called` is what its heading calls it, `words` what its company calls people."""
        purpose = description.strip()
        confirm = self._say("confirm", words) if tool.confirm else ""
        if not tool.guards and not tool.effects:
            purpose += f" {self._say('free', words)}"
        heading = in_words(called).capitalize()
        paragraphs = self._paragraphs(tool)
        return Section(tool=tool.name, heading=heading, purpose=purpose, confirm=confirm, paragraphs=paragraphs)

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
        return str(self._random.choice(phrases("phrases")[name])).format_map(words)


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
    loaded: dict[str, Any] = yaml.safe_load(files("synth.offline.manual").joinpath(f"{file}.yaml").read_text("utf-8"))
    return loaded

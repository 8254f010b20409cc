"""A service of the catalogue: one YAML file that is rendered, by a setting and its knobs, into one domain's answers.

The file holds two YAML documents. The first says what varies (`Header`). The second is a Jinja template of YAML: the
blueprint's own format, plus `talk` (how people speak of it) and `goals` (what they want of it).
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import product
from random import Random
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined
from pydantic import Field

from skillweave.errors import ConfigError
from skillweave.schema.contract import Event, Invariant, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.goal import Goal
from skillweave.schema.names import Name, table_of
from skillweave.schema.record import Record

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C where there is one: the same values, ten times sooner."""

Knob = bool | int | float | str


class Setting(Record):
    """One domain that a service can become."""

    domain: Name
    topic: str
    title: str
    summary: str
    knobs: dict[str, Knob] = Field(default_factory=dict)
    """Knobs that this setting fixes; the others are drawn."""
    words: dict[str, str] = Field(default_factory=dict)
    """Vocabulary of this setting, for the template."""


class Header(Record):
    service: Name
    person: Name
    keywords: list[str]
    knobs: dict[str, list[Knob]]
    """What varies, with the values that each knob can take. Booleans switch optional modules."""
    settings: list[Setting]


class EntityTalk(Record):
    """How people speak of a row."""

    noun: str
    mine: bool = False
    """`my appointment` rather than `the dentist`."""
    qualifiers: dict[str, list[str]] = Field(default_factory=dict)
    """Column of a read -> ways to say it; with `{noun}` it wraps the noun, without it is put behind."""


class ToolTalk(Record):
    """How people ask for a tool."""

    ask: list[str]
    """Verb phrases that fit after `I'd like to`; `{parameter}` is the row or value in words."""
    parameters: dict[str, list[str]] = Field(default_factory=dict)
    """Clauses for parameters that the phrase does not hold: `and have it delivered by {value}`."""
    unsaid: dict[str, list[str]] = Field(default_factory=dict)
    """Parameter -> verb phrases for a request that leaves its value out."""
    settled: list[str] = Field(default_factory=list)
    """Verb phrases where other calls settle what those of `ask` name: `clear my balance`."""


class Talk(Record):
    entities: dict[str, EntityTalk]
    tools: dict[str, ToolTalk]
    values: dict[str, str] = Field(default_factory=dict)
    """Enum values in words, where underscores to spaces is not enough."""


class Rendered(Record):
    """A service, for one setting and one choice of knobs."""

    core_entity: Name
    entities: list[Entity]
    relationships: list[Entity]
    tools: list[Tool]
    invariants: list[Invariant]
    events: list[Event] = Field(default_factory=list)
    talk: Talk
    goals: list[Goal]


def money(cents: float) -> str:
    """1500 -> `15.00`."""
    return f"{cents / 100:,.2f}"


def percent(share: float) -> str:
    """0.25 -> `25 %`."""
    return f"{share * 100:g} %"


def plural(count: float, noun: str) -> str:
    """1, `day` -> `1 day`; 3, `day` -> `3 days`."""
    return f"{count:g} {noun}{'' if count == 1 else 's'}"


def environment() -> Environment:
    """Of templates of the catalogue."""
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.filters.update(money=money, percent=percent, plural=plural, table=table_of)
    return environment


class Service:
    """A file of the catalogue."""

    def __init__(self, text: str) -> None:
        header, self.template = re.split(r"^---[ \t]*\n", text.removeprefix("---\n"), maxsplit=1, flags=re.MULTILINE)
        self.header = Header.model_validate(yaml.load(header, LOADER))

    def setting(self, domain: str) -> Setting:
        """The setting of that domain; KeyError if there is none."""
        for setting in self.header.settings:
            if setting.domain == domain:
                return setting
        raise KeyError(domain)

    def draw(self, setting: Setting, random: Random) -> dict[str, Knob]:
        """A choice of knobs: those that the setting fixes, the others drawn."""
        drawn = {name: random.choice(values) for name, values in sorted(self.header.knobs.items())}
        return {**drawn, **setting.knobs}

    def choices(self, setting: Setting) -> list[dict[str, Knob]]:
        """Every choice of knobs that the setting leaves open."""
        open_knobs = {k: v for k, v in sorted(self.header.knobs.items()) if k not in setting.knobs}
        return [dict(zip(open_knobs, values, strict=True)) | setting.knobs for values in product(*open_knobs.values())]

    def render(self, setting: Setting, knobs: Mapping[str, Knob]) -> Rendered:
        """The service as that setting's domain."""
        text = environment().from_string(self.template).render(setting=setting, w=setting.words, **knobs)
        parsed: Any = yaml.load(text, LOADER)
        return Rendered.model_validate(parsed)


@cache
def catalogue() -> dict[str, Service]:
    """All services by name."""
    found = {}
    for file in sorted(files("synth.offline").joinpath("catalogue").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            service = Service(file.read_text("utf-8"))
            if service.header.service != file.name.removesuffix(".yaml"):
                raise ConfigError(f"catalogue file {file.name!r} says service: {service.header.service!r}")
            found[service.header.service] = service
    return found

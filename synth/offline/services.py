"""The catalogue of services: a company and its knobs render a YAML file into one domain's answers.

A file holds two YAML documents. The first says what varies (`ServiceHeader`). The second is a Jinja template of YAML:
the blueprint's own format, plus `talk` (how people speak of it) and `goals` (what they want from it). The run's
seed and the domain's name alone choose the company and knobs of a domain, so that every question of a domain gets its
answer from the same variant. An answer depends on the question's name, variables and key, and on the seed.

Each setting has a first company and others. The first keeps what its setting fixes: the first value of each figure, all
rules, and the rows as they stand in the file. The others draw all of these: figures, optional modules, rules that they
do without, names of places and people, prices, and what is on their lists.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import product, zip_longest
from random import Random
from typing import Any, TypeVar

import yaml
from jinja2 import Environment, StrictUndefined, Template
from pydantic import Field

from skillweave.base.errors import AuthorError, ConfigError
from skillweave.schema.contract import Event, Invariant, Tool
from skillweave.schema.entity import Domain, Entity
from skillweave.schema.record import Name, Record, table_of
from skillweave.schema.template import Goal
from synth.offline.companies import drawn_names, own_rows, with_names, without_rules

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader written in C, if there is one: the same values in a tenth of the time."""

Knob = bool | int | float | str


class ServiceSetting(Record):
    """One kind of company that a service can become, by its first company."""

    domain: Name
    topic: str
    title: str
    summary: str
    knobs: dict[str, Knob] = Field(default_factory=dict)
    """Knobs that this setting fixes. The others are drawn."""
    figures: dict[str, list[Knob]] = Field(default_factory=dict)
    """Figures of this setting alone."""
    words: dict[str, str] = Field(default_factory=dict)
    """Vocabulary of this setting, for the template."""
    others: dict[Name, str] = Field(default_factory=dict)
    """Domain of another company -> its title."""
    topics: list[str] = Field(default_factory=list)
    """Topics of the other companies."""
    about: str = ""
    """A Jinja template of the other companies' summaries, with their knobs and a `town`."""
    modules: list[str] = Field(default_factory=list)
    """Knobs that only the first company has fixed: optional modules of the others."""
    names: dict[str, list[str]] = Field(default_factory=dict)
    """Pool of `phrases/names.yaml` -> names of the first company, for which others have names of that pool."""
    lists: dict[str, int] = Field(default_factory=dict)
    """Entity -> the most of its listed rows that another company does without."""
    is_first: bool = True
    """Whether this is the setting's first company."""


class ServiceHeader(Record):
    """What varies in a service."""

    service: Name
    person: Name
    keywords: list[str]
    knobs: dict[str, list[Knob]]
    """Knob -> the values that it can take. Booleans switch optional modules."""
    figures: dict[str, list[Knob]] = Field(default_factory=dict)
    """Figure -> the values that it can take; first companies have the first. It is a knob like any other."""
    settings: list[ServiceSetting]


class EntityTalk(Record):
    """How people speak of a row."""

    noun: str
    mine: bool = False
    """`my appointment` rather than `the dentist`."""
    qualifiers: dict[str, list[str]] = Field(default_factory=dict)
    """Column of a read -> ways to say it. A way with `{noun}` wraps the noun; any other follows the noun."""


class ToolTalk(Record):
    """How people ask for a tool."""

    ask: list[str]
    """Verb phrases that fit after `I'd like to`. `{parameter}` stands for the row or value in words."""
    parameters: dict[str, list[str]] = Field(default_factory=dict)
    """Parameter -> clauses for it, if the phrase does not name it: `and have it delivered by {value}`."""
    opens: dict[str, list[str]] = Field(default_factory=dict)
    """Style -> words to begin with, greeting and all, which leave details for the agent to ask."""
    gist: list[str] = Field(default_factory=list)
    """Verb phrases that leave details for the agent to ask: `move {visit}`."""
    unsaid: dict[str, list[str]] = Field(default_factory=dict)
    """Parameter -> verb phrases for a request that leaves its value out."""
    settled: list[str] = Field(default_factory=list)
    """Verb phrases for a request whose other calls settle what those of `ask` name: `clear my balance`."""


class Talk(Record):
    """How people speak of one company's rows, tools and values."""

    entities: dict[str, EntityTalk]
    tools: dict[str, ToolTalk]
    values: dict[str, str] = Field(default_factory=dict)
    """Enum value -> words for it, if replacing underscores by spaces is not enough."""


class RenderedService(Record):
    """A service, for one setting and one choice of knobs."""

    core_entity: Name
    entities: list[Entity]
    relationships: list[Entity]
    tools: list[Tool]
    invariants: list[Invariant]
    events: list[Event] = Field(default_factory=list)
    talk: Talk
    goals: list[Goal]
    dispensable: list[str] = Field(default_factory=list)
    """Rules that a company may do without."""


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
    """The Jinja environment of the catalogue's templates."""
    templates = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    templates.filters.update(money=money, percent=percent, plural=plural, table=table_of)
    return templates


class Service:
    """A file of the catalogue."""

    def __init__(self, text: str) -> None:
        header, self._source = re.split(r"^---[ \t]*\n", text.removeprefix("---\n"), maxsplit=1, flags=re.MULTILINE)
        self.header = ServiceHeader.model_validate(yaml.load(header, LOADER))

    @cached_property
    def _template(self) -> Template:
        """Compiled when first needed: that takes long."""
        return environment().from_string(self._source)

    @cached_property
    def companies(self) -> dict[str, ServiceSetting]:
        """Domain -> the setting as its company has it: first companies, then the others of each setting by turns."""
        firsts = self.header.settings
        others = [
            [
                setting.model_copy(update={"domain": domain, "title": title, "is_first": False})
                for domain, title in setting.others.items()
            ]
            for setting in firsts
        ]
        by_turns = [company for turn in zip_longest(*others) for company in turn if company]
        return {company.domain: company for company in [*firsts, *by_turns]}

    def setting(self, domain: str) -> ServiceSetting:
        """The setting of a domain. KeyError if there is none."""
        return self.companies[domain]

    def draw(self, setting: ServiceSetting, random: Random) -> dict[str, Knob]:
        """Choose a value of every knob: the setting's if it fixes one, else a random one."""
        drawn = {name: random.choice(values) for name, values in sorted(self.header.knobs.items())}
        if setting.is_first:
            return {**drawn, **self._first_figures(setting), **setting.knobs}
        switches: dict[str, list[Knob]] = {name: [True, False] for name in setting.modules}
        figures = {**self.header.figures, **setting.figures, **switches}
        own = {name: random.choice(values) for name, values in sorted(figures.items())}
        return {**drawn, **setting.knobs, **own}

    def choices(self, setting: ServiceSetting) -> list[dict[str, Knob]]:
        """Every choice of knobs that the setting's first company allows."""
        open_knobs = {k: v for k, v in sorted(self.header.knobs.items()) if k not in setting.knobs}
        fixed = {**self._first_figures(setting), **setting.knobs}
        return [dict(zip(open_knobs, values, strict=True)) | fixed for values in product(*open_knobs.values())]

    def render(self, setting: ServiceSetting, knobs: Mapping[str, Knob]) -> RenderedService:
        """Render the service for a setting and a choice of knobs."""
        return self._parsed(self._text(setting, knobs))

    def company(self, setting: ServiceSetting, random: Random) -> "ServiceVariant":
        """A company of a setting, with knobs drawn and, unless it is the first, its own names, prices and rules."""
        knobs = self.draw(setting, random)
        if setting.is_first:
            return ServiceVariant(self, setting, self.render(setting, knobs))
        own_names = drawn_names({**setting.names, "towns": [*setting.names.get("towns", ()), "town"]}, random)
        summary = environment().from_string(setting.about).render(**knobs, town=own_names.pop("town"))
        rendered = self._parsed(with_names(self._text(setting, knobs), own_names))
        own = rendered.model_copy(
            update={
                "entities": own_rows(rendered.entities, setting.lists, random),
                "tools": without_rules(rendered.tools, rendered.dispensable, random),
            }
        )
        said = {"topic": random.choice(setting.topics), "summary": summary}
        return ServiceVariant(self, setting.model_copy(update=said), own)

    def _first_figures(self, setting: ServiceSetting) -> dict[str, Knob]:
        return {name: values[0] for name, values in {**self.header.figures, **setting.figures}.items()}

    def _text(self, setting: ServiceSetting, knobs: Mapping[str, Knob]) -> str:
        return self._template.render(setting=setting, w=setting.words, **knobs)

    def _parsed(self, text: str) -> RenderedService:
        parsed: Any = yaml.load(text, LOADER)
        return RenderedService.model_validate(parsed)


@cache
def catalogue() -> dict[str, Service]:
    """All services, by name. ConfigError if a file names another service than itself."""
    services = {}
    for file in sorted(files("synth.offline").joinpath("catalogue").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            service = Service(file.read_text("utf-8"))
            if service.header.service != file.name.removesuffix(".yaml"):
                raise ConfigError(f"catalogue file {file.name!r} says service: {service.header.service!r}")
            services[service.header.service] = service
    return services


@dataclass(frozen=True)
class ServiceVariant:
    """The service, setting and knobs of a domain in a run."""

    service: Service
    setting: ServiceSetting
    rendered: RenderedService


@cache
def services_by_domain() -> dict[str, Service]:
    """Domain of each company -> its service."""
    return {domain: service for service in catalogue().values() for domain in service.companies}


@lru_cache(maxsize=1024)
def variant(seed: int, domain: str) -> ServiceVariant:
    """The variant behind a domain in the run of a seed. AuthorError if no service has a company of that domain."""
    service = services_by_domain().get(domain)
    if service is None:
        raise AuthorError(f"the offline author knows no domain {domain!r}; {_nearest(domain, [*services_by_domain()])}")
    return service.company(service.setting(domain), Random(f"{seed}/variation/{domain}"))


def services_for(topic: str) -> list[Service]:
    """The services that fit a seed domain best, by name. AuthorError if none fits."""
    words = _words(topic)
    scored = []
    for name, service in catalogue().items():
        own = _words(" ".join([name, *service.header.keywords, *(s.topic for s in service.header.settings)]))
        scored.append((len(words & own) / max(1, len(words)), name, service))
    best = max((score for score, _, _ in scored), default=0.0)
    if best < 0.5:
        topics = sorted(setting.topic for service in catalogue().values() for setting in service.header.settings)
        raise AuthorError(f"the offline author knows no service for {topic!r}; {_nearest(topic, topics)}")
    return [service for score, _, service in sorted(scored, key=lambda entry: (-entry[0], entry[1])) if score == best]


def domains_of(service: Service, seed_domain: str, seed: int, known: Collection[str]) -> Iterator[Domain]:
    """The domains not `known` that a service can become in the run of a seed; `seed_domain` led to the service."""
    for name, company in service.companies.items():
        if name not in known:
            own = company if company.is_first else variant(seed, name).setting
            yield Domain(
                name=name,
                topic=own.topic,
                summary=own.summary,
                person=service.header.person,
                seed=seed_domain,
                keywords=service.header.keywords,
            )


def _nearest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=3, cutoff=0.3) or known[:3]
    return f"nearest known: {', '.join(map(repr, near))}; for others name a model in llm.textual"


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z]+", text.lower())} - {"service", "and", "of", "the", "a"}


T = TypeVar("T")


@dataclass(frozen=True)
class OfflineQuestion:
    """A question that the offline author is asked."""

    name: str
    key: str
    """The key of the question's item."""
    variables: Mapping[str, object]
    """The variables of its prompt."""
    seed: int
    """The seed of the run."""

    def get(self, name: str, kind: type[T]) -> T:
        """The variable `name`. AuthorError if the question has none of this type."""
        value = self.variables.get(name)
        if not isinstance(value, kind):
            raise AuthorError(f"question {self.name!r} gave {name!r} as {type(value).__name__}, not {kind.__name__}")
        return value

    def many(self, name: str, kind: type[T]) -> list[T]:
        """The variable `name`, a list of this type. AuthorError if it is anything else."""
        values = self.get(name, list)
        if not all(isinstance(value, kind) for value in values):
            raise AuthorError(f"question {self.name!r} gave {name!r} with something else than {kind.__name__}")
        return values

    def variant(self, domain: str) -> ServiceVariant:
        """The service, setting and knobs of a domain. Raises AuthorError if there are none."""
        return variant(self.seed, domain)

    @property
    def random(self) -> Random:
        """Random numbers seeded by run, question and key: order and concurrency never change a byte."""
        return Random(f"{self.seed}/{self.name}/{self.key}")


Answer = Callable[[OfflineQuestion], Any]
"""Answers a question: with a text, a record, a list of records, or any other value that JSON can hold."""

"""The catalogue of services: a company and its knobs render a YAML file into one domain's answers.

Folders of one's own may hold further services, and bridges between services. Such files are data of strangers: they are
checked when they are read, and their templates reach values and no Python.

A file holds two YAML documents. The first says what varies (`ServiceHeader`). The second is a Jinja template of YAML:
the blueprint's own format, plus `talk` (how people speak of it) and `goals` (what they want from it). The run's
seed and the domain's name alone choose the company and knobs of a domain, so that every question of a domain gets its
answer from the same variant. An answer depends on the question's name, variables and key, and on the seed.

Each setting has a first company and others. The first keeps what its setting fixes: the first value of each figure, all
rules, and the rows as they stand in the file. The others draw all of these: figures, optional modules, rules that they
do without, names of places and people, prices, and what is on their lists.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import product, zip_longest
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypeVar

import yaml
from jinja2 import Template, TemplateSyntaxError
from pydantic import Field, ValidationError, model_validator

from skillweave.base.errors import AuthorError, ConfigError
from skillweave.base.store import digest_text
from skillweave.schema.contract import Event, Invariant, Tool
from skillweave.schema.entity import Domain, Entity
from skillweave.schema.record import Name, Record
from skillweave.schema.template import Goal
from synth.offline.companies import drawn_names, own_rows, pools, with_names, without_rules
from synth.offline.templates import Templates, render_template

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader written in C, if there is one: the same values in a tenth of the time."""

MAX_FAULT_CHARS = 300
MAX_FILE_BYTES = 4_000_000
"""Bytes of a file of one's own; the largest built-in one has a fiftieth of them."""

Knob = bool | int | float | str
Choices = Annotated[list[Knob], Field(min_length=1)]


class ServiceSetting(Record):
    """One kind of company that a service can become, by its first company."""

    domain: Name
    topic: str
    title: str
    summary: str
    knobs: dict[str, Knob] = Field(default_factory=dict)
    """Knobs that this setting fixes. The others are drawn."""
    figures: dict[str, Choices] = Field(default_factory=dict)
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

    @model_validator(mode="after")
    def _has_what_others_need(self) -> "ServiceSetting":
        if self.others and not (self.topics and self.about):
            raise ValueError("has others, so it needs their topics and about")
        unknown = sorted(self.names.keys() - pools().keys())
        if unknown:
            raise ValueError(f"names has no pool {unknown[0]!r}; known are {', '.join(sorted(pools()))}")
        return self


class ServiceHeader(Record):
    """What varies in a service."""

    service: Name
    person: Name
    keywords: list[str]
    knobs: dict[str, Choices]
    """Knob -> the values that it can take. Booleans switch optional modules."""
    figures: dict[str, Choices] = Field(default_factory=dict)
    """Figure -> the values that it can take; first companies have the first. It is a knob like any other."""
    settings: Annotated[list[ServiceSetting], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_each_company_once(self) -> "ServiceHeader":
        domains = [domain for setting in self.settings for domain in (setting.domain, *setting.others)]
        twice = next((domain for domain in domains if domains.count(domain) > 1), None)
        if twice is not None:
            raise ValueError(f"has two companies {twice!r}; give each its own name")
        return self


class BridgeHeader(Record):
    """The services that a bridge connects."""

    sides: Annotated[dict[str, str], Field(min_length=2)]
    """Alias -> service."""


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


@cache
def environment() -> Templates:
    """The Jinja environment of the catalogue's templates."""
    return Templates()


def split_documents(text: str) -> tuple[str, str]:
    """The header of a file and its template, whose lines keep their numbers. ValueError if there are no two of them."""
    parts = re.split(r"^---[ \t]*\n", text.removeprefix("---\n"), maxsplit=1, flags=re.MULTILINE)
    if len(parts) != 2:
        raise ValueError("a file holds two documents with a line --- between them")
    lines = text.count("\n") - parts[1].count("\n")
    return parts[0], "\n" * lines + parts[1]


class Service:
    """A file of the catalogue."""

    def __init__(self, text: str, where: str = "") -> None:
        """Read the header.

        Args:
            text: The file's text.
            where: The path of a file of one's own.
        """
        header, self._source = split_documents(text)
        self.header = ServiceHeader.model_validate(yaml.load(header, LOADER))
        self.where = where
        self.header_digest = digest_text(header)
        self.digest = digest_text(text)

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
        summary = render_template(environment().from_string(setting.about), {**knobs, "town": own_names.pop("town")})
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
        return render_template(self._template, {"setting": setting, "w": setting.words, **knobs})

    def _parsed(self, text: str) -> RenderedService:
        if self.where:
            refuse_aliases(text)
        parsed: Any = yaml.load(text, LOADER)
        return RenderedService.model_validate(parsed)


@dataclass(frozen=True)
class ServiceVariant:
    """The service, setting and knobs of a domain in a run."""

    service: Service
    setting: ServiceSetting
    rendered: RenderedService


@lru_cache(maxsize=1024)
def company_of(service: Service, domain: str, seed: int) -> ServiceVariant:
    """A service as one of its companies has it in the run of a seed. AuthorError if the file does not give one."""
    try:
        return service.company(service.setting(domain), Random(f"{seed}/variation/{domain}"))
    except Exception as error:  # a file of one's own may have anything raised
        where = repr(service.where or service.header.service)
        raise AuthorError(f"catalogue: {where}: the company {domain!r}: {fault_in_words(error)}") from error


@dataclass(frozen=True)
class BridgeFile:
    """Stories and rules between services; `synth.offline.bridging` reads the template."""

    header: BridgeHeader
    template: str
    digest: str
    where: str = ""
    """The path of a file of one's own."""

    @classmethod
    def read(cls, text: str, where: str = "") -> "BridgeFile":
        """The bridge of a text."""
        header, template = split_documents(text)
        return cls(BridgeHeader.model_validate(yaml.load(header, LOADER)), template, digest_text(text), where)


class Catalogue:
    """What an offline author knows: services by name, and bridges between them."""

    def __init__(self, services: Mapping[str, Service], bridges: Mapping[str, BridgeFile]) -> None:
        self.services = dict(services)
        self.bridges = dict(bridges)

    @cached_property
    def by_domain(self) -> dict[str, Service]:
        """Domain of each company -> its service."""
        return {domain: service for service in self.services.values() for domain in service.companies}

    def variant(self, seed: int, domain: str) -> ServiceVariant:
        """The variant behind a domain in the run of a seed. AuthorError if no service has a company of that domain."""
        service = self.by_domain.get(domain)
        if service is None:
            raise AuthorError(f"the offline author knows no domain {domain!r}; {_nearest(domain, [*self.by_domain])}")
        return company_of(service, domain, seed)

    def services_for(self, topic: str) -> list[Service]:
        """The services that fit a seed domain best, by name. AuthorError if none fits."""
        words = _words(topic)
        scored = []
        for name, service in self.services.items():
            own = _words(" ".join([name, *service.header.keywords, *(s.topic for s in service.header.settings)]))
            scored.append((len(words & own) / max(1, len(words)), name, service))
        best = max((score for score, _, _ in scored), default=0.0)
        if best < 0.5:
            topics = sorted(setting.topic for service in self.services.values() for setting in service.header.settings)
            raise AuthorError(f"the offline author knows no service for {topic!r}; {_nearest(topic, topics)}")
        return [
            service for score, _, service in sorted(scored, key=lambda entry: (-entry[0], entry[1])) if score == best
        ]

    def digests(self, key: str, questions: Collection[str], seeds: Sequence[str]) -> dict[str, str]:
        """The files that answers about an item follow from: name -> digest.

        Args:
            key: The item's key. Of a domain its service counts; of a world of several also the bridges between them; of
                any other, the services that fit the seed domains.
            questions: What is asked.
            seeds: The seed domains of the run. All services count where one of them fits none.
        """
        if key in self.by_domain:
            service = self.by_domain[key]
            return {service.header.service: service.digest}
        members = re.sub(r"_\d+$", "", key).split("__")
        try:
            if all(member in self.by_domain for member in members):
                used = {self.by_domain[member].header.service for member in members}
            else:
                used = {service.header.service for seed in seeds for service in self.services_for(seed)}
        except AuthorError:
            used = set(self.services)
        services = {name: self.services[name] for name in sorted(used)}
        if set(questions) <= {"domains.expand"}:
            # What the second document says counts for companies whose topic and summary are drawn after it.
            return {
                name: service.digest
                if any(setting.others for setting in service.header.settings)
                else service.header_digest
                for name, service in services.items()
            }
        bridges = {name: one for name, one in self.bridges.items() if used.issuperset(one.header.sides.values())}
        if set(questions) <= {"fusion.links"}:
            joined = {side for bridge in bridges.values() for side in bridge.header.sides.values()}
            services = {name: service for name, service in services.items() if name in joined}
        digests = {name: service.digest for name, service in services.items()}
        return digests | {f"bridges/{name}": bridge.digest for name, bridge in sorted(bridges.items())}


@cache
def built_in() -> Catalogue:
    """The package's own files."""
    texts = [
        {
            file.name.removesuffix(".yaml"): file.read_text("utf-8")
            for file in sorted(files("synth.offline").joinpath(folder).iterdir(), key=lambda file: file.name)
            if file.name.endswith(".yaml")
        }
        for folder in ("catalogue", "bridges")
    ]
    services = {service.header.service: service for service in map(Service, texts[0].values())}
    return Catalogue(services, {name: BridgeFile.read(text) for name, text in texts[1].items()})


def read_catalogue(folders: Sequence[str], seed: int) -> Catalogue:
    """The built-in catalogue, with the files of other folders.

    Args:
        folders: The folders.
        seed: The seed of the run; each company is rendered as the run will have it.

    Raises:
        ConfigError: A folder or a file is wrong; the message names it.
    """
    services, bridges = dict(built_in().services), dict(built_in().bridges)
    for path in [path for folder in folders for path in _files_of(Path(folder))]:
        own = _read_own(path)
        if isinstance(own, BridgeFile):
            bridges[own.where] = own
            continue
        name = own.header.service
        if name in services:
            other = f"in {services[name].where!r}" if services[name].where else "built in"
            raise ConfigError(
                f"catalogue: {own.where!r}: the service {name!r} is {other} already; give it another name"
            )
        domains = Catalogue(services, {}).by_domain
        taken = next((domain for domain in own.companies if domain in domains), None)
        if taken is not None:
            other = domains[taken].where or domains[taken].header.service
            raise ConfigError(
                f"catalogue: {own.where!r}: the domain {taken!r} is one of {other!r} already; give it another name"
            )
        services[name] = own
    found = Catalogue(services, bridges)
    for bridge in bridges.values():
        unknown = sorted(set(bridge.header.sides.values()) - services.keys())
        if unknown:
            raise ConfigError(f"catalogue: {bridge.where!r}: sides: there is no service {unknown[0]!r}")
    try:
        for service in services.values():
            for domain in service.companies if service.where else ():
                company_of(service, domain, seed)
    except AuthorError as error:
        raise ConfigError(str(error)) from error
    return found


def _files_of(folder: Path) -> list[Path]:
    """The service files and bridges of a folder, by name. Hidden files and those of other kinds are none."""
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise ConfigError(
            f"catalogue: the folder {str(folder)!r} cannot be read: {error.strerror}; name a folder of service files"
        ) from error
    for path in paths:
        if path.suffix.lower() in (".yml", ".yaml") and path.suffix != ".yaml":
            raise ConfigError(f"catalogue: {str(path)!r} is not read; call it {path.stem}.yaml")
    found = [path for path in paths if path.suffix == ".yaml"]
    if not found:
        raise ConfigError(f"catalogue: the folder {str(folder)!r} has no service file; put a NAME.yaml into it")
    return found


def _read_own(path: Path) -> Service | BridgeFile:
    """A file of one's own. Raises ConfigError."""
    try:
        if not path.is_file():
            raise ConfigError(f"catalogue: {str(path)!r} is no file; move it out of the folder")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"catalogue: {str(path)!r} has more than {MAX_FILE_BYTES:,} bytes; make it smaller")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"catalogue: {str(path)!r} cannot be read: {' '.join(str(error).split())}") from error
    try:
        header, template = split_documents(text)
        refuse_aliases(header)
        environment().parse(template)
        raw = yaml.load(header, LOADER)
        if not isinstance(raw, dict) or not raw.keys() & {"service", "sides"}:
            raise ValueError("the first document has neither `service:` nor `sides:`")
        return BridgeFile.read(text, str(path)) if "sides" in raw else Service(text, str(path))
    except Exception as error:  # a file of strangers may have anything raised
        raise ConfigError(f"catalogue: {str(path)!r}: {fault_in_words(error)}") from error


def refuse_aliases(text: str) -> None:
    """ValueError if YAML has aliases: a few lines of them would make more values than memory holds."""
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, LOADER)):
        raise ValueError("YAML's aliases (*name) are not allowed; write the value out")


def fault_in_words(error: Exception) -> str:
    """What is wrong with a file, in a line."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"[:MAX_FAULT_CHARS]
    if isinstance(error, TemplateSyntaxError):
        return f"line {error.lineno}: {error.message}"[:MAX_FAULT_CHARS]
    said = " ".join(str(error).split())
    return (said if isinstance(error, ValueError) else f"{type(error).__name__}: {said}")[:MAX_FAULT_CHARS]


def domains_of(service: Service, seed_domain: str, seed: int, known: Collection[str]) -> Iterator[Domain]:
    """The domains not `known` that a service can become in the run of a seed; `seed_domain` led to the service."""
    for name, company in service.companies.items():
        if name not in known:
            own = company if company.is_first else company_of(service, name, seed).setting
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
    catalogue: Catalogue = field(default_factory=built_in)

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
        return self.catalogue.variant(self.seed, domain)

    @property
    def random(self) -> Random:
        """Random numbers seeded by run, question and key: order and concurrency never change a byte."""
        return Random(f"{self.seed}/{self.name}/{self.key}")


Answer = Callable[[OfflineQuestion], Any]
"""Answers a question: with a text, a record, a list of records, or any other value that JSON can hold."""

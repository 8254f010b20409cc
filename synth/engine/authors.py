"""The authors of a run: one backend a role, all on one event loop, since items run on loops of their own.

An author's identity says what its answers follow from: for the offline author a digest of its code and of what it
knows of an item; for a model its name, endpoint and sampling.
"""

import asyncio
import importlib
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from skillweave.base.errors import ConfigError
from skillweave.base.store import digest_file
from skillweave.config.llm import AuthorConfig, RoleConfig
from skillweave.config.load import check_section, nearest
from skillweave.config.sections import Config
from skillweave.llm import models as configured
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import Backend, Reply, Request
from skillweave.llm.connections import Connections, check_authors
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import AuthorSpec

R = TypeVar("R")
ROLES = ("textual", "coding", "judge")


class BuiltInAuthor(Protocol):
    """The offline author: a function of a request that gives the text of the answer."""

    def __call__(self, request: Request) -> str: ...

    def digest(self, key: str, questions: Sequence[str], seeds: Sequence[str]) -> str:
        """A digest of the code that answers these questions and of the data that it uses.

        Args:
            key: The item's key: a domain or a world of several, whose data count; any other stands for the whole run.
            questions: Names of questions.
            seeds: The seed domains of the run.
        """
        ...

    def check_seeds(self, seeds: Sequence[str]) -> None:
        """Raise ConfigError if it knows none of these seed domains."""
        ...


class Authors:
    """Who answers the questions of each step and role, by the configuration."""

    def __init__(self, config: Config, built_in: str, folder: Path | None = None) -> None:
        """Name the authors; nothing is connected yet.

        Args:
            config: The configuration.
            built_in: `module:Class` of the offline author.
            folder: The outputs folder, whose runs share one budget; None: the budget is this process's alone.
        """
        self._config = config
        self._built_in_name = built_in
        self._built_in: BuiltInAuthor | None = None
        self._backends: dict[str, Backend] = {}
        self._identities: dict[tuple[str, str, tuple[str, ...]], str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.RLock()
        self.ledger = Ledger()
        self._connections = Connections(config.llm, ledger=self.ledger, folder=folder)

    def line(self, step: str, role: str) -> AuthorChain | None:
        """The authors of a role in a step: the first one, then those that are asked if it fails.

        Returns:
            The chain of authors; None if nobody is named, which only a judge may be.

        Raises:
            ConfigError: An author is unknown, has no key, or has no price although there is a budget.
        """
        named = self._configured(step, role)
        if not named:
            return None
        *others, last = named
        backends = [*(self._backend(author, is_last=False) for author in others), self._backend(last, is_last=True)]
        return AuthorChain(backends, self.ledger, self._config.llm.continuations)

    def missing_keys(self, asked: Iterable[tuple[str, str]]) -> list[str]:
        """Check the authors of steps and roles as `line` does, and connect none.

        Args:
            asked: Pairs of a step and a role.

        Returns:
            The environment variables that hold no key, and have to before anybody is asked.

        Raises:
            ConfigError, ArtifactError: As `line`, but for a key.
        """
        authors = {_key(author): author for step, role in asked for author in self._configured(step, role)}
        for author in authors.values():
            spec_of(author, self._config)
        return check_authors(self._config.llm, authors.values())

    def names(self, step: str, role: str) -> list[str]:
        """`provider/model` of each author of a role in a step, in the order in which they are asked."""
        return [author.model for author in self._configured(step, role)]

    def first(self, step: str, role: str) -> str | None:
        """`provider/model` of the author who is asked first; None if nobody is named."""
        return next(iter(self.names(step, role)), None)

    def identity(self, step: str, role: str, key: str, questions: Sequence[str]) -> str:
        """What the answers of a role's authors follow from.

        Args:
            step: The step that asks.
            role: The role that is asked.
            key: What the questions are about.
            questions: Names of questions.

        Returns:
            `provider/model#settings or digest` of each author, joined by `, then `; empty if nobody is named.
        """
        authors = self._configured(step, role)
        return ", then ".join(self._identity(author, key, tuple(questions)) for author in authors)

    def check_seeds(self, step: str, roles: Iterable[str], seeds: Sequence[str]) -> None:
        """Raise ConfigError if a step asks only the offline author about seed domains, and it knows none of them."""
        names = [name for role in roles for name in self.names(step, role)]
        if names and all(name.startswith("offline/") for name in names):
            self._offline().check_seeds(seeds)

    def check_catalogue(self) -> None:
        """Raise ConfigError if a folder of `catalogue`, or a file in it, is wrong."""
        if self._config.catalogue:
            self._offline()

    def call(self, work: Coroutine[Any, Any, R]) -> "asyncio.Future[R]":
        """Run a coroutine on the authors' event loop. The caller awaits the result on its own loop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="authors", daemon=True).start()
            return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._loop is None:
                return
            for backend in self._backends.values():
                asyncio.run_coroutine_threadsafe(backend.close(), self._loop).result(timeout=10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None
            self._backends.clear()

    def _configured(self, step: str, role: str) -> list[AuthorConfig]:
        """The author of a role in a step and its fallbacks; the step's own section overrides `llm`."""
        named: RoleConfig | None = getattr(self._config.llm, role)
        overrides = self._config.steps.get(step, {}).get("llm")
        if overrides is not None:
            named = _override(step, overrides).get(role) or named
        authors = [] if named is None else [named, *named.fallback]
        for author in authors if role == "judge" else ():
            if author.model.startswith("offline/"):
                raise ConfigError(
                    f"llm.judge is {author.model!r}, which judges nothing; name a model there, or leave it out: "
                    "nothing is judged then"
                )
        return authors

    def _backend(self, author: AuthorConfig, *, is_last: bool) -> Backend:
        key = f"{_key(author)} {is_last}"
        with self._lock:
            if key not in self._backends:
                is_offline = spec_of(author, self._config).provider == "offline"
                offline = self._offline() if is_offline else None
                backend = self._connections.connect(author, offline=offline, is_last=is_last)
                self._backends[key] = _LoopBackend(backend, self)
            return self._backends[key]

    def _identity(self, author: AuthorConfig, key: str, questions: tuple[str, ...]) -> str:
        known = (_key(author), key, questions)
        with self._lock:
            if known not in self._identities:
                self._identities[known] = self._identify(author, key, questions)
            return self._identities[known]

    def _offline(self) -> BuiltInAuthor:
        if self._built_in is None:
            module, _, name = self._built_in_name.partition(":")
            self._built_in = getattr(importlib.import_module(module), name)(self._config.seed, self._config.catalogue)
        assert self._built_in is not None
        return self._built_in

    def _identify(self, author: AuthorConfig, key: str, questions: Sequence[str]) -> str:
        spec = spec_of(author, self._config)
        if spec.provider == "offline":
            return f"{author.model}#{self._offline().digest(key, questions, self._config.domains.seeds)}"
        if spec.provider == "replay":
            return f"{author.model}#{digest_file(Path(spec.model))}"
        sampling = ",".join(f"{name}={value}" for name, value in sorted(spec.sampling.settings().items()))
        return f"{author.model}#{spec.source},{sampling}"


class _LoopBackend:
    """A backend that can be called from any event loop, and works on the authors' own."""

    def __init__(self, inner: Backend, authors: Authors) -> None:
        self._inner = inner
        self._authors = authors

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, request: Request) -> Reply:
        return await self._authors.call(self._inner.complete(request))

    async def close(self) -> None:
        await self._inner.close()


def spec_of(author: AuthorConfig, config: Config) -> AuthorSpec:
    """The specification that an author is connected by. Raises ConfigError for an unknown author."""
    spec = configured.spec_of(author, config.llm)
    if spec.provider == "offline" and spec.model != "author":
        raise ConfigError(f"unknown author {author.model!r}; the pipeline's offline author is 'offline/author'")
    return spec


def _key(author: AuthorConfig) -> str:
    """A key that is equal for equal authors, whatever their fallbacks."""
    return author.model_dump_json(exclude={"fallback"})


def _override(step: str, overrides: object) -> Mapping[str, RoleConfig]:
    if not isinstance(overrides, dict):
        raise ConfigError(f"steps.{step}.llm is {overrides!r}; it should be a mapping of roles to authors")
    for role in overrides:
        if role not in ROLES:
            raise ConfigError(f"unknown role {role!r} in steps.{step}.llm; {nearest(str(role), ROLES)}")
    return {
        role: check_section(
            RoleConfig,
            {"model": author} if isinstance(author, str) else author,
            where=f"steps.{step}.llm.{role}",
            source="config",
        )
        for role, author in overrides.items()
    }

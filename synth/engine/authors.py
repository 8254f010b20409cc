"""The authors of a run: one backend a role, all on one event loop, since items run on loops of their own.

An author's identity says what its answers follow from: for the offline author a digest of its code and of what it
knows of an item; for a model its name, endpoint and sampling.
"""

import asyncio
import importlib
import threading
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from skillweave.base.digest import digest_file
from skillweave.base.errors import ConfigError
from skillweave.config.llm import AuthorConfig, RoleConfig
from skillweave.config.load import check_section, nearest
from skillweave.config.sections import Config
from skillweave.llm import models as configured
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import Backend, Reply, Request
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import AuthorSpec

R = TypeVar("R")
ROLES = ("textual", "coding", "judge")


class BuiltInAuthor(Protocol):
    """The offline author."""

    def __call__(self, request: Request) -> str: ...

    def digest(self, key: str, questions: Sequence[str]) -> str:
        """Of the code that answers these questions and of what it knows of the domain `key`, or of all domains."""
        ...


class Authors:
    def __init__(self, config: Config, built_in: str, folder: Path | None = None) -> None:
        """`built_in` is `module:Class` of the offline author; the runs on `folder` share the budget."""
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
        """Who answers for a role in a step: the author, then those that follow where it fails. Raises ConfigError.

        None where nobody is named: a judge has no default.
        """
        named = self._line(step, role)
        if not named:
            return None
        *others, last = named
        backends = [*(self._backend(author, is_last=False) for author in others), self._backend(last, is_last=True)]
        return AuthorChain(backends, self.ledger, self._config.llm.continuations)

    def names(self, step: str, role: str) -> list[str]:
        """`provider/model` of who is asked, one after the other as each fails; empty where nobody is named."""
        return [author.model for author in self._line(step, role)]

    def first(self, step: str, role: str) -> str | None:
        """`provider/model` of who is asked first; None where nobody is named."""
        return next(iter(self.names(step, role)), None)

    def identity(self, step: str, role: str, key: str, questions: Sequence[str]) -> str:
        """`provider/model#what its answers to these questions follow from`, of each in turn; empty for nobody."""
        return ", then ".join(self._identity(author, key, tuple(questions)) for author in self._line(step, role))

    def call(self, work: Coroutine[Any, Any, R]) -> "asyncio.Future[R]":
        """Run on the authors' loop; to be awaited on the caller's."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="authors", daemon=True).start()
            return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self) -> None:
        """Let go of connections."""
        with self._lock:
            if self._loop is None:
                return
            for backend in self._backends.values():
                asyncio.run_coroutine_threadsafe(backend.close(), self._loop).result(timeout=10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None
            self._backends.clear()

    def _line(self, step: str, role: str) -> list[AuthorConfig]:
        """The author of a role in a step, and who follows it."""
        found: RoleConfig | None = getattr(self._config.llm, role)
        overrides = self._config.steps.get(step, {}).get("llm")
        if overrides is not None:
            found = _override(step, overrides).get(role) or found
        line = [] if found is None else [found, *found.fallback]
        for author in line if role == "judge" else ():
            if author.model.startswith("offline/"):
                raise ConfigError(
                    f"llm.judge is {author.model!r}, which judges nothing; name a model there, or leave it out: "
                    "nothing is judged then"
                )
        return line

    def _backend(self, author: AuthorConfig, *, is_last: bool) -> Backend:
        key = f"{_key(author)} {is_last}"
        with self._lock:
            if key not in self._backends:
                is_ours = spec_of(author, self._config).provider == "offline"
                offline = self._offline() if is_ours else None
                backend = self._connections.connect(author, offline=offline, is_last=is_last)
                self._backends[key] = _OnLoop(backend, self)
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
            self._built_in = getattr(importlib.import_module(module), name)(seed=self._config.seed)
        assert self._built_in is not None
        return self._built_in

    def _identify(self, author: AuthorConfig, key: str, questions: Sequence[str]) -> str:
        spec = spec_of(author, self._config)
        if spec.provider == "offline":
            return f"{author.model}#{self._offline().digest(key, questions)}"
        if spec.provider == "replay":
            return f"{author.model}#{digest_file(Path(spec.model))}"
        sampling = ",".join(f"{name}={value}" for name, value in sorted(spec.sampling.settings().items()))
        return f"{author.model}#{spec.source},{sampling}"


class _OnLoop:
    """A backend that is called from any event loop and works on the authors' own."""

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
    """What `connect` needs to know. Raises ConfigError for an unknown author."""
    spec = configured.spec_of(author, config.llm)
    if spec.provider == "offline" and spec.model != "author":
        raise ConfigError(f"unknown author {author.model!r}; the pipeline's offline author is 'offline/author'")
    return spec


def _key(author: AuthorConfig) -> str:
    """Equal for equal authors, whoever follows them."""
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

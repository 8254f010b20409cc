"""Connections: the backends of one process, by author. They share the ledger, the cache, the cassette that is recorded
and the limits of endpoints.
"""

import os
import sys
from pathlib import Path

from skillweave.config.models import AuthorConfig, LlmConfig
from skillweave.errors import ConfigError
from skillweave.llm.backend import Backend
from skillweave.llm.backends.offline import Answer
from skillweave.llm.configured import spec_of
from skillweave.llm.gate import Gate
from skillweave.llm.lane import Lane
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import NETWORK, AuthorSpec, connect
from skillweave.llm.wrappers.meter import Price

REPLIES = Path("skillweave") / "replies.sqlite"


class Connections:
    def __init__(self, llm: LlmConfig, *, ledger: Ledger, slots: int | None = None, caches: bool = True) -> None:
        """`slots` requests at once over all endpoints, `llm.max_concurrency` by default."""
        self.ledger = ledger
        self._llm = llm
        self._gate = Gate(slots or llm.max_concurrency)
        self._lanes: dict[str, Lane] = {}
        self._cache = cache_path(llm) if caches else None
        self._record = Path(llm.record) if llm.record is not None else None

    def connect(
        self,
        author: AuthorConfig,
        *,
        offline: Answer | None = None,
        base_url: str | None = None,
        record_tokens: bool = False,
    ) -> Backend:
        """The author's backend; `base_url` stands in for its own. Raises ConfigError, ArtifactError."""
        spec = spec_of(author, self._llm, base_url=base_url, record_tokens=record_tokens)
        is_network = spec.provider in NETWORK
        return connect(
            spec,
            offline=offline,
            ledger=self.ledger,
            price=self._price(spec) if is_network else None,
            budget_usd=self._llm.budget_usd if is_network else None,
            lane=self._lane(spec) if is_network else None,
            cache=self._cache if is_network else None,
            record=self._record,
        )

    def _price(self, spec: AuthorSpec) -> Price | None:
        """Raises ConfigError where there is a budget and nobody knows what the author costs."""
        found = self._llm.prices.get(spec.name)
        if found is None and self._llm.budget_usd is not None:
            raise ConfigError(
                f"llm.budget_usd is {self._llm.budget_usd:g}, and nobody knows what {spec.name!r} costs; "
                f"give llm.prices.{spec.name} {{input, output}} in US dollars for a million tokens"
            )
        return None if found is None else Price(found.input, found.output)

    def _lane(self, spec: AuthorSpec) -> Lane:
        name = spec.base_url or spec.provider
        if name not in self._lanes:
            self._lanes[name] = Lane(name, self._gate)
        return self._lanes[name]


def cache_path(llm: LlmConfig) -> Path | None:
    """The file that replies are kept in; None where they are not."""
    if isinstance(llm.cache, str):
        return Path(llm.cache)
    return _cache_folder() / REPLIES if llm.cache else None


def _cache_folder() -> Path:
    """The user's, as the platform has it."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if given:
        return Path(given)
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")

"""Connections: the backends of one process, by author.

They share the ledger, the purse, the cache, the cassette that is recorded and the limits of endpoints.
"""

import logging
import os
import sys
from pathlib import Path

from skillweave.config.authors import AuthorConfig, LlmConfig
from skillweave.errors import ConfigError
from skillweave.llm.backend import Backend
from skillweave.llm.backends.offline import Answer
from skillweave.llm.configured import spec_of
from skillweave.llm.lane import Lane
from skillweave.llm.lanes import Lanes
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import NETWORK, PROVIDERS, AuthorSpec, connect
from skillweave.llm.price import FREE, Price
from skillweave.llm.purse import Purse
from skillweave.llm.request import Sampling
from skillweave.llm.usual_key import key_warning
from skillweave.llm.wrappers.defaults import Defaults
from skillweave.llm.wrappers.meter import Metered

logger = logging.getLogger(__name__)

REPLIES = Path("skillweave") / "replies.sqlite"
UNPAID = tuple(provider for provider in PROVIDERS if provider not in NETWORK)


class Connections:
    def __init__(
        self,
        llm: LlmConfig,
        *,
        ledger: Ledger,
        folder: Path | None = None,
        slots: int | None = None,
        caches: bool = True,
    ) -> None:
        """`folder` is whose runs share the budget, None this process alone; `slots` requests at once over all
        endpoints, `llm.max_concurrency` by default. Raises ConfigError."""
        self.ledger = ledger
        self._llm = llm
        self._purse = Purse(folder, llm.budget_usd)
        self._lanes = Lanes(llm, slots or llm.max_concurrency)
        self._warnings: set[str] = set()
        self._cache = cache_path(llm) if caches else None
        self._record = Path(llm.record) if llm.record is not None else None

    def connect(
        self,
        author: AuthorConfig,
        *,
        offline: Answer | None = None,
        base_url: str | None = None,
        record_tokens: bool = False,
        is_last: bool = True,
    ) -> Backend:
        """The author's backend; `base_url` stands in for its own. Raises ConfigError, ArtifactError.

        An endpoint that is down is waited for only for the last author that can be asked.
        """
        spec = spec_of(author, self._llm, base_url=base_url, record_tokens=record_tokens)
        is_network = spec.provider in NETWORK
        return connect(
            spec,
            offline=offline,
            ledger=self.ledger,
            price=self._price(spec.name),
            purse=self._purse if is_network else None,
            longest_answer=self._llm.max_answer_tokens,
            lane=self._lane(spec, is_last) if is_network else None,
            cache=self._cache if is_network else None,
            record=None if self._is_replayed(spec) else self._record,
        )

    def metered(self, backend: Backend) -> Backend:
        """A backend that was made elsewhere, paid for like the others. Raises ConfigError."""
        price = self._price(backend.name)
        paid = Metered(backend, self.ledger, price, self._purse, self._llm.max_answer_tokens)
        return Defaults(paid, backend.name.partition("/")[2], Sampling())

    def _price(self, name: str) -> Price | None:
        """Raises ConfigError where there is a budget and nobody knows what the author costs."""
        found = price_of(name, self._llm)
        if found is None and self._llm.budget_usd is not None:
            raise ConfigError(
                f"llm.budget_usd is {self._llm.budget_usd:g}, and nobody knows what {name!r} costs; "
                f"give llm.prices.{name} {{input, output}} in US dollars for a million tokens"
            )
        return found

    def _is_replayed(self, spec: AuthorSpec) -> bool:
        """Whether the author answers from the cassette that is recorded: that has its answers already."""
        if self._record is None or spec.provider != "replay":
            return False
        return Path(spec.model).resolve() == self._record.resolve()

    def _lane(self, spec: AuthorSpec, is_last: bool) -> Lane:
        warning = key_warning(spec)
        if warning is not None and warning not in self._warnings:
            self._warnings.add(warning)
            logger.warning(warning)
        lane = self._lanes.lane(spec)
        return lane if is_last else lane.hurried()


def price_of(name: str, llm: LlmConfig) -> Price | None:
    """What the author `provider/model` costs; None where nobody knows."""
    if name.partition("/")[0] in UNPAID:
        return FREE
    found = llm.prices.get(name)
    return None if found is None else Price(found.input, found.output, found.cached_input, found.cache_write)


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

"""The backends of one process, by author.

They share the ledger, the budget, the cache, the cassette that is recorded, and one limiter for each endpoint.
"""

import logging
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from skillweave.base.errors import ConfigError
from skillweave.config.llm import AuthorConfig, EndpointConfig, LlmConfig, is_http_url
from skillweave.config.load import nearest
from skillweave.llm.backends.anthropic import AnthropicBackend
from skillweave.llm.backends.backend import Backend, OfflineAnswer, Sampling
from skillweave.llm.backends.openai_chat import OpenAIEndpoint
from skillweave.llm.backends.vllm import VllmBackend
from skillweave.llm.budget import SharedBudget
from skillweave.llm.ledger import FREE, Ledger, Price
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.limits.rate_limit import RateLimiter, SharedSemaphore
from skillweave.llm.models import NETWORK, PROVIDERS, AuthorSpec, connect, spec_of
from skillweave.llm.wrappers import DefaultsBackend, MeteredBackend

KEY_OWNERS = {kind.key_variable: kind.home for kind in (OpenAIEndpoint, AnthropicBackend)}


def key_warning(spec: AuthorSpec) -> str | None:
    """What to tell the user; None where nothing is to be said."""
    home = KEY_OWNERS.get(spec.api_key_env)
    if home is None or spec.base_url is None:
        return None
    host, owner = (urlsplit(url).hostname or "" for url in (spec.base_url, home))
    domain = ".".join(owner.split(".")[-2:])
    if host == domain or host.endswith(f".{domain}"):
        return None
    return (
        f"{host} is sent the key in {spec.api_key_env}, which is usually that of {owner}; "
        "name another variable in api_key_env if it is not to have it"
    )


HOME_URLS = {kind.provider: kind.home for kind in (OpenAIEndpoint, AnthropicBackend, VllmBackend)}
NO_LIMITS = EndpointConfig()


class EndpointLimiters:
    def __init__(self, llm: LlmConfig, slots: int) -> None:
        """`slots` requests at once over all lanes. Raises ConfigError for limits of what is no endpoint."""
        for name in llm.endpoints:
            if name not in NETWORK and not is_http_url(name):
                raise ConfigError(
                    f"llm.endpoints.{name} is neither a provider nor a base URL; {nearest(name, NETWORK)}"
                )
        self._limits = {name.rstrip("/"): limits for name, limits in llm.endpoints.items()}
        self._outage_s = llm.outage_s
        self._gate = SharedSemaphore(slots)
        self._lanes: dict[str, EndpointLimiter] = {}

    def lane(self, spec: AuthorSpec) -> EndpointLimiter:
        """The lane of its endpoint, the same for all authors there."""
        endpoint = (spec.base_url or HOME_URLS[spec.provider]).rstrip("/")
        if endpoint not in self._lanes:
            # What is said of a provider holds for each of its endpoints that nothing else is said of.
            limits = self._limits.get(endpoint) or self._limits.get(spec.provider) or NO_LIMITS
            self._lanes[endpoint] = EndpointLimiter(
                spec.provider if spec.base_url is None else _shown(endpoint),
                self._gate,
                max_concurrency=limits.max_concurrency,
                pace=_rate_limiter(limits),
                outage_s=self._outage_s,
            )
        return self._lanes[endpoint]


def _rate_limiter(limits: EndpointConfig) -> RateLimiter | None:
    if limits.requests_per_minute is None and limits.tokens_per_minute is None:
        return None
    return RateLimiter(limits.requests_per_minute, limits.tokens_per_minute)


def _shown(url: str) -> str:
    """Without a password, which an address may hold."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


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
        self._purse = SharedBudget(folder, llm.budget_usd)
        self._lanes = EndpointLimiters(llm, slots or llm.max_concurrency)
        self._warnings: set[str] = set()
        self._cache = cache_path(llm) if caches else None
        self._record = Path(llm.record) if llm.record is not None else None

    def connect(
        self,
        author: AuthorConfig,
        *,
        offline: OfflineAnswer | None = None,
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
        paid = MeteredBackend(backend, self.ledger, price, self._purse, self._llm.max_answer_tokens)
        return DefaultsBackend(paid, backend.name.partition("/")[2], Sampling())

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

    def _lane(self, spec: AuthorSpec, is_last: bool) -> EndpointLimiter:
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

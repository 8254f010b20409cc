"""The backends of one process, by author.

They share the ledger, the budget, the cache, the cassette that is recorded, and one limiter for each endpoint.
"""

import logging
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from urllib.parse import urlsplit

from skillweave.base.command import plain_number
from skillweave.base.errors import ConfigError
from skillweave.base.proxy import is_loopback
from skillweave.config.llm import AuthorConfig, EndpointConfig, LlmConfig, is_http_url
from skillweave.config.load import nearest
from skillweave.llm.backends.anthropic import AnthropicBackend
from skillweave.llm.backends.backend import Backend, OfflineAnswer, Sampling
from skillweave.llm.backends.endpoint import MissingKeyError
from skillweave.llm.backends.openai_chat import OpenAIEndpoint
from skillweave.llm.backends.vllm import VllmBackend
from skillweave.llm.budget import SharedBudget
from skillweave.llm.ledger import FREE, Ledger, Price
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.limits.rate_limit import RateLimiter, SharedSemaphore
from skillweave.llm.models import (
    NETWORK,
    PROVIDERS,
    AuthorSpec,
    OwnBackend,
    connect,
    is_own_provider,
    provider_backend,
    sampling_of,
    spec_of,
    split_name,
)
from skillweave.llm.wrappers import DefaultsBackend, MeteredBackend
from skillweave.schema.record import Json

logger = logging.getLogger(__name__)

REPLIES = Path("skillweave") / "replies.sqlite"
"""The reply cache, in the user's cache folder."""
UNPAID = tuple(provider for provider in PROVIDERS if provider not in NETWORK)
"""Providers that cost nothing."""
HOME_URLS = {kind.provider: kind.home for kind in (OpenAIEndpoint, AnthropicBackend, VllmBackend)}
KEY_OWNERS = {kind.key_variable: kind.home for kind in (OpenAIEndpoint, AnthropicBackend)}
"""The environment variable of a provider's key -> the provider's base URL."""
NO_LIMITS = EndpointConfig()
SAMPLING = frozenset(field.name for field in fields(Sampling))
FREE_SETTINGS = frozenset({"api_key_env", "stream", "fallback"})
"""Settings of an author that change no answer of its own."""
FREE_SERVE_SETTINGS = frozenset({"command", "port", "start_timeout_s"})
"""Settings of a server that a run starts which change no answer."""


class Connections:
    """Makes backends that share what they have to share."""

    def __init__(
        self,
        llm: LlmConfig,
        *,
        ledger: Ledger,
        folder: Path | None = None,
        slots: int | None = None,
        caches: bool = True,
    ) -> None:
        """Args:
        llm: The section `llm` of the configuration.
        ledger: Where costs are entered.
        folder: The runs on it share the budget; None keeps the budget in this process.
        slots: Requests under way over all endpoints; None is `llm.max_concurrency`.
        caches: Whether replies are kept, as `llm.cache` says.

        Raises:
            ConfigError: `llm.endpoints` names what is no endpoint.
        """
        self.ledger = ledger
        self._llm = llm
        self._budget = SharedBudget(folder, llm.budget_usd)
        self._limiters = EndpointLimiters(llm, slots or llm.max_concurrency)
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
        """Make an author's backend; nothing is sent.

        Args:
            author: The author's section.
            offline: The author in this process, for the provider `offline`.
            base_url: Stands in for the author's own.
            record_tokens: Keep tokens as sampled.
            is_last: Whether no other author can be asked. Only then is an endpoint that is down waited for.

        Raises:
            ConfigError: There is no key, no price for a budget, or no such provider.
            ArtifactError: The cassette or the cache cannot be used.
        """
        spec = spec_of(author, self._llm, base_url=base_url, record_tokens=record_tokens)
        is_paid = spec.is_network or spec.is_own
        return connect(
            spec,
            offline=offline,
            ledger=self.ledger,
            price=budget_price(spec.name, self._llm),
            budget=self._budget if is_paid else None,
            longest_answer=self._llm.max_answer_tokens,
            limiter=self._limiter(spec, is_last) if is_paid else None,
            # Nobody knows when the code of a backend of the user's own changes, so its replies are not kept.
            cache=self._cache if spec.is_network else None,
            record=None if self._is_replayed(spec) else self._record,
        )

    def metered(self, backend: Backend) -> Backend:
        """Wrap a backend that was made elsewhere, so that it is paid for like the others. Raises ConfigError."""
        own = OwnBackend(backend, str(getattr(backend, "name", f"own/{type(backend).__name__}")))
        price = budget_price(own.name, self._llm)
        paid = MeteredBackend(own, self.ledger, price, self._budget, self._llm.max_answer_tokens)
        return DefaultsBackend(paid, own.name.partition("/")[2], Sampling())

    def _is_replayed(self, spec: AuthorSpec) -> bool:
        """Whether the author answers from the very cassette that is recorded, which has its answers already."""
        if self._record is None or spec.provider != "replay":
            return False
        return Path(spec.model).resolve() == self._record.resolve()

    def _limiter(self, spec: AuthorSpec, is_last: bool) -> EndpointLimiter:
        warning = key_warning(spec)
        if warning is not None and warning not in self._warnings:
            self._warnings.add(warning)
            logger.warning(warning)
        limiter = self._limiters.of(spec)
        return limiter if is_last else limiter.impatient()


class EndpointLimiters:
    """One limiter for each endpoint that a process asks, with the limits that the configuration sets."""

    def __init__(self, llm: LlmConfig, slots: int) -> None:
        """Args:
        llm: The section `llm` of the configuration.
        slots: Requests under way over all endpoints.

        Raises:
            ConfigError: `llm.endpoints` names what is no endpoint.
        """
        for name in llm.endpoints:
            if name not in NETWORK and not is_http_url(name) and not is_own_provider(name):
                raise ConfigError(
                    f"llm.endpoints.{name} is neither a provider nor a base URL; {nearest(name, NETWORK)}"
                )
        self._limits = {name.rstrip("/"): limits for name, limits in llm.endpoints.items()}
        self._outage_s = llm.outage_s
        self._slots = SharedSemaphore(slots)
        self._limiters: dict[str, EndpointLimiter] = {}

    def of(self, spec: AuthorSpec) -> EndpointLimiter:
        """The limiter of an author's endpoint, the same for all authors there."""
        endpoint = (spec.base_url or HOME_URLS.get(spec.provider, spec.provider)).rstrip("/")
        if endpoint not in self._limiters:
            # The limits of a provider hold for each of its endpoints that has none of its own.
            limits = self._limits.get(endpoint) or self._limits.get(spec.provider) or NO_LIMITS
            self._limiters[endpoint] = EndpointLimiter(
                spec.provider if spec.base_url is None else _without_password(endpoint),
                self._slots,
                max_concurrency=limits.max_concurrency,
                rate=_rate_limiter(limits),
                outage_s=self._outage_s,
            )
        return self._limiters[endpoint]


def check_authors(llm: LlmConfig, authors: Iterable[AuthorConfig]) -> list[str]:
    """Check what a run would refuse, for a dry run. Nothing is sent, and nothing is written.

    A key is needed only by whoever asks, so one that is missing is no fault here.

    Args:
        llm: The section `llm` of the configuration.
        authors: All that the run may ask, those of `fallback` included.

    Returns:
        The environment variables that have to hold a key before the run, and hold none.

    Raises:
        ConfigError: An author has no price for a budget, or a provider that does not exist.
        ArtifactError: A cassette cannot be read.
    """
    EndpointLimiters(llm, llm.max_concurrency)
    missing: dict[str, None] = {}
    for author in authors:
        spec = spec_of(author, llm)
        budget_price(spec.name, llm)
        if spec.provider != "offline":
            try:
                provider_backend(spec, None, None)
            except MissingKeyError as error:
                missing[error.variable] = None
    return [*missing]


def key_note(variables: Sequence[str]) -> str:
    """What a dry run says of keys that `check_authors` found missing, in a line; empty if none is."""
    return f"before the run, set the key that it will need: {', '.join(variables)}" if variables else ""


def fixed_settings(author: AuthorConfig) -> dict[str, Json]:
    """All settings of an author that can change its answers: what a later run on the same folder has to have as well.

    Every setting counts that is not in `FREE_SETTINGS`, so that none is forgotten.
    """
    settings: dict[str, Json] = author.model_dump(mode="json", exclude={*FREE_SETTINGS, *SAMPLING})
    settings["sampling"] = {**sampling_of(author).settings()}
    settings["base_url"] = _lasting_address(author)
    spec = spec_of(author, LlmConfig())
    is_usual = spec.openai_api == replace(spec, api=None).openai_api
    settings["api"] = None if spec.provider == "openai" and is_usual else author.api
    serve = settings.get("serve")
    if isinstance(serve, dict):
        settings["serve"] = {name: value for name, value in serve.items() if name not in FREE_SERVE_SETTINGS}
    return settings


def _lasting_address(author: AuthorConfig) -> str | None:
    """The address of an author's endpoint; None for the usual one.

    A server on this machine is the same one whatever its port, which often changes with each start. Its path counts: a
    gateway has one for each provider.
    """
    url, home = map(_without_local_port, (author.base_url or "", HOME_URLS.get(split_name(author.model)[0], "")))
    return None if url in ("", home) else url


def _without_local_port(url: str) -> str:
    """An address without the slash at its end, and on this machine without its port."""
    url = url.rstrip("/")
    parts = urlsplit(url)
    return parts._replace(netloc="127.0.0.1").geturl() if is_loopback(parts.hostname or "") else url


def price_of(name: str, llm: LlmConfig) -> Price | None:
    """The price of the author `provider/model`; None if it is not known."""
    if name.partition("/")[0] in UNPAID:
        return FREE
    price = llm.prices.get(name)
    return None if price is None else Price(price.input, price.output, price.cached_input, price.cache_write)


def budget_price(name: str, llm: LlmConfig) -> Price | None:
    """As `price_of`.

    Raises:
        ConfigError: There is a budget, which cannot be kept without a price.
    """
    price = price_of(name, llm)
    if price is None and llm.budget_usd is not None:
        raise ConfigError(
            f"llm.budget_usd is {plain_number(llm.budget_usd)}, and nobody knows what {name!r} costs; "
            f"give llm.prices.{name} {{input, output}} in US dollars for a million tokens"
        )
    return price


def key_warning(spec: AuthorSpec) -> str | None:
    """A warning if another host gets the key that the provider's users have in their environment; else None.

    It may be a mistake, and whoever runs that host could use the key.
    """
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


def cache_path(llm: LlmConfig) -> Path | None:
    """The file of the reply cache; None if replies are not kept."""
    if isinstance(llm.cache, str):
        return Path(llm.cache)
    return _cache_folder() / REPLIES if llm.cache else None


def _cache_folder() -> Path:
    """The user's cache folder, where the platform has it."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if folder:
        return Path(folder)
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def _rate_limiter(limits: EndpointConfig) -> RateLimiter | None:
    if limits.requests_per_minute is None and limits.tokens_per_minute is None:
        return None
    return RateLimiter(limits.requests_per_minute, limits.tokens_per_minute)


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

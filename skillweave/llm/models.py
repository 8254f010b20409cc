"""From a name such as `openai/gpt-5`, or a section of the configuration, to a backend that can be asked.

The order of the wrappers matters: what is cached is not paid for, not limited and not retried; each try is paid for
by itself.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from skillweave.base.errors import ConfigError
from skillweave.config.llm import Api, AuthorConfig, LlmConfig
from skillweave.llm.backends.anthropic import AnthropicBackend
from skillweave.llm.backends.backend import Backend, OfflineAnswer, OfflineBackend, Sampling
from skillweave.llm.backends.endpoint import EndpointSettings
from skillweave.llm.backends.openai_chat import ENDPOINT, ChatBackend
from skillweave.llm.backends.openai_responses import ResponsesBackend
from skillweave.llm.backends.vllm import VllmBackend
from skillweave.llm.budget import SharedBudget
from skillweave.llm.ledger import Ledger, Price
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.replay import CachedBackend, RecordingBackend, ReplayBackend
from skillweave.llm.wrappers import DefaultsBackend, MeteredBackend, RetryingBackend
from skillweave.schema.record import Json

Provider = Literal["offline", "openai", "anthropic", "vllm", "replay"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
NETWORK: tuple[Provider, ...] = ("openai", "anthropic", "vllm")
"""Those that are reached over a network."""


@dataclass(frozen=True)
class AuthorSpec:
    """Who answers, as the configuration says it."""

    provider: Provider = "offline"
    model: str = "author"
    """For `replay` the path of the cassette."""
    base_url: str | None = None
    api_key_env: str | None = None
    """The environment variable that holds the key; None is the provider's usual one, and no key for other endpoints."""
    sampling: Sampling = field(default_factory=Sampling)
    timeout: float = 120.0
    """Seconds for one request."""
    max_retries: int = 4
    api: Api | None = None
    """For openai: which of its APIs; None is responses at its own endpoint and chat at others."""
    structured: bool = True
    """Send the answer's schema along, for endpoints that decode by it."""
    reasoning_effort: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Further fields of the request's body."""
    stream: bool = False
    """Read replies as a stream."""
    record_tokens: bool = False
    """Keep token ids and log probabilities as sampled, as far as the endpoint gives them."""

    @property
    def name(self) -> str:
        """`provider/model`."""
        return f"{self.provider}/{self.model}"

    @property
    def openai_api(self) -> Api:
        """Which of OpenAI's APIs is spoken."""
        is_home = self.base_url is None or self.base_url.rstrip("/") == ENDPOINT
        return self.api or ("responses" if is_home else "chat")

    @property
    def source(self) -> str:
        """All that decides answers besides the model, the sampling and what is asked: equal for equal authors."""
        known = {
            "base_url": self.base_url,
            "api": self.openai_api if self.provider == "openai" else None,
            "structured": self.structured,
            "reasoning_effort": self.reasoning_effort,
            "extra": dict(self.extra),
        }
        return json.dumps({name: value for name, value in known.items() if value is not None}, sort_keys=True)


def split_name(name: str) -> tuple[Provider, str]:
    """`provider/model` in two. Raises ConfigError."""
    provider, _, model = name.partition("/")
    for known in PROVIDERS:
        if provider == known and model:
            return known, model
    raise ConfigError(
        f"unknown author {name!r}; write provider/model with one of the providers {', '.join(PROVIDERS)}, "
        "for example 'offline/author' or 'openai/gpt-5'"
    )


def connect(
    spec: AuthorSpec,
    *,
    offline: OfflineAnswer | None = None,
    ledger: Ledger | None = None,
    price: Price | None = None,
    purse: SharedBudget | None = None,
    longest_answer: int | None = None,
    lane: EndpointLimiter | None = None,
    cache: Path | None = None,
    record: Path | None = None,
) -> Backend:
    """The backend that `spec` names. `offline` is the built-in author. Raises ConfigError, ArtifactError."""
    lane = lane or EndpointLimiter(spec.name)
    backend = _provider(spec, offline, lane)
    if ledger is not None:
        backend = MeteredBackend(backend, ledger, price, purse, longest_answer)
    if spec.provider in NETWORK:
        backend = RetryingBackend(backend, spec.max_retries, lane)
    if cache is not None and not spec.record_tokens:
        # A kept reply may lack the tokens, which are wanted as sampled.
        backend = CachedBackend(backend, cache, spec.source)
    if record is not None:
        backend = RecordingBackend(backend, record)
    return DefaultsBackend(backend, spec.model, spec.sampling)


def _provider(spec: AuthorSpec, offline: OfflineAnswer | None, lane: EndpointLimiter | None) -> Backend:
    if spec.provider == "replay":
        return ReplayBackend(Path(spec.model))
    if spec.provider == "offline":
        if offline is None:
            raise ConfigError(
                f"author {spec.name!r} cannot answer here; name another provider, for example 'openai/gpt-5'"
            )
        return OfflineBackend(offline, spec.model)
    if spec.api is not None and spec.provider != "openai":
        raise ConfigError(f"author {spec.name!r} has one API; leave out api, which is for openai authors")
    settings = EndpointSettings(
        base_url=spec.base_url,
        api_key_env=spec.api_key_env,
        timeout=spec.timeout,
        stream=spec.stream,
        structured=spec.structured,
        record_tokens=spec.record_tokens,
        reasoning_effort=spec.reasoning_effort,
        extra=spec.extra,
        lane=lane,
    )
    if spec.provider == "anthropic":
        return AnthropicBackend(spec.model, settings)
    if spec.provider == "vllm":
        return VllmBackend(spec.model, settings)
    return (ResponsesBackend if spec.openai_api == "responses" else ChatBackend)(spec.model, settings)


def spec_of(
    author: AuthorConfig, llm: LlmConfig, *, base_url: str | None = None, record_tokens: bool = False
) -> AuthorSpec:
    """What `connect` needs to know. Raises ConfigError for an unknown provider."""
    provider, model = split_name(author.model)
    return AuthorSpec(
        provider=provider,
        model=model,
        base_url=base_url or author.base_url,
        api_key_env=author.api_key_env,
        sampling=sampling_of(author),
        timeout=llm.timeout,
        max_retries=llm.max_retries,
        structured=author.structured,
        stream=author.stream,
        api=author.api,
        reasoning_effort=author.reasoning_effort,
        extra=author.extra,
        record_tokens=record_tokens,
    )


def sampling_of(author: AuthorConfig) -> Sampling:
    """The settings that it gives; what it leaves open is the provider's choice."""
    return Sampling(author.temperature, author.top_p, author.max_tokens, author.seed)

"""From a name such as `openai/gpt-5`, or a section of the configuration, to a backend that can be asked.

A provider is one of ours, or a class of the user's own: registered by a plug-in, offered by an installed package, or
named by its dotted path. The order of the wrappers matters: what is cached is not paid for, not limited and not
retried; each try is paid for by itself.
"""

import importlib
import json
import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from inspect import isawaitable
from pathlib import Path
from types import NoneType
from typing import Literal, get_args

from skillweave.base.command import one_line
from skillweave.base.errors import ConfigError, ProviderError, SkillweaveError
from skillweave.base.foreign import FOREIGN_ERRORS, error_in_words, is_interrupt
from skillweave.config.llm import Api, AuthorConfig, LlmConfig
from skillweave.llm.backends.anthropic import AnthropicBackend
from skillweave.llm.backends.backend import (
    Backend,
    OfflineAnswer,
    OfflineBackend,
    Reply,
    Request,
    Sampling,
    Stop,
    Tokens,
)
from skillweave.llm.backends.endpoint import EndpointSettings
from skillweave.llm.backends.openai_chat import ChatBackend, OpenAIEndpoint
from skillweave.llm.backends.openai_responses import ResponsesBackend
from skillweave.llm.backends.vllm import VllmBackend
from skillweave.llm.budget import SharedBudget
from skillweave.llm.ledger import Ledger, Price
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.replay import CachedBackend, RecordingBackend, ReplayBackend
from skillweave.llm.wrappers import DefaultsBackend, LimitedBackend, MeteredBackend, RetryingBackend
from skillweave.plugins import Registry
from skillweave.schema.record import Json
from skillweave.schema.trajectory import ToolCall

logger = logging.getLogger(__name__)

Provider = Literal["offline", "openai", "anthropic", "vllm", "replay"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
NETWORK: tuple[Provider, ...] = ("openai", "anthropic", "vllm")
"""Providers that are reached over a network, and may have to be paid."""
OWN_GROUP = "skillweave.backends"
"""The group of entry points by which an installed package offers backends: name -> class."""


@dataclass(frozen=True)
class AuthorSpec:
    """Who answers and how, as the configuration says it."""

    provider: str = "offline"
    """One of `PROVIDERS`, or the name or dotted path (`module:Class`) of a backend of the user's own."""
    model: str = "author"
    """For `replay` the path of the cassette."""
    base_url: str | None = None
    """None is the provider's own."""
    api_key_env: str | None = None
    """The environment variable that holds the key; None is the provider's, and no key for other endpoints."""
    sampling: Sampling = field(default_factory=Sampling)
    timeout: float = 120.0
    """Seconds for one request."""
    max_retries: int = 4
    """How often a failed request is sent again."""
    api: Api | None = None
    """For openai: which of its APIs; None is responses at its own endpoint and chat at others."""
    structured: bool = True
    """Send the answer's schema along, for endpoints that decode by it."""
    reasoning_effort: str | None = None
    """None leaves it to the model."""
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
    def is_network(self) -> bool:
        """Whether one of our own providers reaches it over a network."""
        return self.provider in NETWORK

    @property
    def is_own(self) -> bool:
        """Whether it is a backend of the user's own."""
        return self.provider not in PROVIDERS

    @property
    def is_home(self) -> bool:
        """Whether an openai author is at OpenAI's own endpoint."""
        return self.base_url is None or self.base_url.rstrip("/") == OpenAIEndpoint.home

    @property
    def openai_api(self) -> Api:
        """Which of OpenAI's APIs is spoken."""
        return self.api or ("responses" if self.is_home else "chat")

    @property
    def source(self) -> str:
        """All that decides answers, besides the model, the sampling and the request: a key for the reply cache."""
        settings = {
            "base_url": self.base_url,
            "api": self.openai_api if self.provider == "openai" else None,
            "structured": self.structured,
            "reasoning_effort": self.reasoning_effort,
            "extra": dict(self.extra),
        }
        return json.dumps({name: value for name, value in settings.items() if value is not None}, sort_keys=True)


BackendClass = Callable[[AuthorSpec], Backend]
"""A backend of the user's own: a class, or a function, that is called with what the configuration says."""
OWN_BACKENDS: Registry[BackendClass] = Registry("provider", {})
"""Backends that plug-ins register: provider -> class."""


def split_name(name: str) -> tuple[str, str]:
    """Split the name of an author.

    Args:
        name: `provider/model`; a provider of the user's own may be `module:Class`.

    Returns:
        Provider and model.

    Raises:
        ConfigError: There is no such provider, or no model.
    """
    provider, _, model = name.partition("/")
    if model and (provider in PROVIDERS or is_own_provider(provider)):
        return provider, model
    raise ConfigError(
        f"unknown author {name!r}; write provider/model with one of the providers {', '.join(PROVIDERS)}, for example "
        "'offline/author' or 'openai/gpt-5', or module:Class/model for a backend of your own"
    )


def is_own_provider(provider: str) -> bool:
    """Whether a name may be that of a backend of the user's own; its class is not loaded yet."""
    return ":" in provider or provider in OWN_BACKENDS or bool(entry_points(group=OWN_GROUP, name=provider))


def spec_of(
    author: AuthorConfig, llm: LlmConfig, *, base_url: str | None = None, record_tokens: bool = False
) -> AuthorSpec:
    """Read who answers from the configuration.

    Args:
        author: The author's section.
        llm: The section that holds for all authors.
        base_url: Stands in for the author's own, for example for a server that the run has started.
        record_tokens: Keep tokens as sampled.

    Raises:
        ConfigError: There is no such provider.
    """
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
    """The sampling that an author's section sets."""
    return Sampling(author.temperature, author.top_p, author.max_tokens, author.seed)


def connect(
    spec: AuthorSpec,
    *,
    offline: OfflineAnswer | None = None,
    ledger: Ledger | None = None,
    price: Price | None = None,
    budget: SharedBudget | None = None,
    longest_answer: int | None = None,
    limiter: EndpointLimiter | None = None,
    cache: Path | None = None,
    record: Path | None = None,
) -> Backend:
    """Build the backend of an author, with its wrappers. Nothing is sent.

    Args:
        spec: Who answers.
        offline: The author in this process, for the provider `offline`.
        ledger: Where costs are entered; None if they are not.
        price: None if it is not known.
        budget: What pays; None if nothing is paid for.
        longest_answer: With a budget, the limit of tokens for requests that set none.
        limiter: The endpoint's; None is one without limits.
        cache: The file of the reply cache; None if replies are not kept.
        record: A cassette that each reply is added to; None if there is none.

    Raises:
        ConfigError: There is no key, no such class, or a setting that the provider does not have.
        ArtifactError: The cassette or the cache cannot be used.
    """
    limiter = limiter or EndpointLimiter(spec.name)
    backend = provider_backend(spec, offline, limiter)
    if ledger is not None:
        backend = MeteredBackend(backend, ledger, price, budget, longest_answer)
    if spec.is_network or spec.is_own:
        backend = RetryingBackend(backend, spec.max_retries, limiter)
    if cache is not None and not spec.record_tokens:
        # A cached reply may lack the tokens.
        backend = CachedBackend(backend, cache, spec.source)
    if record is not None:
        backend = RecordingBackend(backend, record)
    return DefaultsBackend(backend, spec.model, spec.sampling)


def provider_backend(spec: AuthorSpec, offline: OfflineAnswer | None, limiter: EndpointLimiter | None) -> Backend:
    """The bare backend of an author, without wrappers but for the limiter. Raises ConfigError, ArtifactError."""
    if spec.api is not None and spec.provider != "openai":
        raise ConfigError(f"author {spec.name!r} has one API; leave out api, which is for openai authors")
    if spec.is_own:
        own = OwnBackend.load(spec)
        return own if limiter is None else LimitedBackend(own, limiter)
    if spec.provider == "replay":
        return ReplayBackend(Path(spec.model))
    if spec.provider == "offline":
        if offline is None:
            raise ConfigError(
                f"author {spec.name!r} cannot answer here; name another provider, for example 'openai/gpt-5'"
            )
        return OfflineBackend(offline, spec.model)
    settings = EndpointSettings(
        base_url=spec.base_url,
        api_key_env=spec.api_key_env,
        timeout=spec.timeout,
        stream=spec.stream,
        structured=spec.structured,
        record_tokens=spec.record_tokens,
        reasoning_effort=spec.reasoning_effort,
        extra=spec.extra,
        limiter=limiter,
    )
    if spec.provider == "anthropic":
        return AnthropicBackend(spec.model, settings)
    if spec.provider == "vllm":
        return VllmBackend(spec.model, settings)
    return (ResponsesBackend if spec.openai_api == "responses" else ChatBackend)(spec.model, settings)


class OwnBackend:
    """A backend of the user's own, under the name that the configuration gives it.

    What its code raises becomes an error that says which backend, and where in it.
    """

    def __init__(self, inner: Backend, name: str) -> None:
        """Raises ConfigError if the object is no backend."""
        missing = [method for method in ("complete", "close") if not callable(getattr(inner, method, None))]
        if missing:
            raise ConfigError(
                f"the backend of author {name!r} has no {' and no '.join(missing)}; "
                "give its class `async def complete(self, request)` and `async def close(self)`"
            )
        self.name = name
        self._inner = inner

    @classmethod
    def load(cls, spec: AuthorSpec) -> "OwnBackend":
        """Load and make the backend of an author. Raises ConfigError."""
        own = own_class(spec.provider)
        try:
            inner = own(spec)
        except SkillweaveError:
            raise
        except FOREIGN_ERRORS as error:  # of the user's own code
            if is_interrupt(error):
                raise
            raise ConfigError(f"the backend of author {spec.name!r} cannot be made: {_describe(error)}") from error
        return cls(inner, spec.name)

    async def complete(self, request: Request) -> Reply:
        try:
            answer: object = self._inner.complete(request)
            reply = await answer if isawaitable(answer) else answer
        except SkillweaveError:
            raise
        except FOREIGN_ERRORS as error:  # of the user's own code
            if is_interrupt(error):
                raise
            raise ProviderError(f"{self.name} failed: {_describe(error)}") from error
        return _checked_reply(reply, self.name)

    async def close(self) -> None:
        """Close it. All is answered by now, so an error is a warning and no more."""
        try:
            ended: object = self._inner.close()
            if isawaitable(ended):
                await ended
        except FOREIGN_ERRORS as error:  # of the user's own code
            if is_interrupt(error):
                raise
            logger.warning(one_line(f"{self.name} could not be closed: {_describe(error)}"))


_REPLY_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "input_tokens": (int,),
    "cached_input_tokens": (int,),
    "cache_write_tokens": (int,),
    "output_tokens": (int,),
    "model": (str,),
    "stop": (str,),
    "tool_calls": (tuple, list),
    "reasoning": (str, NoneType),
    "refusal": (str, NoneType),
    "tokens": (Tokens, NoneType),
    "blocks": (tuple, list),
    "written": (str, NoneType),
    "reasoning_field": (str,),
    "fields": (Mapping,),
}
"""What a reply may hold. Nothing checks a dataclass of the user's: `Reply(text=5)` broke where the text was read."""


def _checked_reply(reply: object, name: str) -> Reply:
    """The reply of a user's own backend. Raises ProviderError if it is none."""
    if not isinstance(reply, Reply):
        raise ProviderError(f"{name} failed: its reply is {type(reply).__name__}, it must be a Reply")
    for part, types in _REPLY_TYPES.items():
        value = getattr(reply, part)
        if not isinstance(value, types):
            allowed = " or ".join("None" if kind is NoneType else kind.__name__ for kind in types)
            raise ProviderError(f"{name} failed: its reply's {part} is {type(value).__name__}, it must be a {allowed}")
    if reply.stop not in get_args(Stop):
        raise ProviderError(
            f"{name} failed: its reply's stop is {reply.stop!r}; give one of {', '.join(get_args(Stop))}"
        )
    for call in reply.tool_calls:
        if not isinstance(call, ToolCall):
            kind = type(call).__name__  # type: ignore[unreachable]
            raise ProviderError(f"{name} failed: its reply's tool_calls hold {kind}, they must hold ToolCall")
    return reply


def own_class(provider: str) -> BackendClass:
    """The class of a backend of the user's own.

    Args:
        provider: The name of a registered one or of an entry point, or `module:Class`.

    Raises:
        ConfigError: It cannot be loaded, or is no class.
    """
    registered = OWN_BACKENDS.get(provider)
    if registered is not None:
        return registered
    place = next((entry.value for entry in entry_points(group=OWN_GROUP, name=provider)), provider)
    module, _, attribute = place.partition(":")
    if not module or not attribute:
        raise ConfigError(f"the backend {provider!r} names no class; write MODULE:CLASS/NAME, such as mine:Echo/one")
    try:
        loaded: object = getattr(importlib.import_module(module), attribute)
    except FOREIGN_ERRORS as error:  # of the user's own module
        if is_interrupt(error):
            raise
        raise ConfigError(f"the backend {provider!r} cannot be loaded: {_describe(error)}") from error
    if not callable(loaded):
        raise ConfigError(f"the backend {provider!r} is no class, but {type(loaded).__name__}; write MODULE:CLASS/NAME")
    made: BackendClass = loaded
    return made


def _describe(error: BaseException) -> str:
    """What was raised, and where in the user's code."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in (__file__, importlib.__file__) and not frame.filename.startswith("<frozen")
    ]
    where = f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{error_in_words(error)}{where}"

"""Lanes: one for each endpoint that a process asks, with the limits that the configuration sets it."""

from urllib.parse import urlsplit

from skillweave.config.authors import EndpointConfig, LlmConfig, is_http_url
from skillweave.config.load import nearest
from skillweave.errors import ConfigError
from skillweave.llm.backends.anthropic import AnthropicBackend
from skillweave.llm.backends.openai import OpenAIEndpoint
from skillweave.llm.backends.vllm import VllmBackend
from skillweave.llm.gate import Gate
from skillweave.llm.lane import Lane
from skillweave.llm.models import NETWORK, AuthorSpec
from skillweave.llm.pace import Pace

HOMES = {kind.provider: kind.home for kind in (OpenAIEndpoint, AnthropicBackend, VllmBackend)}
NO_LIMITS = EndpointConfig()


class Lanes:
    def __init__(self, llm: LlmConfig, slots: int) -> None:
        """`slots` requests at once over all lanes. Raises ConfigError for limits of what is no endpoint."""
        for name in llm.endpoints:
            if name not in NETWORK and not is_http_url(name):
                raise ConfigError(
                    f"llm.endpoints.{name} is neither a provider nor a base URL; {nearest(name, NETWORK)}"
                )
        self._limits = {name.rstrip("/"): limits for name, limits in llm.endpoints.items()}
        self._outage_s = llm.outage_s
        self._gate = Gate(slots)
        self._lanes: dict[str, Lane] = {}

    def lane(self, spec: AuthorSpec) -> Lane:
        """The lane of its endpoint, the same for all authors there."""
        endpoint = (spec.base_url or HOMES[spec.provider]).rstrip("/")
        if endpoint not in self._lanes:
            # What is said of a provider holds for each of its endpoints that nothing else is said of.
            limits = self._limits.get(endpoint) or self._limits.get(spec.provider) or NO_LIMITS
            self._lanes[endpoint] = Lane(
                spec.provider if spec.base_url is None else _shown(endpoint),
                self._gate,
                max_concurrency=limits.max_concurrency,
                pace=_pace(limits),
                outage_s=self._outage_s,
            )
        return self._lanes[endpoint]


def _pace(limits: EndpointConfig) -> Pace | None:
    if limits.requests_per_minute is None and limits.tokens_per_minute is None:
        return None
    return Pace(limits.requests_per_minute, limits.tokens_per_minute)


def _shown(url: str) -> str:
    """Without a password, which an address may hold."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

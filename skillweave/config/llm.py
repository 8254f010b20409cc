"""The sections of `config.yaml` that say which models answer,
where they are and how much load they get; and the base of all sections.
"""

import unicodedata
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from skillweave.schema.record import Json

MAX_SEED = 2**63 - 1


class ConfigSection(BaseModel):
    """The base of all sections. Unknown keys are errors; nothing is coerced except a whole number to a float."""

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


def has_controls(text: str) -> bool:
    """Whether a text has control characters or lone surrogates."""
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


Api = Literal["chat", "responses"]


class AuthorConfig(ConfigSection):
    model: str = "offline/author"
    """`provider/model`: offline/author, openai/<model>, anthropic/<model>, vllm/<model>, replay/<cassette>, or
    module:Class/<model> for a backend of your own."""
    base_url: str | None = None
    """Endpoint with the provider's API; null: the provider's own, for vllm http://127.0.0.1:8000/v1."""
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that holds the key; null: OPENAI_API_KEY or ANTHROPIC_API_KEY for the provider's own
    endpoint, and no key for others."""
    api: Api | None = None
    """For openai: chat completions or responses; null: responses at OpenAI's own endpoint, chat at others."""
    structured: bool = True
    """Send the schema of the answer to endpoints that decode by it. If an endpoint refuses it, ask without."""
    stream: bool = False
    """Read replies as a stream."""
    reasoning_effort: str | None = Field(default=None, pattern=r"^[a-z]{1,16}$")
    """How much a reasoning model should think: low, medium, high, or another value that it knows; null: its default."""
    extra: dict[str, Json] = Field(default_factory=dict)
    """Further fields of the request, as the endpoint defines them: `{top_k: 20}`."""
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, ge=-MAX_SEED, le=MAX_SEED)

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is not None and not is_http_url(value):
            raise ValueError("must be a URL such as http://127.0.0.1:8000/v1")
        if value is not None and "@" in urlsplit(value).netloc:
            # The URL is written to the manifest; a key must never be.
            raise ValueError("must hold no user or password; api_key_env names the variable that holds a key")
        if value is not None and ("?" in value or "#" in value):
            raise ValueError("must end with its path, without ? or #: what is asked for is appended to it")
        return value

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value


class RoleConfig(AuthorConfig):
    fallback: list[AuthorConfig] = Field(default_factory=list)
    """Authors to ask next, in this order, if this one cannot be reached, refuses, or gives no usable answer."""


class PriceConfig(ConfigSection):
    """Prices in US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    """Price of prompt tokens that the provider read from its cache; null: as `input`."""
    cache_write: float | None = Field(default=None, ge=0)
    """Price of prompt tokens that the provider wrote to its cache; null: as `input`."""


class EndpointConfig(ConfigSection):
    """Limits of the load on one endpoint; null: no limit in addition to the common ones."""

    max_concurrency: int | None = Field(default=None, ge=1)
    """Requests under way at once."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Tokens of prompts and answers together."""

    def shared_by(self, workers: int) -> "EndpointConfig":
        """The part of each of so many workers."""
        most, requests, tokens = self.max_concurrency, self.requests_per_minute, self.tokens_per_minute
        return EndpointConfig(
            max_concurrency=None if most is None else max(1, most // workers),
            requests_per_minute=None if requests is None else requests / workers,
            tokens_per_minute=None if tokens is None else tokens / workers,
        )


class LlmConfig(ConfigSection):
    textual: RoleConfig = RoleConfig()
    """Answers about meaning: domains, entities, contracts, policies, stories."""
    coding: RoleConfig = RoleConfig()
    """Writes code: data generators, servers, tests."""
    judge: RoleConfig | None = None
    """Judges whether a rule's sentence says what its SQL does, and how a conversation went. null: nothing is judged."""
    max_concurrency: int = Field(default=16, ge=1)
    """Requests under way at once."""
    max_retries: int = Field(default=4, ge=0)
    timeout: float = Field(default=120.0, gt=0)
    """Seconds for one request."""
    endpoints: dict[str, EndpointConfig] = Field(default_factory=dict)
    """Limits of single endpoints, by provider (`openai`) or by base URL."""
    outage_s: float = Field(default=600.0, gt=0)
    """If an endpoint is down that has answered before, the run waits for it this many seconds; then it stops, with
    everything saved. One that never answered is tried for five seconds."""
    continuations: int = Field(default=3, ge=0)
    """How often an answer that is cut off at the token limit is continued."""
    budget_usd: float | None = Field(default=None, ge=0)
    """Most that all runs on one outputs folder may cost together; a run stops before it would exceed this. null: no
    limit."""
    max_answer_tokens: int = Field(default=16384, ge=1)
    """With a budget: the longest answer if an author's `max_tokens` is not set. The budget reserves its cost."""
    prices: dict[str, PriceConfig] = Field(default_factory=dict)
    """`provider/model` -> {input, output}. Without prices the cost is unknown, and a budget is refused."""
    cache: bool | str = True
    """Keep replies of paid providers in one SQLite file that all runs share, so that no answer is paid for twice. true:
    `skillweave/replies.sqlite` in the user's cache folder; a path: that file; false: keep none."""
    record: str | None = None
    """A cassette (JSONL) to add every reply to; `replay/<cassette>` answers from it."""

    def shared_by(self, workers: int) -> "LlmConfig":
        """The part of the limits that each of so many workers has. A worker may send one request at least."""
        endpoints = {name: endpoint.shared_by(workers) for name, endpoint in self.endpoints.items()}
        return self.model_copy(
            update={"max_concurrency": max(1, self.max_concurrency // workers), "endpoints": endpoints}
        )


class ServeConfig(ConfigSection):
    """A vLLM server that the run starts, and stops when it ends."""

    command: list[str] = Field(default_factory=lambda: ["vllm"], min_length=1)
    """The command of vLLM, for example the path of the program in its own environment."""
    port: int = Field(default=0, ge=0, le=65535)
    """0: any free port."""
    tool_call_parser: str = "hermes"
    """vLLM's parser of tool calls in the model's text; see vLLM's list."""
    reasoning_parser: str | None = None
    """vLLM's parser of reasoning; see vLLM's list. null: none. Thoughts then stand in the model's text, and are told
    from its words here; only one that began in the prompt and is cut off cannot be told from words."""
    arguments: list[str] = Field(default_factory=list)
    """Further arguments of `vllm serve`."""
    start_timeout_s: float = Field(default=900.0, gt=0)
    """Seconds within which the server has to answer."""


class SpeakerConfig(AuthorConfig):
    replay_reasoning: bool = False
    """Send a reasoning model its own earlier reasoning in later turns. What was signed, and what came in a field beside
    calls, goes back in any case."""
    serve: ServeConfig | None = None
    """For vllm: start a server; null: use the one at `base_url`."""


def is_http_url(text: str) -> bool:
    """Whether a text can be the address of an HTTP endpoint."""
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and has_port and text.split() == [text]

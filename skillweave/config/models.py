"""The sections of `config.yaml`. Every key has a default, and its docstring is its comment in a new file."""

import unicodedata
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from skillweave.schema.record import Json

TaskMode = Literal["single", "cross_domain", "both"]
Runner = Literal["threads", "dask", "ray"]

MAX_SEED = 2**63 - 1
MAX_SEED_CHARS = 200
YEARS = range(1970, 2901)
"""Within these, clocks can move on for as long as histories and tasks need."""

SEEDS = [
    "dental clinic",
    "pharmacy",
    "medical laboratory",
    "health insurance",
    "airline",
    "hotel",
    "car rental",
    "travel insurance",
]


class Section(BaseModel):
    """Strict: nothing unknown, nothing coerced but a whole number to a float."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


class DomainsConfig(Section):
    seeds: list[str] = Field(default_factory=lambda: list(SEEDS), min_length=1)
    """Service areas to start from, in a few words each."""

    @field_validator("seeds")
    @classmethod
    def _are_names(cls, value: list[str]) -> list[str]:
        for index, seed in enumerate(value):
            if not seed.strip() or len(seed) > MAX_SEED_CHARS or _has_controls(seed):
                raise ValueError(f"should hold names of 1 to {MAX_SEED_CHARS} printable characters, not {seed[:40]!r}")
            if seed.strip().casefold() in (other.strip().casefold() for other in value[:index]):
                raise ValueError(f"should name each service area once, and {seed!r} stands twice")
        return value


class AuthorConfig(Section):
    model: str = "offline/author"
    """`provider/model`: offline/author, openai/<model>, replay/<cassette>."""
    base_url: str | None = None
    """Endpoint of an OpenAI-compatible server; null is the provider's own."""
    api_key_env: str = Field(default="OPENAI_API_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that holds the key."""
    structured: bool = True
    """Send the schema of the answer along, for endpoints that decode by it."""
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, ge=-MAX_SEED, le=MAX_SEED)

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is not None and not is_http_url(value):
            raise ValueError("must be a URL such as http://127.0.0.1:8000/v1")
        return value

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value


class PriceConfig(Section):
    input: float = Field(ge=0)
    """US dollars for a million tokens."""
    output: float = Field(ge=0)


class LlmConfig(Section):
    textual: AuthorConfig = AuthorConfig()
    """Answers about meaning: domains, entities, contracts, policies, stories."""
    coding: AuthorConfig = AuthorConfig()
    """Writes code: data generators, servers, tests."""
    judge: AuthorConfig = AuthorConfig()
    """Judges where something is judged."""
    max_concurrency: int = Field(default=16, ge=1)
    """Requests under way at once."""
    max_retries: int = Field(default=4, ge=0)
    timeout: float = Field(default=120.0, gt=0)
    """Seconds for one request."""
    budget_usd: float | None = Field(default=None, ge=0)
    """Stop asking when this much is spent; null: no limit."""
    prices: dict[str, PriceConfig] = Field(default_factory=dict)
    """`provider/model` -> {input, output}, for the cost in reports."""
    cache: bool = True
    """Keep replies of paid providers, so that no answer is paid for twice."""


class RolloutConfig(Section):
    agent: AuthorConfig = AuthorConfig(model="offline/oracle")
    user: AuthorConfig = AuthorConfig(model="offline/user")
    max_turns: int = Field(default=40, ge=1)
    max_calls: int = Field(default=60, ge=1)
    timeout_s: float = Field(default=600.0, gt=0)
    trials: int = Field(default=1, ge=1)
    max_concurrency: int = Field(default=8, ge=1)
    max_parallel_agents: int = Field(default=8, ge=1)
    record_tokens: bool = False


class EvaluationConfig(Section):
    max_workers: int = Field(default=2, ge=1)
    enable_subjective: bool = False


class ExecutionConfig(Section):
    runner: Runner = "threads"
    """Where tasks run: threads, dask, ray."""
    workers: int = Field(default=2, ge=1)


class SandboxConfig(Section):
    """Limits on generated code."""

    memory_mb: int = Field(default=1024, ge=64)
    cpu_s: float = Field(default=60.0, gt=0)
    wall_s: float = Field(default=120.0, gt=0)
    processes: int = Field(default=32, ge=1)
    output_mb: int = Field(default=16, ge=1)


class Config(Section):
    seed: int = Field(default=7, ge=0, le=MAX_SEED)
    """All randomness comes from it."""
    task_mode: TaskMode = "single"
    """Which steps run: single, cross_domain, both."""
    simulation_time: str = "2025-03-17 09:00:00"
    """The clock of all worlds, UTC."""
    outputs_dir: str = Field(default="outputs", min_length=1)
    domains: DomainsConfig = DomainsConfig()
    llm: LlmConfig = LlmConfig()
    steps: dict[str, dict[str, Json]] = Field(default_factory=dict)
    """Parameters of steps by full name; `llm` in one overrides its authors. See `list-steps`."""
    rollout: RolloutConfig = RolloutConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    execution: ExecutionConfig = ExecutionConfig()
    sandbox: SandboxConfig = SandboxConfig()

    @field_validator("simulation_time", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        # YAML reads an unquoted time as a datetime.
        return value.strftime("%Y-%m-%d %H:%M:%S") if isinstance(value, datetime) else value

    @field_validator("simulation_time")
    @classmethod
    def _is_time(cls, value: str) -> str:
        try:
            time = datetime.strptime(value, "%Y-%m-%d %H:%M:%S")
            is_time = time.strftime("%Y-%m-%d %H:%M:%S") == value
        except ValueError:
            is_time = False
        if not is_time:
            raise ValueError("must have the form YYYY-MM-DD HH:MM:SS")
        if time.year not in YEARS:
            raise ValueError(f"must be in the years {YEARS[0]} to {YEARS[-1]}")
        return value

    @field_validator("outputs_dir")
    @classmethod
    def _is_path(cls, value: str) -> str:
        if _has_controls(value):
            raise ValueError("must be a path without control characters")
        return value


def is_http_url(text: str) -> bool:
    """Whether it can be the address of an HTTP endpoint."""
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and has_port and text.split() == [text]


def _has_controls(text: str) -> bool:
    """Control characters, and what no file can hold."""
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)

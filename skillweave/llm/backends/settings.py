"""Settings: what all backends that are reached over a network are told, and the rules that hold for them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillweave.errors import ConfigError
from skillweave.llm.lane import Lane
from skillweave.schema.record import Json

NO_KEY = "none"
"""What is sent to an endpoint that asks for no key; never the key of another endpoint."""
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
OURS = ("model", "messages", "input", "instructions", "system", "stream", "tools", "tool_choice", "n")
"""Fields of a body that are nobody's to set but the request's."""


@dataclass(frozen=True)
class Settings:
    base_url: str | None = None
    """None is the provider's own."""
    api_key_env: str | None = None
    timeout: float = 120.0
    """Seconds for one request."""
    stream: bool = False
    structured: bool = True
    """Send the answer's schema along."""
    record_tokens: bool = False
    reasoning_effort: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Further fields of the body."""
    lane: Lane | None = None


def read_key(variable: str | None) -> str:
    """The key in an environment variable; without one, what stands for no key. Raises ConfigError."""
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"the environment variable {variable!r} holds no API key; set it, or name another one")
    return key


def check_extra(extra: Mapping[str, Json]) -> None:
    """Raises ConfigError for a field that is not the user's to set in this way."""
    for name in extra:
        if name in LIMITS:
            raise ConfigError(f"extra.{name} would pass by the budget; give max_tokens beside extra in its place")
        if name in OURS:
            raise ConfigError(
                f"extra.{name} would change what is asked; extra may hold any field but {', '.join((*OURS, *LIMITS))}"
            )


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The body with further fields; where both have an object, it has the fields of both."""
    found = dict(body)
    for name, value in extra.items():
        known = found.get(name)
        is_nested = isinstance(known, Mapping) and isinstance(value, Mapping)
        found[name] = merged(known, value) if is_nested else value  # type: ignore[arg-type]
    return found

"""From a section of the configuration to what a backend is connected by."""

from skillweave.config.authors import AuthorConfig, LlmConfig
from skillweave.llm.models import AuthorSpec, split_name
from skillweave.llm.request import Sampling


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

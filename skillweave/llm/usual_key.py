"""Whether another host is sent the key that a provider's own users have in their environment.

It may be a mistake, and whoever runs that host could use it.
"""

from urllib.parse import urlsplit

from skillweave.llm.backends.anthropic import AnthropicBackend
from skillweave.llm.backends.openai import OpenAIEndpoint
from skillweave.llm.models import AuthorSpec

HOMES = {kind.key_variable: kind.home for kind in (OpenAIEndpoint, AnthropicBackend)}


def key_warning(spec: AuthorSpec) -> str | None:
    """What to tell the user; None where nothing is to be said."""
    home = HOMES.get(spec.api_key_env)
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

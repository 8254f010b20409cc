"""An endpoint that points elsewhere is not followed: what is asked, and the key, are for it alone."""

import pytest

from skillweave.base.errors import ProviderError
from skillweave.llm.models import Provider

from ..scripted import Act, ScriptedServer
from .conftest import Complete


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("stream", [False, True])
def test_nobody_is_followed_elsewhere(
    provider: Provider, status: int, stream: bool, complete: Complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_KEY", "sk-of-the-first")
    with ScriptedServer(Act(b"{}")) as second:
        away = Act(status=status, headers={"Location": f"{second.url}/v1/chat/completions"})
        with (
            ScriptedServer(away) as first,
            pytest.raises(ProviderError, match=f"status {status}: .*{second.url}/v1.*as base_url"),
        ):
            complete(provider, first, stream=stream, api_key_env="OWN_KEY", max_retries=3)
        assert len(first.heard) == 1
    assert second.heard == []

import asyncio
from typing import Any

import pytest

from skillweave.base.errors import ConfigError, OutageError
from skillweave.config.llm import AuthorConfig, LlmConfig
from skillweave.llm import wrappers as retry
from skillweave.llm.backends.backend import Request
from skillweave.llm.connections import Connections, EndpointLimiters
from skillweave.llm.ledger import Ledger
from skillweave.llm.limits import circuit_breaker as circuit
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.models import AuthorSpec, Provider
from skillweave.schema.trajectory import Message

URL = "http://models.example/v1"
REQUEST = Request(messages=(Message(role="user", content="Hello?"),), model="m")


def limiters(**endpoints: Any) -> EndpointLimiters:
    return EndpointLimiters(LlmConfig.model_validate({"endpoints": endpoints}), 50)


def spec(provider: Provider = "openai", base_url: str | None = None, model: str = "m") -> AuthorSpec:
    return AuthorSpec(provider=provider, model=model, base_url=base_url)


def most_at_once(limiter: EndpointLimiter) -> int:
    """Passes that are given before anybody leaves."""

    async def entered() -> int:
        waiting = [asyncio.create_task(limiter.acquire(0)) for _ in range(20)]
        await asyncio.sleep(0.01)
        done = [task for task in waiting if task.done()]
        for task in waiting:
            task.cancel()
        return len(done)

    return asyncio.run(entered())


def test_authors_of_one_endpoint_share_its_lane() -> None:
    found = limiters()
    assert found.of(spec(model="a")) is found.of(spec(model="b"))
    assert found.of(spec(base_url=URL)) is found.of(spec(base_url=f"{URL}/"))
    assert found.of(spec()) is not found.of(spec(base_url=URL))
    assert found.of(spec()) is not found.of(spec("anthropic"))


def test_limits_are_set_by_provider_or_more_closely_by_address() -> None:
    found = limiters(vllm={"max_concurrency": 3}, **{f"{URL}/": {"max_concurrency": 2}})
    assert most_at_once(found.of(spec("vllm"))) == 3
    assert most_at_once(found.of(spec("vllm", "http://elsewhere.example/v1"))) == 3
    assert most_at_once(found.of(spec("vllm", URL))) == 2
    assert most_at_once(found.of(spec())) == 20


def test_a_providers_own_address_is_its_endpoint() -> None:
    own = "http://127.0.0.1:8000/v1"
    found = limiters(**{own: {"max_concurrency": 2}})
    assert most_at_once(found.of(spec("vllm"))) == 2
    assert found.of(spec("vllm")) is found.of(spec("vllm", f"{own}/"))


def test_limits_a_minute_are_kept() -> None:
    assert most_at_once(limiters(openai={"requests_per_minute": 80}).of(spec())) == 4


def test_limits_of_what_is_no_endpoint_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"llm.endpoints.opena1 .*did you mean 'openai'"):
        limiters(opena1={"max_concurrency": 3})


def test_a_password_in_an_address_is_not_shown() -> None:
    assert limiters().of(spec(base_url="http://me:secret@models.example/v1")).name == URL


def test_who_is_followed_by_another_author_does_not_wait_for_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit, "FIRST_INTERVAL", 30.0)
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.01)
    nobody = AuthorConfig(model="vllm/m", base_url="http://127.0.0.1:9/v1")

    async def run() -> None:
        llm = LlmConfig(cache=False, outage_s=0.3)
        connections = Connections(llm, ledger=Ledger())
        first, last = connections.connect(nobody, is_last=False), connections.connect(nobody)
        with pytest.raises(OutageError, match="Connection refused; it never answered; "):
            await first.complete(REQUEST)
        with pytest.raises(OutageError, match=r"never answered in 0 seconds"):
            await last.complete(REQUEST)
        await first.close()
        await last.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "variable", "is_said"),
    [
        (URL, "OPENAI_API_KEY", True),
        (URL, "ANTHROPIC_API_KEY", True),
        ("https://notopenai.com/v1", "OPENAI_API_KEY", True),
        ("https://api.openai.com.models.example/v1", "OPENAI_API_KEY", True),
        ("https://eu.api.openai.com/v1", "OPENAI_API_KEY", False),
        ("https://api.anthropic.com", "ANTHROPIC_API_KEY", False),
        (URL, "MY_KEY", False),
        (URL, None, False),
        (None, "OPENAI_API_KEY", False),
    ],
)
def test_it_is_said_once_that_another_host_gets_a_usual_key(
    url: str | None,
    variable: str | None,
    is_said: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, "sk-secret")
    connections = Connections(LlmConfig(cache=False), ledger=Ledger())
    for model in ("openai/a", "openai/b"):
        connections.connect(AuthorConfig(model=model, base_url=url, api_key_env=variable))
    said = [text for text in caplog.messages if "is sent the key in" in text]
    assert len(said) == int(is_said)
    assert "sk-secret" not in caplog.text

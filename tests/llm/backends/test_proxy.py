"""Which proxy a request goes through, and what is said if it does not go through."""

import asyncio
import time

import pytest

from skillweave.base.errors import AccessError, ConfigError, ProviderError, UnreachedError
from skillweave.base.proxy import proxy_for
from skillweave.llm.backends.backend import Reply
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.models import AuthorSpec, connect

from ..protocols import a_completion
from ..scripted import Act, ScriptedServer, fault, reply
from .conftest import a_request

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
FINE = reply(a_completion())


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def ask(url: str, max_retries: int = 0) -> Reply:
    async def asked() -> Reply:
        spec = AuthorSpec("openai", "m", base_url=url, timeout=5.0, max_retries=max_retries)
        backend = connect(spec, limiter=EndpointLimiter(spec.name))
        try:
            return await backend.complete(a_request())
        finally:
            await backend.close()

    return asyncio.run(asked())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("value", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "socks4://x:1", "//:: no address"])
def test_what_stays_on_this_machine_goes_through_no_proxy(
    host: str, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with ScriptedServer(FINE) as server:
        url = f"{server.url}/v1".replace("127.0.0.1", host)
        assert ask(url, max_retries=0).text == "Hi."


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_all_else_goes_through_the_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(FINE) as proxy:
        monkeypatch.setenv(variable, proxy.url.replace("//", "//user:word@"))
        assert ask("http://model.example/v1").text == "Hi."
        assert proxy.heard[0].path == "http://model.example/v1/chat/completions"
        assert proxy.heard[0].headers["proxy-authorization"] == "Basic dXNlcjp3b3Jk"


@pytest.mark.parametrize(
    ("excepted", "is_direct"),
    [
        ("*", True),
        ("model.example", True),
        (".example", True),
        ("*.example", True),
        ("other.example, model.example:80", True),
        ("model.example:81", False),
        ("del.example", False),
        ("192.0.2.0/24", False),
        ("", False),
    ],
)
def test_no_proxy_excepts_hosts(excepted: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", excepted)
    assert (proxy_for("http://model.example/v1") is None) is is_direct


@pytest.mark.parametrize("url", ["http://192.0.2.7/v1", "http://[2001:db8::7]:8000/v1"])
def test_no_proxy_excepts_networks(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5h://proxy.example:1080")
    with pytest.raises(ConfigError):
        proxy_for(url)
    monkeypatch.setenv("NO_PROXY", "192.0.2.0/24,2001:db8::/32")
    assert proxy_for(url) is None


@pytest.mark.parametrize("url", ["http://[::1]:8000/v1", "http://[::ffff:127.0.0.1]/v1", "https://localhost./v1"])
def test_other_words_for_this_machine(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://proxy.example:1080")
    assert proxy_for(url) is None


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize(
    "value",
    [
        "socks5://me:secret@proxy.example:1080",
        "socks5h://proxy.example",
        "socks4://proxy.example:1080",
        "htp://me:secret@proxy.example",
        "http://proxy.example:99999",
        "http://proxy.example:port",
        "http//proxy.example:3128",
        "http://",
        "http://me:se#cret@proxy.example:1",
        "http://[::1",
        "http://pro xy:1",
    ],
)
def test_a_proxy_that_cannot_be_used_is_wrong_configuration(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        ask("https://model.example/v1")
    message = str(caught.value)
    assert message.startswith(f"{variable} is '")
    assert "cret" not in message
    assert f"set {variable} to one such as http://proxy.example:3128, unset it, or" in message


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("act", "kind", "why"),
    [
        (fault(407, "who are you"), AccessError, "give the proxy's user and password in its variable"),
        (fault(403, "not there"), AccessError, "whether the proxy allows the address"),
        (fault(502, "no way on"), UnreachedError, "it never answered in "),
    ],
)
def test_what_a_proxy_says_names_the_proxy(
    scheme: str, act: Act, kind: type[ProviderError], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer(act) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url.replace("//", "//me:secret@"))
        with pytest.raises(kind) as caught:
            ask(f"{scheme}://model.example/v1", max_retries=4)
    message = str(caught.value)
    assert f"status {act.status}" in message
    assert f"through the proxy {proxy.url} of ALL_PROXY" in message
    assert why in message
    assert "secret" not in message


def test_a_proxy_that_is_down_is_named_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    began = time.monotonic()
    with pytest.raises(
        UnreachedError, match=r"Connection refused, through the proxy http://127.0.0.1:9 of https_proxy"
    ):
        ask("https://model.example/v1", max_retries=4)
    assert time.monotonic() - began < 20

"""What leaves the process is what was rendered: variables of a question stay, a key goes into one header alone."""

import asyncio
import json
from pathlib import Path

import pytest

from skillweave.llm.ask import ask
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import AuthorSpec, Provider, connect

from .conftest import Maker
from .protocols import a_completion, a_message
from .scripted import ScriptedServer, reply

SECRET = "canary-7f3a-of-a-variable"
KEY = "sk-canary-91bd-of-a-key"


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_only_the_rendered_words_leave(
    provider: Provider, a_question: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_KEY", KEY)
    said = a_completion("7") if provider == "openai" else a_message({"type": "text", "text": "7"})
    cache, cassette = tmp_path / "replies.sqlite", tmp_path / "take.jsonl"
    with ScriptedServer(reply(said)) as server:
        spec = AuthorSpec(provider, "m", base_url=server.url, api_key_env="OWN_KEY", max_retries=0)

        async def asked() -> int:
            backend = connect(spec, ledger=Ledger(), cache=cache, record=cassette)
            try:
                variables = {"thing": "red", "golden": SECRET}
                return await ask(backend, a_question(int), key="k", variables=variables)
            finally:
                await backend.close()

        assert asyncio.run(asked()) == 7
    (heard,) = server.heard
    assert SECRET not in json.dumps(heard.body)
    assert KEY not in json.dumps(heard.body)
    assert [name for name, value in heard.headers.items() if KEY in value] in (["authorization"], ["x-api-key"])
    for file in sorted(tmp_path.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            assert SECRET.encode() not in content, file.name
            assert KEY.encode() not in content, file.name

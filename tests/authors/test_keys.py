"""A key goes to the endpoint that it belongs to, in its header, and nowhere else: to no file, log, screen or record."""

import asyncio
import json
from pathlib import Path

import pytest

from skillweave.config.llm import AuthorConfig, LlmConfig
from skillweave.llm.backends.backend import Request
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from tests.authors.conftest import KEYS, Direct, Faulty
from tests.authors.served import Answered, ServedAuthor
from tests.authors.ways import CHAT, MESSAGES, RESPONSES, Way

SECRETS = [key.encode() for key in KEYS.values()]


def leaks(folder: Path) -> list[str]:
    """Files that hold a planted key."""
    return [
        str(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(secret in path.read_bytes() for secret in SECRETS)
    ]


def carried(one: Answered) -> dict[str, str]:
    """Where a request holds a planted key: header -> value."""
    assert not any(key in json.dumps([one.heard.path, one.heard.body]) for key in KEYS.values())
    return {name: value for name, value in one.heard.headers.items() if any(key in value for key in KEYS.values())}


def test_no_file_and_no_line_holds_a_key(faulty: Faulty) -> None:
    folder = faulty.ran.outputs.parent
    assert {"outputs", "cassette.jsonl", "outputs.sqlite"} <= {path.name for path in folder.iterdir()}
    assert leaks(folder) == []
    assert not any(key in faulty.ran.shown for key in KEYS.values())


def test_each_endpoint_is_sent_its_own_key_in_its_own_header(faulty: Faulty) -> None:
    openai, anthropic = ({"authorization": f"Bearer {key}"} for key in KEYS.values())
    for author, expected in ((faulty.openai, openai), (faulty.anthropic, anthropic), (faulty.keyless, {})):
        assert len(author.log) > 1
        assert [found for found in map(carried, author.log) if found != expected] == []


@pytest.mark.parametrize("way", [CHAT, RESPONSES, MESSAGES], ids=str)
def test_what_the_environment_says_of_an_account_goes_to_no_other_endpoint(
    direct: Direct, monkeypatch: pytest.MonkeyPatch, way: Way
) -> None:
    account = {name: f"planted-{name}" for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN")}
    own = dict.fromkeys(("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"), "X-Gateway: planted-token")
    for name, value in {**KEYS, **account, **own}.items():
        monkeypatch.setenv(name, value)

    async def ask(author: ServedAuthor) -> None:
        connections = Connections(LlmConfig(), ledger=Ledger(), caches=False)
        backend = connections.connect(AuthorConfig.model_validate(way.author(author.url)))
        try:
            await backend.complete(Request(tuple(author.takes[0].messages)))
        finally:
            await backend.close()

    with ServedAuthor(direct.cassette) as author:
        asyncio.run(ask(author))
    (one,) = author.log
    assert "planted" not in json.dumps([one.heard.headers, one.heard.body])

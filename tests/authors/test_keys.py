"""A key goes to the endpoint that it belongs to, in its header, and nowhere else: to no file, log, screen or record."""

import json
from pathlib import Path

from tests.authors.conftest import KEYS, Faulty
from tests.authors.served import Answered

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

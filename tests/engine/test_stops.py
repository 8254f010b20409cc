"""What lets nothing more be asked ends the run in order: no item fails for it, and the same command goes on."""

import json
from pathlib import Path

import pytest

from tests.engine.conftest import Toy, done
from tests.llm.protocols import a_completion
from tests.llm.scripted import Act, ScriptedServer, fault, reply

FINE = reply(a_completion('"a word"'))


def by_model(server: ScriptedServer, cache: Path) -> list[str]:
    textual = {"model": "openai/m", "base_url": f"{server.url}/v1"}
    llm = {"textual": textual, "cache": str(cache), "max_retries": 2, "outage_s": 1.0}
    return ["--workers", "1", "--set", f"llm={json.dumps(llm)}"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (fault(401, "Incorrect API key"), "status 401: Incorrect API key (check the key)"),
        (fault(404, "no such model"), "check the model's name and base_url"),
        (fault(429, "You have no credit", code="insufficient_quota"), "status 429: You have no credit"),
    ],
)
def test_a_run_that_can_ask_nothing_stops_and_goes_on_later(toy: Toy, tmp_path: Path, answer: Act, why: str) -> None:
    acts = [FINE, *[answer] * 30]
    with ScriptedServer(lambda _: acts.pop(0) if acts else FINE) as server:
        given = by_model(server, tmp_path / "replies.sqlite")
        code, lines = toy.run(*given)
        assert code == 1
        assert lines[-1].startswith("stopped: ")
        assert why in lines[-1]
        assert "; once that is mended, go on with: python -m synth run " in lines[-1]
        assert not any("failed" in line for line in done(lines))
        kept = [line for line in done(lines) if line.startswith("s03 notes/")]
        assert len(kept) == 1
        acts.clear()
        asked = len(server.heard)
        code, lines = toy.run(*given)
        assert code == 0
        assert len(server.heard) == asked + 2
    assert len(list((toy.outputs / "notes").iterdir())) == 3


def test_a_run_whose_endpoint_is_not_there_stops_before_all_its_items_fail(toy: Toy, tmp_path: Path) -> None:
    with ScriptedServer(FINE) as server:
        given = by_model(server, tmp_path / "replies.sqlite")
    code, lines = toy.run(*given)
    assert code == 1
    (stopped,) = [line for line in lines if line.startswith("stopped: ")]
    assert "not reached: 127.0.0.1:" in stopped
    assert "Connection refused; it never answered in " in stopped
    assert "start the server, or correct base_url" in stopped

"""What a run costs: told while it runs and after it, estimated before it, and stopped in time."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillweave.llm.budget import SPENDING, spending
from synth.cli.app import main
from tests.engine.conftest import PLACE, Toy, done
from tests.llm.protocols import a_completion
from tests.llm.scripted import TRUNCATED, ScriptedServer, fault, reply

QUESTION_USD = 0.03
"""What a question costs by the prices below: three tokens; five are the most."""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(reply(a_completion('"a word"'))) as found:
        yield found


def by_model(server: ScriptedServer, **llm: object) -> list[str]:
    """Have the toy's questions answered by a model."""
    textual = {"model": "openai/m", "base_url": f"{server.url}/v1", "max_tokens": 5}
    prices = {"openai/m": {"input": 0.0, "output": 10_000.0}}
    settings: dict[str, object] = {"textual": textual, "prices": prices, "cache": False, "max_retries": 0}
    return ["--set", f"llm={json.dumps({**settings, **llm})}"]


def status(toy: Toy, *extra: str) -> list[str]:
    toy.capture.readouterr()
    main_arguments = ["status", *toy.arguments()[1:], *extra]
    with pytest.raises(SystemExit):
        main(PLACE, main_arguments)
    return toy.capture.readouterr().out.splitlines()


def cells(lines: list[str], first: str) -> list[str]:
    """The row of a table that begins so."""
    (row,) = [line for line in lines if line.startswith(first)]
    return re.split(r"\s{2,}", row)


def test_what_models_take_is_told_by_the_run_and_by_its_status(toy: Toy, server: ScriptedServer) -> None:
    _, lines = toy.run(*by_model(server))
    (last,) = [line for line in lines if line.startswith("s03 summary.txt")]
    assert last.endswith("; so far 30 tokens, $0.09")
    expected = ["note", "openai/m", "3", "3", "0", "0", "30", "$0.09", "-"]
    assert "this run took 30 tokens, $0.09; 3 questions: 3 accepted at once, 0 repaired, 0 given up" in lines
    shown = status(toy)
    assert cells(shown, "s03_notes")[-2:] == ["30", "$0.09"]
    assert cells(shown, "s02_lengths")[-2:] == ["0", "$0.00"]
    assert cells(shown, "note ") == expected
    assert "spent by all runs on this folder, where a price is known: $0.09" in shown


def test_the_folder_s_account_is_what_the_server_charged_whatever_failed(toy: Toy) -> None:
    acts = [fault(500), TRUNCATED, reply(a_completion('"a word"'))]
    with ScriptedServer(*acts) as server:
        toy.run(*by_model(server, max_retries=4, max_concurrency=1), "--workers", "1")
        heard = len(server.heard)
    found = spending(toy.outputs)
    assert found is not None
    assert heard == 5
    assert found == pytest.approx((3 * QUESTION_USD, 0.05, 0.0, 0))
    assert cells(status(toy), "s03_notes")[-1] == "$0.09, at most $0.05 lost"


def test_an_unknown_cost_is_called_so(toy: Toy, server: ScriptedServer) -> None:
    _, lines = toy.run(*by_model(server, prices={}))
    assert any("30 tokens, unknown" in line for line in lines)
    shown = status(toy)
    assert cells(shown, "s03_notes")[-1] == "unknown"
    assert not (toy.outputs / SPENDING).exists()


def test_what_is_asked_offline_costs_nothing_and_is_told_in_short(toy: Toy) -> None:
    _, lines = toy.run()
    assert not any("tokens" in line for line in lines)
    shown = status(toy)
    assert cells(shown, "s03_notes")[-2:] == ["0", "$0.00"]
    assert any(line.startswith("3 questions were answered offline; see how with: ") for line in shown)
    assert cells(status(toy, "--questions"), "note ")[:4] == ["note", "offline/author", "3", "3"]
    assert cells(status(toy, "--questions"), "note ")[6] == "0"
    assert not (toy.outputs / SPENDING).exists()


def test_the_run_stops_before_the_budget_is_passed_and_goes_on_with_a_larger_one(
    toy: Toy, server: ScriptedServer
) -> None:
    code, lines = toy.run(*by_model(server, budget_usd=0.09))
    assert code == 1
    assert lines[-1].startswith("stopped: the budget of $0.09 is used up: $0.06 spent in ")
    assert re.search(r"; \d+ items kept in \S+; once that is mended, go on with: python -m synth run ", lines[-1])
    assert len(server.heard) == 2
    assert [heard.body["max_tokens"] for heard in server.heard] == [5, 5]
    code, lines = toy.run(*by_model(server, budget_usd=0.12))
    assert code == 0
    assert len(server.heard) == 3
    assert any("spent by all runs on this folder, where a price is known: $0.09" in line for line in status(toy))


def test_with_a_budget_answers_have_a_limit(toy: Toy, server: ScriptedServer) -> None:
    textual = {"model": "openai/m", "base_url": f"{server.url}/v1"}
    toy.run(*by_model(server, textual=textual, budget_usd=10.0, max_answer_tokens=50))
    toy.run(*by_model(server, textual=textual), "--fresh", "s03")
    assert [heard.body.get("max_tokens") for heard in server.heard] == [50] * 3 + [None] * 3


@pytest.mark.parametrize("place", ["textual", "fallback"])
def test_a_budget_without_a_price_is_refused_before_anything_is_forgotten(
    toy: Toy, server: ScriptedServer, place: str
) -> None:
    toy.finish()
    before = toy.artifacts()
    unpriced = {"model": "openai/other", "base_url": f"{server.url}/v1"}
    textual = unpriced if place == "textual" else {"model": "offline/author", "fallback": [unpriced]}
    code, lines = toy.run(*by_model(server, textual=textual, budget_usd=1.0), "--fresh", "s03")
    assert (code, len(lines)) == (2, 1)
    assert "nobody knows what 'openai/other' costs; give llm.prices.openai/other {input, output}" in lines[0]
    assert toy.artifacts() == before
    assert not server.heard


def test_a_dry_run_estimates_from_what_was_asked_before(toy: Toy, server: ScriptedServer) -> None:
    toy.run(*by_model(server))
    _, lines = toy.run("--dry-run", "--fresh", "s03", *by_model(server))
    assert cells(lines, "s03_notes ") == ["s03_notes", "4", "3", "21", "9", "$0.09", "openai/m"]
    assert cells(lines, "total ") == ["total", "7", "3", "21", "9", "$0.09"]
    assert any("what this folder's items asked before" in line and "as measured here" in line for line in lines)
    _, lines = toy.run("--dry-run", "--fresh", "s03", *by_model(server, prices={}))
    assert cells(lines, "s03_notes ")[-2:] == ["unknown", "openai/m"]
    _, lines = toy.run("--dry-run", "--fresh", "s03")
    assert cells(lines, "s03_notes ") == ["s03_notes", "4", "3", "0", "0", "$0.00", "offline/author"]
    assert any("what is asked offline takes no tokens and costs nothing" in line for line in lines)
    assert done(toy.run(*by_model(server))[1]) == []


def test_a_dry_run_on_an_empty_folder_estimates_from_the_sizes_of_a_default_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (tmp_path / "config.yaml").write_text("")
    prices = '{"openai/x": {"input": 2.0, "output": 10.0}}'
    given = ["--config", str(tmp_path / "config.yaml"), "--outputs-dir", str(tmp_path / "out"), "--dry-run"]
    llm = ["--set", "llm.textual=openai/x", "--set", f"llm.prices={prices}"]
    with pytest.raises(SystemExit) as ended:
        main(None, ["run", *given, *llm])
    lines = capsys.readouterr().out.splitlines()
    assert ended.value.code == 0
    assert cells(lines, "s02_entity_extraction ")[1:3] == ["unknown", "12"]
    assert cells(lines, "s09_mcp_server_implementation ")[-2:] == ["$0.00", "offline/author"]
    total = cells(lines, "total ")
    assert float(total[-1].lstrip("$")) > 1
    assert "4 characters a token" in lines[-2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml"]

"""Two companies as models wrote them, faults and all: each ends in a world, and what was wrong is on record.

Planted are an orphan table, an id under another name, a tool that never succeeds, and a sentence that says more than
its SQL. One author mends what comes back; the other mends nothing.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.cli.app import main
from synth.cli.options import PipelineSource

SMALL = [
    "--set", "steps.s01_domain_expansion.target_domains=1",
    "--set", "task_mode=single",
    "--set", "steps.s06_database_generation.visits=400",
    "--set", "steps.s06_database_generation.histories=1",
    "--until", "s14",
]  # fmt: skip


def authored(
    author: str, seed: str, folder: Path, monkeypatch: pytest.MonkeyPatch, api_url: str
) -> tuple[Path, dict[str, Any]]:
    """A company as far as s14: its outputs, and the records of its items by step."""
    monkeypatch.setenv("PREFECT_API_URL", api_url)
    (folder / "config.yaml").write_text("seed: 7\n")
    place = PipelineSource("synth.steps", f"tests.pipeline.recorded:{author}")
    given = ["--config", str(folder / "config.yaml"), "--outputs-dir", str(folder / "out")]
    with pytest.raises(SystemExit):
        main(place, ["run", *given, "--set", f"domains.seeds=[{seed}]", *SMALL])
    items = json.loads((folder / "out" / "manifest.json").read_text())["items"]
    return folder / "out", {item["step"][:3]: item for item in items if item["key"] != "join"}


def tables(outputs: Path) -> set[str]:
    (blueprint,) = json.loads((outputs / "blueprints.json").read_text())
    return {entity["name"] for entity in [*blueprint["entities"], *blueprint["relationships"]]}


def goals(outputs: Path) -> dict[str, list[str]]:
    """Tool -> the goals that need it."""
    (file,) = (outputs / "task_templates").glob("*.json")
    found: dict[str, list[str]] = {}
    for template in json.loads(file.read_text()):
        for call in template["calls"] if template["kind"] in ("do", "inform") else ():
            found.setdefault(call["tool"], []).append(template["id"])
    return found


def test_what_comes_back_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api_url: str) -> None:
    outputs, records = authored("Veterinary", "veterinary clinic", tmp_path, monkeypatch, api_url)
    assert {step: record["reasons"] for step, record in records.items() if record["state"] != "done"} == {}
    assert records["s04"].get("rejected", {}) == {}
    assert "BoardingStay" in tables(outputs)
    (blueprint,) = json.loads((outputs / "blueprints.json").read_text())
    says = {part["says"] for tool in blueprint["tools"] for part in tool["guards"]}
    assert "An appointment can be moved as long as it was moved fewer than 2 times." in says
    assert {"book_appointment", "move_appointment", "cancel_appointment", "pay_invoice"} <= goals(outputs).keys()


def test_what_nobody_mends_is_taken_out_and_the_world_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api_url: str
) -> None:
    outputs, records = authored("Tools", "tool hire for home builders", tmp_path, monkeypatch, api_url)
    assert {step: record["reasons"] for step, record in records.items() if record["state"] != "done"} == {}
    taken_out = records["s04"]["rejected"]
    assert taken_out["a table that nothing fills"] >= 1
    assert taken_out["a tool that nobody could use"] == 1
    assert "Demonstration" not in tables(outputs)
    assert "cancel_hire" not in goals(outputs)
    assert len(goals(outputs)) > 5

"""Garbage from an author is repaired or rejected with its reason; the run ends, and nothing invalid is written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillweave.schema.task import Task
from synth.cli.app import main
from synth.cli.options import PipelineSource
from tests.pipeline.garbage import LEFT_OUT

SMALL = [
    "--set", "domains.seeds=[dental clinic]",
    "--set", "steps.s01_domain_expansion.target_domains=2",
    "--set", "steps.s06_database_generation.visits=100",
    "--set", "steps.s06_database_generation.histories=1",
]  # fmt: skip
Run = Callable[..., tuple[int, Path, dict[str, Any]]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api_url: str) -> Run:
    """Run the pipeline on two domains with an author of this folder: exit status, outputs, manifest."""
    monkeypatch.setenv("PREFECT_API_URL", api_url)
    config = tmp_path / "config.yaml"
    config.write_text("seed: 7\n")

    def run_with(author: str, *more: str) -> tuple[int, Path, dict[str, Any]]:
        outputs = tmp_path / author
        place = PipelineSource("synth.steps", f"tests.pipeline.garbage:{author}")
        with pytest.raises(SystemExit) as ended:
            main(place, ["run", "--config", str(config), "--outputs-dir", str(outputs), *SMALL, *more])
        assert isinstance(ended.value.code, int)
        return ended.value.code, outputs, json.loads((outputs / "manifest.json").read_text())

    return run_with


def states(manifest: dict[str, Any]) -> dict[str, str]:
    return {f"{item['step']}/{item['key']}": item["state"] for item in manifest["items"]}


def tasks(outputs: Path) -> dict[str, list[Task]]:
    return {
        path.stem: [Task.model_validate_json(line) for line in path.read_text().splitlines()]
        for path in sorted((outputs / "queries").glob("*.jsonl"))
    }


@pytest.mark.long
def test_spoiled_answers_are_sent_back_and_the_dataset_is_that_of_a_faultless_author(run: Run) -> None:
    _, faultless, _ = run("OfflineAuthor")
    code, outputs, _ = run("Sloppy")
    assert code == 0
    assert tasks(outputs) == tasks(faultless)
    assert sum(map(len, tasks(outputs).values())) > 40


def test_a_contract_that_stays_wrong_costs_its_tool_and_many_cost_their_domain(run: Run) -> None:
    _, outputs, manifest = run("Hopeless", "--until", "s06")
    found = states(manifest)
    assert found["s04_blueprint_generation/PhysioPractice"] == "rejected"
    assert found["s06_database_generation/DentalClinic"] == "done"
    assert found.get("s06_database_generation/PhysioPractice") != "done"
    (reasons,) = [item["reasons"] for item in manifest["items"] if item["state"] == "rejected"]
    assert "only 0 tools of PhysioPractice are sound" in reasons[0]
    assert any("draws a random value" in log.read_text() for log in (outputs / "logs").rglob("*.log"))
    assert not (outputs / "blueprints" / "PhysioPractice.json").exists()
    tools = [tool["name"] for tool in json.loads((outputs / "blueprints" / "DentalClinic.json").read_text())["tools"]]
    assert "pay_invoice" in tools
    assert LEFT_OUT not in tools


def test_generated_code_that_attacks_costs_its_item_and_leaves_no_trace(run: Run) -> None:
    _, outputs, manifest = run("Wild", "--until", "s09", "--set", "sandbox.cpu_s=10")
    found = states(manifest)
    assert found["s06_database_generation/PhysioPractice"] == "rejected"
    assert found["s09_mcp_server_implementation/DentalClinic"] == "rejected"
    assert not Path("/var/tmp/skillweave_escaped").exists()
    assert not (outputs / "mcp_servers" / "DentalClinic.py").exists()
    assert not (outputs / "database" / "PhysioPractice.sqlite").exists()
    assert all(item["reasons"] for item in manifest["items"] if item["state"] == "rejected")

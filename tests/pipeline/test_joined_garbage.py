"""Garbage from an author where domains are joined costs the fused world, with its reason, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.cli.app import main
from synth.cli.options import PipelineSource
from tests.pipeline.small import JOINED, WORLD, artifacts, differing
from tests.pipeline.test_joined_same_bytes import ABOUT_ALL, is_of_fused
from tests.shared import copied


def made_by(author: str, joined: Path, folder: Path) -> tuple[int, Path, dict[tuple[str, str], dict[str, Any]]]:
    """Join the domains of a finished run anew, with an author of this folder: exit status, outputs, items."""
    outputs = copied(joined, folder / "outputs", ".cache")
    for path in filter(is_of_fused, artifacts(outputs)):
        (outputs / path).unlink()
    settings = [part for override in JOINED for part in ("--set", override)]
    arguments = ["run", "--config", "config.yaml", "--outputs-dir", str(outputs), *settings]
    with pytest.raises(SystemExit) as ended:
        main(PipelineSource("synth.steps", f"tests.pipeline.garbage:{author}"), arguments)
    assert isinstance(ended.value.code, int)
    items = json.loads((outputs / "manifest.json").read_text())["items"]
    return ended.value.code, outputs, {(item["step"][:3], item["key"]): item for item in items}


@pytest.mark.parametrize(
    ("author", "step", "reason"),
    [
        ("Storyless", "s11", "no company 'Mars'"),
        ("Quarrelsome", "s13", "nothing settles privacy"),
        ("Speechless", "s13", "has 0 sections; give it one"),
    ],
)
def test_an_answer_that_stays_wrong_costs_the_fused_world_alone(
    author: str, step: str, reason: str, joined: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api_url: str
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", api_url)
    code, outputs, items = made_by(author, joined, tmp_path)
    # It was the only combination, so that its step has failed.
    assert code == 1
    assert items[step, WORLD]["state"] == "rejected"
    assert any(reason in told for told in items[step, WORLD]["reasons"]), items[step, WORLD]["reasons"]
    others = {name: item["state"] for name, item in items.items() if name[1] != WORLD}
    assert set(others.values()) == {"done"}
    found = artifacts(outputs)
    assert all(is_of_fused(path) or path in ABOUT_ALL for path in differing(artifacts(joined), found))
    assert not [path for path in found if path.startswith(("queries/", "policies/", "mcp_servers/")) and WORLD in path]


def test_links_that_cannot_be_join_nothing_and_the_run_ends_well(
    joined: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api_url: str
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", api_url)
    code, outputs, items = made_by("Linkless", joined, tmp_path)
    assert code == 0
    assert items["s10", "all"]["rejected"] == {"no usable links": 1}
    assert not [key for _, key in items if key == WORLD]
    found = artifacts(outputs)
    assert json.loads(found["cross_domain_templates/_combinations.json"]) == []
    assert [path for path in found if WORLD in path] == []

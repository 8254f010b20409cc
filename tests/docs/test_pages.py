import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from typer.main import get_command

from skillweave.config.load import load_config
from skillweave.world import database
from synth.cli.app import app
from synth.engine.pipeline import load_pipeline, step_params
from tests.docs import bikes

ROOT = bikes.DOCS.parent
FOLDERS = ("bench", "docs", "evaluator", "rollout", "synth")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).glob("*.md"))])
README = (ROOT / "README.md").read_text("utf-8")


def commands() -> list[list[str]]:
    """What the pages say to run as `python -m synth ...`."""
    found = [
        line.partition("#")[0].removeprefix("python -m synth ")
        for page in PAGES
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if line.startswith("python -m synth ")
    ]
    return [shlex.split(line) for line in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
    for target, heading in re.findall(r"\]\(([^)#]*)#([^)]*)\)", page.read_text("utf-8")):
        text = ((page.parent / target) if target else page).read_text("utf-8")
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        slugs = [re.sub(r"[^\w -]", "", found.lower()).replace(" ", "-") for found in headings]
        assert heading in slugs, f"{target}#{heading}"


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 150


def test_commands_of_the_pages_are_there_with_their_options() -> None:
    assert len(commands()) > 8
    known = get_command(app).commands  # type: ignore[attr-defined]
    for name, *arguments in commands():
        options = {option for parameter in known[name].params for option in parameter.opts}
        assert {argument for argument in arguments if argument.startswith("--")} <= options, name


def test_overrides_of_the_pages_are_ones_that_the_configuration_takes() -> None:
    given = [b for line in commands() for a, b in pairwise(line) if a == "--set"]
    assert given
    loaded = load_config(ROOT / "config.yaml", given)
    assert step_params(load_pipeline().steps, loaded.steps)


def test_the_sketch_of_the_readme_opens_a_dataset_and_scores_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = tmp_path / "outputs"
    for folder in ("queries", "database"):
        (outputs / folder).mkdir(parents=True)
    (outputs / "blueprints.json").write_text(f"[{bikes.blueprint().model_dump_json()}]")
    (outputs / "queries" / "BikeHire.jsonl").write_text(f"{bikes.a_task().model_dump_json()}\n")
    state = database.load(bikes.a_world().content, bikes.blueprint())
    database.save(state, bikes.blueprint(), outputs / "database" / "BikeHire.sqlite")
    monkeypatch.chdir(tmp_path)
    (sketch,) = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    exec(sketch, {})
    tools, changes, state_check = capsys.readouterr().out.splitlines()
    assert "'hire_bike'" in tools
    assert "op='insert'" in changes
    assert state_check == "score=1.0 missing=[] unexpected=[]"

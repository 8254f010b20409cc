"""The card of a dataset: what hubs read of it, and what it says of tasks; the same files, the same bytes."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from evaluator.kinds import KINDS
from evaluator.report.results import write_ladder
from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.config.sections import CardConfig, Config
from skillweave.schema.evaluation import AgentSummary, Ladder, PassCount, Rung, UserFigures
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from synth.cli.app import main
from synth.cli.options import PipelineSource
from synth.planner.plan import PlanStatus
from synth.reports.card import JUDGED_STEP, card_of, license_of, write_card
from synth.reports.card_contents import contents
from synth.reports.card_sections import SEARCH_STATES, table, text, users
from synth.reports.task_table import rows_by_split, table_faults
from synth.tasks.difficulty import LEVELS, Demands
from synth.tasks.forms import FORMS
from synth.verification.dataset import card_faults
from tests.rollout.offline_agents.clinic import a_dataset


def test_the_front_is_metadata_that_hubs_read(tmp_path: Path) -> None:
    card = card_of(a_dataset(tmp_path), "cc-by-4.0")
    _, front, _ = card.split("---\n", 2)
    found = yaml.safe_load(front)
    assert found["license"] == "cc-by-4.0"
    assert found["size_categories"] == ["n<1K"]
    assert "configs" not in found, "records are nested, and no table"


@pytest.mark.parametrize(
    ("textual", "license", "says"),
    [
        ("offline/author#1", "apache-2.0", "apache-2.0: the built-in offline author wrote all of it"),
        ("openai/gpt-5#1", "unknown", "set `card.license` in the configuration"),
    ],
)
def test_the_licence_follows_from_who_wrote_the_dataset(tmp_path: Path, textual: str, license: str, says: str) -> None:
    dataset = a_dataset(tmp_path)
    assert "license: unknown\n" in card_of(dataset, None), "nothing says who wrote it"
    manifest = Manifest(Store(tmp_path, "dataset"))
    for step, author in (("s04_blueprint_generation", textual), ("s09_mcp_server_generation", "offline/author#2")):
        manifest.put(ItemRecord(step=step, key="SmallClinic", state="done", authors={"textual": author}))
    manifest.save()
    card = card_of(Dataset(tmp_path), None)
    assert f"license: {license}\n" in card
    assert says in card
    given = card_of(Dataset(tmp_path), "cc-by-4.0")
    assert "license: cc-by-4.0\n" in given
    assert "cc-by-4.0, as the configuration of the run says" in given
    for told in (card, given):
        Store(tmp_path, "dataset").write("README.md", told.encode())
        assert card_faults(Dataset(tmp_path)) == []


def test_the_front_names_the_table_of_each_split_and_the_types_of_its_columns(tmp_path: Path) -> None:
    dataset = with_table(a_dataset(tmp_path))
    _, front, _ = card_of(dataset, "unknown").split("---\n", 2)
    found = yaml.safe_load(front)
    [config] = found["configs"]
    files = [(file["split"], file["path"]) for file in config["data_files"]]
    assert files == [("train", "data/train.jsonl")], "a split without tasks has no file"
    [info] = found["dataset_info"]
    types = {feature["name"]: feature.get("dtype") or [feature["sequence"]] for feature in info["features"]}
    row = json.loads((tmp_path / "data" / "train.jsonl").read_text().splitlines()[0])
    assert [*types] == [*row]
    known = {"string": str, "int64": int}
    assert all(isinstance(row[name], known[type] if isinstance(type, str) else list) for name, type in types.items())


def with_table(dataset: Dataset) -> Dataset:
    """The dataset with its table of tasks."""
    tasks = [task for world in dataset.tasks.worlds for task in dataset.tasks.of(world)]
    for split, rows in rows_by_split(tasks).items():
        lines = "".join(f"{row.model_dump_json()}\n" for row in rows)
        dataset.store.write(f"data/{split}.jsonl", lines.encode())
    return dataset


def test_a_table_that_is_not_of_the_tasks_is_found(tmp_path: Path) -> None:
    dataset, path = a_dataset(tmp_path), tmp_path / "data" / "train.jsonl"
    assert table_faults(dataset) == [], "a dataset may have none"
    assert table_faults(with_table(dataset)) == []
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[1:]))
    assert [fault.partition(";")[0] for fault in table_faults(dataset)] == [
        "data/train.jsonl: is not what the tasks give"
    ]
    path.write_text("{}")
    assert len(table_faults(dataset)) == 1
    path.rename(path.with_name("test.jsonl"))
    assert [fault.partition(":")[0] for fault in table_faults(dataset)] == ["data/train.jsonl", "data/test.jsonl"]


def test_the_card_counts_tasks_by_kind_and_is_the_same_every_time(tmp_path: Path) -> None:
    dataset = a_dataset(tmp_path)
    card = card_of(dataset, "unknown")
    assert f"| all | {len(dataset.tasks)} | {len(dataset.tasks)} | 0 | 0 |" in card
    assert "## Known limits" in card
    assert card == card_of(Dataset(tmp_path), "unknown")


@pytest.mark.parametrize("is_its_own", [True, False])
def test_a_ladder_is_shown_where_it_is_of_this_very_dataset(tmp_path: Path, is_its_own: bool) -> None:
    dataset = a_dataset(tmp_path)
    rung = Rung(
        agent="oracle", overall=PassCount(tasks=5, passed=5), reward=1.0, by_kind={"do": PassCount(tasks=5, passed=5)}
    )
    digest = dataset.digest if is_its_own else "0" * 64
    write_ladder(Store(tmp_path / "evaluation"), Ladder(dataset=digest, seed=7, sample=None, tasks=5, rungs=[rung]))
    assert ("| oracle | 100.0 % | 100.0 % |" in card_of(dataset, "unknown")) is is_its_own


@pytest.mark.parametrize(
    ("figures", "told", "untold"),
    [
        ({"rules": 3}, "Not judged: figures and enum values", "| agreed"),
        ({"cases agreed": 7, "cases disagreed": 0, "cases undecided": 1}, "| agreed | 7 |", "Not judged"),
    ],
)
def test_the_card_says_whether_anybody_judged_the_rules(
    tmp_path: Path, figures: dict[str, int | float], told: str, untold: str
) -> None:
    dataset = a_dataset(tmp_path)
    manifest = Manifest(dataset.store)
    manifest.put(ItemRecord(step=JUDGED_STEP, key="SmallClinic", state="done", figures=figures))
    manifest.save()
    card = card_of(Dataset(tmp_path), "unknown")
    assert told in card
    assert untold not in card


def test_users_that_leave_are_shown_by_agent_and_user() -> None:
    figures = UserFigures(lost=1, lost_share=0.1, checked=9, left=3, left_share=1 / 3, faulty=0, faulty_failed=0)
    given: dict[str, Any] = {"agent": "a/x", "user": "b/y", "trajectories": 10, "simulated_user": figures}
    one = AgentSummary.model_construct(**given)
    assert "| a/x | b/y | 10 | 10.0 % | 33.3 % |" in users([one])


def test_a_folder_without_tasks_gets_no_card(tmp_path: Path) -> None:
    assert not write_card(tmp_path, "unknown")
    assert not (tmp_path / "README.md").exists()


def test_a_cell_is_text_and_no_markup() -> None:
    assert text("a|b\n<i>") == "a\\|b \\<i\\>"
    assert table(("name", "n"), [("x", 1234)]) == ["| name | n |", "| --- | ---: |", "| x | 1,234 |", ""]
    assert table(("name",), []) == []


def test_services_of_ones_own_are_under_no_licence_that_anybody_knows() -> None:
    assert license_of(Config()) is None
    assert license_of(Config(catalogue=["services"])) == "unknown"
    assert license_of(Config(catalogue=["services"], card=CardConfig(license="mit"))) == "mit"


@pytest.mark.parametrize("license", ["", "a: b", "x\ny", "-"])
def test_a_licence_is_one_word(license: str) -> None:
    with pytest.raises(ValueError, match="license"):
        CardConfig(license=license)


def test_the_command_says_how_to_verify_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = tmp_path / "an outputs folder"
    a_dataset(outputs)
    with pytest.raises(SystemExit) as ended:
        main(PipelineSource(), ["card", "--outputs-dir", str(outputs)])
    assert ended.value.code == 0
    assert capsys.readouterr().out.rstrip().endswith(f"next: python -m synth verify '{outputs}'")


def test_the_card_counts_tokens_with_both_prompts(tmp_path: Path) -> None:
    card = card_of(a_dataset(tmp_path), "unknown")
    section = card.split("## Tokens\n", 1)[1].split("##", 1)[0]
    figures = {
        cells[1].strip(): [int(cell.replace(",", "")) for cell in cells[2:-1]]
        for line in section.splitlines()
        if (cells := line.split("|"))[0] == "" and len(cells) > 3 and cells[1].strip() in ("full", "compact")
    }
    assert figures["full"][1:3] == figures["compact"][1:3], "tools and first message are the same"
    for system, tools, first, together, middle, most in figures.values():
        assert abs(system + tools + first - together) <= 2
        assert 0 < middle <= most


def test_a_dataset_without_policies_has_a_card_without_tokens(tmp_path: Path) -> None:
    dataset = a_dataset(tmp_path)
    (tmp_path / "policies" / "SmallClinic.md").unlink()
    assert "## Tokens" not in card_of(dataset, "unknown")


def legends(lines: list[str]) -> dict[str, str]:
    """What the tables of a card say that a kind, a form or a level is: by its name, where the last column says it."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0]: row[-1] for row in rows if len(row) == 6}


def test_every_kind_form_and_level_that_occurs_has_its_legend_and_no_other(tmp_path: Path) -> None:
    one = next(iter(a_dataset(tmp_path).tasks.values())).model_dump(mode="json")
    levels = [rule.level for rule in LEVELS]
    tasks = [
        Task.model_validate({**one, "kind": kind, "forms": forms, "difficulty": {**one["difficulty"], "level": level}})
        for kind, forms, level in [
            *((kind, [], 1) for kind in KINDS),
            *(("do", [{"name": form}], 1) for form in FORMS),
            *(("do", [], level) for level in levels),
        ]
    ]
    named = legends(contents(tasks))
    assert {*KINDS, *FORMS, *map(str, levels)} <= {name for name, words in named.items() if words}
    plain = [task for task in tasks if task.kind == "do" and task.difficulty.level == 1 and not task.forms]
    few = legends(contents(plain))
    assert {*few} & {*KINDS, *FORMS, *map(str, levels)} == {"do", "1"}


def test_what_a_level_takes_is_what_makes_it() -> None:
    """Each condition that the card names makes a task of that level, and a little less does not."""
    for rule in LEVELS[:-1]:
        for parts in combinations(rule.conditions, rule.least):
            needs = {name: max(part.get(name, 0) for part in parts) for name in Demands._fields}
            assert rule.holds(Demands(**needs)), rule.words
            less = {name: max(0, least - 1) for name, least in needs.items()}
            assert not rule.holds(Demands(**less)), rule.words
        needed = [least for part in rule.conditions for name, least in part.items() if name != "demanding"]
        assert all(re.search(rf"\b{least} ", rule.words) for least in needed)


def test_each_outcome_of_a_search_has_its_legend() -> None:
    assert {*get_args(PlanStatus)} - {"not_reached"} <= {*SEARCH_STATES}

from pathlib import Path

import pytest

from docs.samples import main, samples, task_section
from tests.docs import bikes


def an_outputs_folder(root: Path, count: int) -> Path:
    """A dataset of `count` tasks that differ in their ids."""
    (root / "queries").mkdir(parents=True)
    tasks = [bikes.a_task().model_copy(update={"id": f"BikeHire-{number:08d}"}) for number in range(count)]
    (root / "queries" / "BikeHire.jsonl").write_text("".join(f"{task.model_dump_json()}\n" for task in tasks))
    (root / "blueprints.json").write_text(f"[{bikes.blueprint().model_dump_json()}]")
    return root


def test_a_task_is_told_in_full() -> None:
    task = bikes.a_task()
    page = task_section(1, task, [bikes.blueprint()])
    hired = task.criteria.state[0]
    assert f"**Who** {task.persona.name}, 41, brief; writes in lower case; signed in as" in page
    assert "> Hi, a bike please." in page
    assert f'  - `bike_id = "{task.golden[1].arguments["bike_id"]}"` from `call 0 [0].bike_id`' in page
    assert f"- {hired.op} `hire`" in page
    assert f"- hire fee: `{task.criteria.communicate[0].values[0]}`; not `99`" in page
    assert "| mutants | not run |" in page


def test_rules_in_play_tell_who_holds_them_the_agents_first() -> None:
    page = task_section(1, bikes.a_task(), [bikes.blueprint()])
    quota = next(guard for guard in bikes.blueprint().tool("hire_bike").guards if guard.concern == "quota")
    first = page.partition("**Rules in play**\n\n")[2].splitlines()[2]
    held = "the agent alone: the tool would do it" if quota.enforced_by == "agent" else "the tool"
    assert f"{quota.says} | {held} |" in page
    assert ("the agent alone" in first) == (quota.enforced_by == "agent")


def test_words_of_users_never_become_markup() -> None:
    page = task_section(1, bikes.a_task("<b>Hi</b>\n# Not a heading"), [bikes.blueprint()])
    assert "> &lt;b>Hi&lt;/b>\n> \\# Not a heading" in page


def test_the_same_seed_draws_the_same_tasks_and_another_one_others(tmp_path: Path) -> None:
    outputs = an_outputs_folder(tmp_path / "outputs", 40)
    first, again, other = (samples(outputs, seed=seed, count=10) for seed in (1, 1, 2))
    assert first == again != other
    assert first.count("\n## ") == 10


def test_a_small_dataset_is_shown_whole(tmp_path: Path) -> None:
    assert samples(an_outputs_folder(tmp_path / "outputs", 3), seed=1, count=10).count("\n## ") == 3


def test_the_page_is_written_where_asked(tmp_path: Path) -> None:
    outputs = an_outputs_folder(tmp_path / "outputs", 1)
    assert main(["--outputs", str(outputs), "--to", str(tmp_path / "samples.md")]) == 0
    assert "BikeHire-00000000" in (tmp_path / "samples.md").read_text()


def test_without_tasks_the_way_to_them_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = an_outputs_folder(tmp_path / "outputs", 0)
    assert main(["--outputs", str(outputs), "--to", str(tmp_path / "samples.md")]) == 2
    assert "python -m synth run" in capsys.readouterr().err
    assert not (tmp_path / "samples.md").exists()


def test_a_damaged_task_is_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = an_outputs_folder(tmp_path / "outputs", 1)
    (outputs / "queries" / "BikeHire.jsonl").write_text('{"id": "BikeHire-1"}\n')
    assert main(["--outputs", str(outputs), "--to", str(tmp_path / "samples.md")]) == 2
    assert "queries/BikeHire.jsonl" in capsys.readouterr().err

"""What a user's own part does wrong is one clear line; what is not its doing goes on."""

from pathlib import Path

import pytest

from rollout.cli.app import main

HERE = "tests.rollout.own_parts"


def ran(place: Path, capfd: pytest.CaptureFixture[str], more: str = "", **parts: str) -> tuple[object, str, list[str]]:
    config = place / "config.yaml"
    named = {"tasks": f"{HERE}:fine", "backend": f"{HERE}:Five"} | parts
    listed = "".join(f"    {kind}: '{name}'\n" for kind, name in named.items())
    config.write_text(f"rollout:\n  {more}\n  parts:\n{listed}")
    with pytest.raises(SystemExit) as ended:
        main(["run", "--config", str(config), "--rollouts-dir", str(place / "rollouts")])
    shown, errors = capfd.readouterr()
    return ended.value.code, shown, errors.splitlines()


@pytest.mark.parametrize(
    ("kind", "name", "complaint"),
    [
        ("tasks", f"{HERE}:fails", "RuntimeError: it is broken, at "),
        ("tasks", f"{HERE}:BROKEN", "'int' object is not callable"),
        ("tasks", f"{HERE}:no_source", "'NoneType' object has no attribute 'ids'"),
        ("tasks", f"{HERE}:ids_fail", "own_parts.py:"),
        ("tasks", f"{HERE}:ids_are_numbers", "AttributeError"),
        ("tasks", f"{HERE}:digest_is_a_set", "the digest of the task source is {1}; it must be a text"),
        ("backend", f"{HERE}:fails", "RuntimeError: it is broken"),
        ("backend", "json:JSONDecodeError", "rollout.parts.backend 'json:JSONDecodeError' failed: TypeError"),
        ("dispatcher", f"{HERE}:fails", "RuntimeError: it is broken"),
        ("runner", f"{HERE}:fails", "TypeError"),
    ],
)
def test_a_part_that_cannot_be_made_is_told_in_a_line(
    kind: str, name: str, complaint: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, _, errors = ran(tmp_path, capfd, **{kind: name})
    assert status == 2
    assert len(errors) == 1
    assert complaint in errors[0]


def test_a_dispatcher_that_fails_on_its_way_is_told_in_a_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, _, errors = ran(tmp_path, capfd, dispatcher=f"{HERE}:Failing")
    assert status == 1
    assert len(errors) == 1
    assert errors[0].startswith("error: the run broke off: RuntimeError: it is broken, at ")


def test_a_task_that_cannot_be_made_does_not_cost_the_others(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, shown, errors = ran(tmp_path, capfd, tasks=f"{HERE}:one_task_fails")
    assert (status, errors) == (1, [])
    assert "cannot be read: sum-0#0: RuntimeError: it is broken" in shown
    assert "1 trajectory owed, 1 kept in " in shown
    assert len((tmp_path / "rollouts" / "general.jsonl").read_text().splitlines()) == 1


def test_a_source_that_cannot_let_go_takes_nothing_away(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, shown, errors = ran(tmp_path, capfd, tasks=f"{HERE}:cannot_let_go")
    assert (status, errors) == (0, [])
    assert "2 of 2 passed" in shown


def test_a_score_that_is_none_is_an_error_of_its_trajectory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, shown, _ = ran(tmp_path, capfd, tasks=f"{HERE}:scores_are_numbers")
    assert status == 1
    assert "2 infrastructure errors, the first: sum#0: TypeError: evaluate_result gave int" in shown


def test_a_width_beyond_all_bounds_takes_no_more_than_there_is_to_do(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, shown, errors = ran(tmp_path, capfd, "max_parallel_agents: 1000000000000", tasks=f"{HERE}:cannot_let_go")
    assert (status, errors) == (0, [])
    assert "2 of 2 passed" in shown

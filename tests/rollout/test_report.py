"""What a run says at its end: what is owed, what is lost for good, and nothing that a terminal obeys."""

from pathlib import Path

import pytest

from rollout.cli.run import MOST, RolloutOptions, show_report
from rollout.folder import FolderState, RunFigures
from rollout.trajectory import RolloutSettings
from skillweave.base.errors import BudgetError
from skillweave.config.sections import Config
from skillweave.schema.trajectory import ErrorKind, TrajectoryError
from tests.rollout.talks import Script, a_question, held

OPTIONS = RolloutOptions(config=Path("config.yaml"), rollouts=Path("rollouts"))
NONE = FolderState(frozenset(), 0, 0, ())


def a_tally(kind: ErrorKind, message: str = "no") -> RunFigures:
    record = held(a_question(), RolloutSettings(backend=Script("5").backend))
    tally = RunFigures()
    tally.add(record.model_copy(update={"error": TrajectoryError(kind=kind, message=message), "score": None}))
    return tally


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("provider", 1, "1 trajectory owed, 0 kept in "),
        ("infrastructure", 1, "1 trajectory owed, 0 kept in "),
        ("world", 1, "1 trajectory lost to defects of the dataset"),
        ("user", 0, None),
        ("agent", 0, None),
    ],
)
def test_only_what_the_next_run_tries_again_is_owed(
    kind: ErrorKind, status: int, said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show_report(Config(), OPTIONS, NONE, 1, a_tally(kind), None) == status
    lines = capsys.readouterr().out.splitlines()
    assert [
        line for line in lines if ("owed" in line or "lost to defects" in line) and (said is None or said not in line)
    ] == []
    assert said is None or any(line.startswith(said) for line in lines)


def test_what_others_wrote_reaches_no_terminal_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[31mred\x1b]0;title\x07 \u202eback \ud800 naïve\u00a0é"
    show_report(Config(), OPTIONS, NONE, 1, a_tally("provider", evil), BudgetError(evil))
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert r"\x1b[31mred\x1b]0;title\x07 \u202eback \ud800 naïve é" in text
        assert "\x1b" not in text


def test_of_many_torn_lines_a_few_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    torn = tuple(f"a.jsonl, line {number}" for number in range(1000))
    show_report(Config(), OPTIONS, NONE._replace(torn=torn), 0, RunFigures(), None)
    lines = [line for line in capsys.readouterr().out.splitlines() if "torn" in line]
    assert len(lines) == MOST + 1
    assert lines[-1] == f"and {1000 - MOST} more torn lines, which count for nothing"

"""The scripted agents in the report: there where they were held against each other, and as text."""

from pathlib import Path

from skillweave.schema.evaluation import Ladder, PassCount, Rung
from tests.evaluator.report.trials import a_page, a_pass

WRONG = "policy_blind < oracle does not hold: <b>5</b> of 5"


def a_ladder() -> Ladder:
    """One agent, and something that is out of order."""
    rung = Rung(
        agent="oracle", overall=PassCount(tasks=4, passed=3), reward=0.75, by_kind={"do": PassCount(tasks=4, passed=3)}
    )
    return Ladder(dataset="0" * 64, seed=7, sample=None, tasks=4, rungs=[rung], wrong=[WRONG])


def test_a_ladder_is_a_table_of_the_page(tmp_path: Path) -> None:
    page = a_page(tmp_path, [a_pass()], ladder=a_ladder()).read_text("utf-8")
    assert "<td>oracle</td><td>75.0 %</td><td>75.0 %</td><td>0.750</td>" in page
    assert "&lt;b&gt;5&lt;/b&gt;" in page


def test_a_page_without_a_ladder_says_nothing_of_it(tmp_path: Path) -> None:
    assert "Scripted agents" not in a_page(tmp_path, [a_pass()]).read_text("utf-8")

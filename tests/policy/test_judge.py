"""A judge decides cases of each rule from its sentence; where none is named, nothing is judged."""

import json
from pathlib import Path

import pytest

from skillweave.errors import AuthorError
from skillweave.llm.request import Request
from synth.policy.cases import cases_of
from tests.policy.contracts import NOW, a_contract
from tests.policy.test_step import Answer, run, with_says

RIGHT = "An appointment cannot be cancelled unless at least 6 hours are left until its start."
WRONG = with_says("unless at least 6 hours", "unless at most 6 hours")
"""Its figures are those of the SQL, its side is not."""
HOLDS = {(found.rule, case.text): case.holds for found in cases_of(a_contract(), NOW) for case in found.cases}


def judge(request: Request) -> str | None:
    """A judge who reads each sentence rightly, and another author's new words for the wrong one."""
    if request.question == "policy.reword":
        return RIGHT
    if request.question != "policy.decide":
        return None
    rule, is_turned = request.key.split("/")[1], "unless at most 6 hours" in str(request.variables["sentence"])
    cases = request.variables["cases"]
    assert isinstance(cases, list)
    return json.dumps([{"holds": HOLDS[rule, case] is not is_turned, "why": ""} for case in cases])


def only(question: str, answer: str) -> Answer:
    return lambda request: answer if request.question == question else judge(request)


def test_without_a_judge_no_case_is_decided_and_nothing_is_counted(tmp_path: Path) -> None:
    text, context, author = run(WRONG, tmp_path)
    assert "unless at most 6 hours" in text
    assert "policy.decide" not in author.asked
    assert not any("case" in name for name in context.account.figures)


def test_the_judge_s_verdicts_are_counted(tmp_path: Path) -> None:
    _, context, _ = run(a_contract(), tmp_path, judge, judges=True)
    figures = context.account.figures
    assert (figures["cases disagreed"], figures["cases undecided"]) == (0, 0)
    assert figures["cases agreed"] > 100


def test_a_limit_told_from_the_wrong_side_is_worded_anew(tmp_path: Path) -> None:
    text, context, _ = run(WRONG, tmp_path, judge, judges=True)
    assert RIGHT in text
    assert context.account.figures["rules worded anew"] == 1


def test_a_limit_that_stays_on_the_wrong_side_rejects_the_item_by_its_case(tmp_path: Path) -> None:
    stubborn = only("policy.reword", RIGHT.replace("at least", "at most"))
    with pytest.raises(AuthorError, match=r"5 hours from now\. The SQL says that this may not be done, the sentence"):
        run(WRONG, tmp_path, stubborn, judges=True)


def test_a_judge_that_gives_no_verdict_leaves_all_undecided(tmp_path: Path) -> None:
    _, context, _ = run(a_contract(), tmp_path, only("policy.decide", "[]"), judges=True)
    assert context.account.figures["cases agreed"] == 0
    assert context.account.figures["cases undecided"] > 100

"""A judge decides cases of each rule from its sentence; where none is named, nothing is judged."""

import asyncio
import json
from pathlib import Path
from typing import Any

from skillweave.llm.backends.backend import Request
from skillweave.schema.blueprint import Blueprint
from synth.engine.context import Context
from synth.policy.cases import cases_of
from synth.policy.manual import sentences_of
from synth.policy.review import SENTENCE_AND_SQL_DIFFER, review_rules
from synth.steps.s04_blueprint_generation import blueprint_generation
from tests.policy.contracts import NOW, a_contract
from tests.policy.stage import Answer, Author, context, with_says

RIGHT = "An appointment cannot be cancelled unless at least 6 hours are left until its start."
WRONG = with_says("unless at least 6 hours", "unless at most 6 hours")
"""Its figures are those of the SQL, its side is not."""
(RULE,) = (rule for rule, says in sentences_of(WRONG).items() if "unless at most 6 hours" in says)
HOLDS = {(found.rule, case.text): case.holds for found in cases_of(a_contract(), NOW) for case in found.cases}


def reworded(says: str) -> str:
    return json.dumps({"sentences": [{"rule": RULE, "says": says}]})


def judge(request: Request) -> str | None:
    """A judge who reads each sentence rightly, and another author's new words for the wrong one."""
    if request.question == "policy.reword":
        return reworded(RIGHT)
    if request.question != "policy.decide":
        return None
    rule, is_turned = request.key.split("/")[1], "unless at most 6 hours" in str(request.variables["sentence"])
    cases = request.variables["cases"]
    assert isinstance(cases, list)
    return json.dumps([{"holds": HOLDS[rule, case] is not is_turned, "why": ""} for case in cases])


def only(question: str, answer: str) -> Answer:
    return lambda request: answer if request.question == question else judge(request)


def settle(
    blueprint: Blueprint, folder: Path, instead: Answer = judge, *, judges: bool = True
) -> tuple[dict[str, str], Context[Any], Author]:
    author = Author(instead)
    ctx = context(blueprint_generation, folder, author, judges=judges)
    return sentences_of(asyncio.run(review_rules(ctx, blueprint))), ctx, author


def test_without_a_judge_no_case_is_decided_and_nothing_is_counted(tmp_path: Path) -> None:
    found, ctx, author = settle(WRONG, tmp_path, judges=False)
    assert found == sentences_of(WRONG)
    assert author.asked == []
    assert not any("case" in name for name in ctx.activity.figures)


def test_the_judge_s_verdicts_are_counted(tmp_path: Path) -> None:
    _, ctx, _ = settle(a_contract(), tmp_path)
    figures = ctx.activity.figures
    assert (figures["cases disagreed"], figures["cases undecided"]) == (0, 0)
    assert figures["cases agreed"] > 100


def test_a_limit_told_from_the_wrong_side_is_worded_anew(tmp_path: Path) -> None:
    found, ctx, _ = settle(WRONG, tmp_path)
    assert found[RULE] == RIGHT
    assert ctx.activity.figures["rules worded anew"] == 1


def test_a_limit_that_stays_on_the_wrong_side_costs_its_rule(tmp_path: Path) -> None:
    stubborn = only("policy.reword", reworded(RIGHT.replace("at least", "at most")))
    found, ctx, author = settle(WRONG, tmp_path, stubborn)
    assert RULE not in found
    assert ctx.activity.rejected == {SENTENCE_AND_SQL_DIFFER: 1}
    complaints = [str(request.messages[-1].content) for request in author.requests if request.question[-2:] == "rd"]
    assert "5 hours from now. The SQL says that this may not be done, the sentence" in complaints[-1]


def test_a_judge_that_gives_no_verdict_leaves_all_undecided(tmp_path: Path) -> None:
    _, ctx, _ = settle(a_contract(), tmp_path, only("policy.decide", "[]"))
    assert ctx.activity.figures["cases agreed"] == 0
    assert ctx.activity.figures["cases undecided"] > 100

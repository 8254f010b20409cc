"""Rules are settled before they are a contract's: worded anew, or taken out."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from skillweave.llm.backends.backend import Request
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Guard
from synth.engine.context import Context
from synth.policy.audit import audit
from synth.policy.manual import sentences_of
from synth.policy.review import SENTENCE_AND_SQL_DIFFER, review_rules
from synth.steps.s04_blueprint_generation import blueprint_generation
from tests.policy.contracts import a_contract
from tests.policy.stage import Answer, Author, context, with_says

RIGHT = "An appointment cannot be cancelled unless at least 6 hours are left until its start."
WRONG = with_says("at least 6 hours", "at least 9 hours")
(RULE,) = (rule for rule, says in sentences_of(WRONG).items() if "at least 9 hours" in says)


def settle(
    blueprint: Blueprint, folder: Path, instead: Answer = lambda request: None
) -> tuple[Blueprint, Context[Any], Author]:
    author = Author(instead)
    ctx = context(blueprint_generation, folder, author)
    return asyncio.run(review_rules(ctx, blueprint)), ctx, author


def says(**sentences: str) -> str:
    return json.dumps({"sentences": [{"rule": rule, "says": told} for rule, told in sentences.items()]})


def rules_without(blueprint: Blueprint, *rules: str) -> list[list[Guard]]:
    return [[guard for guard in tool.guards if guard.rule not in rules] for tool in blueprint.tools]


def test_a_blueprint_that_agrees_with_itself_stays_as_it_is_and_nobody_is_asked(tmp_path: Path) -> None:
    contract = a_contract()
    found, _, author = settle(contract, tmp_path)
    assert found == contract
    assert author.asked == []


def test_a_rule_is_worded_anew_wherever_it_stands(tmp_path: Path) -> None:
    found, ctx, author = settle(WRONG, tmp_path, lambda request: says(**{RULE: RIGHT}))
    assert sentences_of(found)[RULE] == RIGHT
    assert audit(found) == []
    assert author.asked == ["policy.reword"]
    assert (ctx.activity.figures["rules worded anew"], ctx.activity.rejected) == (1, {})
    complaint = str(author.requests[0].messages[-1].content)
    assert "the SQL says 6 hours, the sentence does not" in complaint


def test_a_guard_s_rule_that_stays_apart_is_taken_out_of_each_tool(tmp_path: Path) -> None:
    found, ctx, _ = settle(WRONG, tmp_path)
    assert [tool.guards for tool in found.tools] == rules_without(WRONG, RULE)
    assert ctx.activity.rejected == {SENTENCE_AND_SQL_DIFFER: 1}


def test_an_effect_s_rule_that_stays_apart_takes_its_tool_along(tmp_path: Path) -> None:
    contract = a_contract()
    lost = next(tool for tool in contract.tools if tool.effects)
    wrong = lost.effects[0].model_copy(update={"says": "Everything is done within 77 days."})
    shared = {tool.name for tool in contract.tools for part in tool.effects if part.rule == wrong.rule}
    tools = [
        tool.model_copy(update={"effects": [wrong if one.rule == wrong.rule else one for one in tool.effects]})
        for tool in contract.tools
    ]
    found, ctx, _ = settle(contract.model_copy(update={"tools": tools}), tmp_path)
    assert {tool.name for tool in contract.tools} - {tool.name for tool in found.tools} == shared
    assert ctx.activity.rejected == {SENTENCE_AND_SQL_DIFFER: 1}


def test_several_rules_are_one_question_and_what_is_sound_is_kept(tmp_path: Path) -> None:
    other = "R53"
    told = sentences_of(a_contract())[other]
    twice = with_says("at least 6 hours", "at least 9 hours")
    tools = [
        tool.model_copy(
            update={
                "guards": [
                    one.model_copy(update={"says": "It takes 99 days."}) if one.rule == other else one
                    for one in tool.guards
                ]
            }
        )
        for tool in twice.tools
    ]

    def author(request: Request) -> str:
        return says(**{RULE: RIGHT, other: "It takes 98 days."}) if not request.attempt else says(**{other: told})

    found, ctx, asked = settle(twice.model_copy(update={"tools": tools}), tmp_path, author)
    assert (sentences_of(found)[RULE], sentences_of(found)[other]) == (RIGHT, told)
    assert asked.asked == ["policy.reword", "policy.reword"]
    complaint = str(asked.requests[1].messages[-1].content)
    assert f"give sentences for these alone: {other};" in complaint
    assert f"{RULE}:" not in complaint
    assert ctx.activity.figures["rules worded anew"] == 2


@pytest.mark.parametrize("sentence", ["", "Two\nlines.", "It is so by [R2].", "<!-- tool: x -->", "SELECT 6 hours."])
def test_a_sentence_that_no_policy_can_hold_is_none(tmp_path: Path, sentence: str) -> None:
    found, _, _ = settle(WRONG, tmp_path, lambda request: says(**{RULE: sentence}))
    assert RULE not in sentences_of(found)


def test_what_nobody_asked_for_changes_nothing(tmp_path: Path) -> None:
    found, _, _ = settle(WRONG, tmp_path, lambda request: says(**{RULE: RIGHT, "R1": "No.", "R999": "No."}))
    assert sentences_of(found) == sentences_of(WRONG) | {RULE: RIGHT}


@pytest.mark.parametrize("reply", ["nonsense", "[]", '{"sentences": []}'])
def test_an_author_without_an_answer_costs_the_rule_alone(tmp_path: Path, reply: str) -> None:
    found, _, _ = settle(WRONG, tmp_path, lambda request: reply)
    assert [tool.guards for tool in found.tools] == rules_without(WRONG, RULE)

"""Contracts in stages: each complaint goes to whoever can mend it, and what stays wrong costs as little as it can."""

import json
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from skillweave.manifest import ItemRecord
from skillweave.schema.contract import Tool
from skillweave.schema.graph import EntityGraph
from synth.artifacts import DOMAIN_TOPICS, DRAFTS, ENTITIES, ENTITY_GRAPH
from synth.questions.types import Outline, Rules, ToolOutline
from synth.steps.s04_blueprint_generation import BlueprintParams, blueprint_generation, told_apart, tool_faults
from tests.fusion.stage import Stage
from tests.questions.library import FIND_MEMBER, LIST_MY_LOANS, NOW, answer, domain, draft

KEY = "LendingLibrary"
RENEW: Tool = answer("blueprint.tool")
RETURN = RENEW.model_copy(update={"name": "return_book"})
RULES: Rules = answer("blueprint.rules")


def said(value: object) -> str:
    return json.dumps(to_jsonable_python(value, exclude_none=True))


def with_sql(tool: Tool, old: str, new: str) -> Tool:
    return Tool.model_validate_json(tool.model_dump_json().replace(old, new))


def staged(folder: Path, *tools: Tool, rules: Rules = RULES) -> tuple[ItemRecord, Stage]:
    """The step on the library's tables, with an author who gives these contracts and rules, every time."""
    outlines = [ToolOutline(name=tool.name, kind=tool.kind, description=tool.description) for tool in tools]
    answers: dict[str, Any] = {
        "blueprint.relationships": said(answer("blueprint.relationships")),
        "blueprint.outline": said(Outline(title="Millbrook Library", tools=outlines)),
        "blueprint.rules": said(rules),
        **{f"blueprint.tool {KEY}/{tool.name}": said(tool) for tool in tools},
    }
    stage = Stage(folder, NOW, answers)
    stage.give(DOMAIN_TOPICS, KEY, domain())
    stage.give(ENTITIES, KEY, answer("entities.extract"))
    stage.give(ENTITY_GRAPH, KEY, EntityGraph(domain=KEY, core_entity="Member", relations=answer("graph.relate")))
    return stage.run(blueprint_generation, KEY, BlueprintParams(min_tools=3)), stage


def test_a_tool_that_stays_wrong_is_left_out(tmp_path: Path) -> None:
    clock = with_sql(RETURN, "date(:now)", "date('now')")
    record, stage = staged(tmp_path, FIND_MEMBER, LIST_MY_LOANS, RENEW, clock)
    assert record.state == "done", record.reasons
    assert record.rejected == {"no sound contract for a tool": 1}
    assert [tool.name for tool in stage.read(DRAFTS, KEY).tools] == ["find_member", "list_my_loans", "renew_loan"]
    complaint = next(r.messages[-1].content for r in stage.requests if r.attempt == 1)
    assert "tool return_book, guard not_overdue: gives 'now' to a date function" in str(complaint)


def test_too_few_sound_tools_cost_the_domain(tmp_path: Path) -> None:
    record, _ = staged(tmp_path, FIND_MEMBER, LIST_MY_LOANS, with_sql(RENEW, "date(:now)", "date('now')"))
    assert record.state == "rejected"
    assert "only 2 tools of LendingLibrary have a sound contract; at least 3 are needed" in record.reasons[0]


def test_nobody_is_served_where_nobody_can_sign_in(tmp_path: Path) -> None:
    alone = FIND_MEMBER.model_copy(update={"parameters": FIND_MEMBER.parameters[:1]})
    record, _ = staged(tmp_path, alone, LIST_MY_LOANS, RENEW, RETURN)
    assert record.state == "rejected"
    assert "one of them of kind auth" in record.reasons[0]


def test_a_tool_of_another_name_or_kind_than_asked_for_is_sent_back() -> None:
    asked = ToolOutline(name="renew_loan", kind="read", description="x")
    assert tool_faults(draft(), asked, RENEW) == [
        "the tool is 'renew_loan' of kind write; asked was 'renew_loan' of kind read"
    ]


def test_what_is_wrong_with_the_rules_goes_to_their_author(tmp_path: Path) -> None:
    never = RULES.invariants[0].model_copy(update={"never": "SELECT shelf FROM loan"})
    rules = RULES.model_copy(update={"invariants": [never]})
    record, stage = staged(tmp_path, FIND_MEMBER, LIST_MY_LOANS, RENEW, rules=rules)
    assert record.state == "rejected"
    complaints = [str(r.messages[-1].content) for r in stage.requests if r.question == "blueprint.rules" and r.attempt]
    assert complaints
    assert all("invariant lent_once: " in text and "no such column: shelf" in text for text in complaints)


def test_one_name_for_two_sentences_makes_two_rules() -> None:
    other = with_sql(RETURN, "Only a loan that is still out can be renewed or returned.", "A loan that is out can be.")
    renew, back = told_apart([RENEW, other])
    assert renew == RENEW
    assert [guard.rule for guard in back.guards] == [
        "own_loan",
        "running_loan/return_book",
        "renewal_limit",
        "not_overdue",
    ]

"""The optimizer's answers: what models really write is read."""

import json
from typing import Any

import pytest

from learn.skill.document import Edit
from learn.skill.replies import (
    LearningRate,
    MergedEdits,
    MergedSuggestions,
    Ranking,
    Reflection,
    RewriteReflection,
    SuggestionReflection,
    read_json,
)
from skillweave.llm.parse import ParseError, parse
from skillweave.llm.question import Question


def answer(model: type[Any], value: object) -> Any:
    return parse(
        Question("skill.reflect", model, package="learn.skill.prompts"), f"Sure.\n```json\n{json.dumps(value)}\n```"
    )


def test_a_reflection_is_read_with_or_without_its_patch() -> None:
    edit = {"op": "append", "content": "x", "reflection_type": "DISCOVERY"}
    wrapped = answer(Reflection, {"batch_size": "2", "patch": {"reasoning": "r", "edits": [edit, "nonsense"]}})
    plain = answer(Reflection, {"batch_size": 2, "reasoning": "r", "edits": [edit]})
    assert wrapped == plain
    assert plain.edits == [Edit(op="append", content="x")]


def test_wrong_fields_cost_themselves_alone() -> None:
    reflection = answer(
        Reflection, {"batch_size": "many", "failure_summary": [1, {"failure_type": "t", "count": None}], "edits": []}
    )
    assert (reflection.batch_size, [kind.count for kind in reflection.failure_summary]) == (0, [0])


def test_notes_alone_are_a_reflection() -> None:
    reflection = answer(Reflection, {"appendix_notes": ["a", {"note": "b"}, 3]})
    assert (reflection.edits, reflection.appendix_notes) == ([], ["a", "b"])
    assert answer(SuggestionReflection, {"appendix_notes": "one"}).appendix_notes == ["one"]


def test_suggestions_and_rewrites_are_read_under_other_names_too() -> None:
    suggestion = {"type": "add", "instruction": "i"}
    assert (
        answer(SuggestionReflection, {"patch": {"revise_suggestions": [suggestion]}}).suggestions[0].instruction == "i"
    )
    assert answer(MergedSuggestions, {"revise_suggestions": [suggestion]}).suggestions[0].type == "add"
    candidate = {"new_skill": "# S", "change_summary": "one line"}
    rewrite = answer(RewriteReflection, {"patch": {"skill_candidates": [candidate]}})
    assert (rewrite.new_skill, rewrite.change_summary) == ("# S", ["one line"])


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (Reflection, {"thoughts": "none"}),
        (RewriteReflection, {"title": "t"}),
        (MergedEdits, {"edits": ["a"]}),
        (MergedEdits, {"edits": "a"}),
        (Ranking, {"order": [1]}),
        (LearningRate, {"learning_rate": "some"}),
    ],
)
def test_what_holds_no_answer_is_sent_back(model: type[Any], value: object) -> None:
    with pytest.raises(ParseError):
        answer(model, value)


def test_a_ranking_keeps_whole_numbers() -> None:
    assert answer(Ranking, {"selected_indices": [2, "1", True, 0.5, 0]}).selected_indices == [2, 0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('```json\nno\n```\nso: {"a": 1}', {"a": 1}),
        ('[{"a": 1}]', {"a": 1}),
        ('{"a": 1} {"a": 2}', None),
        ("{broken", None),
        ("", None),
    ],
)
def test_one_object_is_found_or_none(text: str, value: object) -> None:
    assert read_json(text) == value

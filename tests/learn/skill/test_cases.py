"""Recorded cases of SkillOpt: equal where its behaviour is worth having, other where we decided otherwise.

| case | kind | here |
| --- | --- | --- |
| edit-03 | quirk | text added to an empty document does not begin with empty lines |
| config-02 | quirk | the same: unknown keys are left out of flat settings; our own configuration refuses them |
| step_buffer-02 | bug | a reason that is null is `unknown` |
"""

import json
from pathlib import Path
from typing import Any

import pytest

from learn.skill.cases import run
from skillweave.base.errors import ConfigError

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "skillopt_cases.json").read_text("utf-8"))["cases"]
DECIDED: dict[str, dict[str, Any]] = {
    "edit-03": {"skill": "- first\n", "per_edit": [{"applied": True, "reference_status": "applied_append"}]},
    "step_buffer-02": {"patterns": [{"pattern": "unknown", "count": 1, "task_ids": ["1"]}]},
}


@pytest.mark.parametrize("case", RECORDED, ids=[case["id"] for case in RECORDED])
def test_a_recorded_case_gives_what_was_recorded_or_decided(case: dict[str, Any]) -> None:
    assert run(case) == DECIDED.get(case["id"], case["expected"])


def test_only_quirks_and_bugs_are_decided_otherwise() -> None:
    assert {case["kind"] for case in RECORDED if case["id"] in DECIDED} <= {"quirk", "bug"}


S = "# S\n\n- a\n- a\n\n{SLOW_START}\nkeep\n{SLOW_END}\n"
EDIT, JSON = "edit", "json_extract"
FURTHER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("gate_score", {"hard": 0.5, "soft": 1, "metric": "mixed"}, {"score": 0.75}),
    ("gate_score", {"hard": 0.5, "soft": 1, "metric": "mixed", "mixed_weight": 7}, {"score": 1.0}),
    ("gate_score", {"hard": 0.5, "soft": 1, "metric": "loud"}, {"error": "ValueError"}),
    (
        "schedule",
        {"mode": "linear", "max": 8, "min": 1, "total_steps": 5, "calls": 7},
        {"budgets": [7, 5, 4, 2, 1, 1, 1]},
    ),
    ("schedule", {"mode": "autonomous", "max": 8, "min": 1, "total_steps": 5, "calls": 2}, {"budgets": [999, 999]}),
    (
        "schedule",
        {"mode": "cosine", "max": 4, "min": 2, "total_steps": 10, "calls": 3, "resume_at": 5},
        {"budgets": [3, 2, 2]},
    ),
    (
        "select",
        {"pool": ["a", "b", "c"], "budget": 2, "ranker_reply": '{"selected_indices": ["1", 9, 2, 2]}'},
        {"kept": ["c"]},
    ),
    ("select", {"pool": ["a", "b", "c"], "budget": 2, "ranker_reply": "no idea"}, {"kept": ["a", "b"]}),
    ("select", {"pool": ["a", "b", "c"], "budget": 0, "ranker_reply": '{"selected_indices": [1]}'}, {"kept": []}),
    (
        "autonomous_lr",
        {"reply": '{"learning_rate": "up to 2 edits"}', "available": 1},
        {"learning_rate": 1, "raw_learning_rate": 2, "clamped": True, "fallback": False},
    ),
    (
        "autonomous_lr",
        {"reply": '{"learning_rate": true}', "available": 1},
        {"learning_rate": 0, "raw_learning_rate": 0, "clamped": False, "fallback": True},
    ),
    (
        "aggregate",
        {
            "failure_patches": [["a"], ["b"], ["c"]],
            "success_patches": [["d"]],
            "merge_batch_size": 2,
            "merge_replies": ['{"edits": [{"op": "append", "content": "m"}]}', "garbage", "garbage"],
        },
        {"merged": ["m", "c", "d"], "model_calls": 3},
    ),
    (
        "aggregate",
        {"failure_patches": [["a"], ["b"]], "success_patches": [["d"]], "merge_replies": ['{"edits": []}']},
        {"merged": ["d"], "model_calls": 1},
    ),
    ("protected_field", {"operation": "extract_slow", "skill": S, "args": []}, {"result": "keep"}),
    ("protected_field", {"operation": "has_notes", "skill": S, "args": []}, {"result": False}),
    (
        "protected_field",
        {"operation": "replace_slow", "skill": "# S\n\n{SLOW_START}\nx\n{SLOW_END}\n\n## B\n", "args": ["y"]},
        {"result": "# S\n\n## B\n\n{SLOW_START}\ny\n{SLOW_END}\n"},
    ),
    (
        "protected_field",
        {"operation": "append_notes", "skill": "# S\n", "args": [["Ask first.", " ask  FIRST"]]},
        {"result": "# S\n\n{NOTES_START}\n{NOTES_HEADING}\n- Ask first.\n{NOTES_END}\n"},
    ),
    (
        "longitudinal",
        {"categories": {"a": "improved", "b": "stable_success"}, "policy": "changed", "target_n": 5},
        {"kept": ["a"]},
    ),
    ("split_counts", {"total": 10, "ratio": "2:1"}, {"error": "ValueError"}),
    ("minibatch", {"items": [1, 2, 3], "seed": None}, {"no_seed": [1, 2, 3], "seeded": [1, 2, 3]}),
    (JSON, {"text": '{"a": 1} or {"b": 2}'}, {"value": None}),
    (JSON, {"text": "a mapping {op: delete} in prose"}, {"value": None}),
    (JSON, {"text": "the items are [1, 2].", "kind": "array"}, {"value": [1, 2]}),
    (
        "config",
        {"config": {"train": {"batch_size": 8}}, "overrides": ["train.batch_size=4", "edit_budget=3"]},
        {"config": {"train": {"batch_size": 4}, "optimizer": {"learning_rate": 3}}},
    ),
    ("config", {"batch_size": 3, "codex_bin": "/x"}, {"flat": {"batch_size": 3, "codex_exec_path": "/x"}}),
    (
        EDIT,
        {"skill": S, "edits": [{"op": "replace", "target": "- a\n\n{SLOW_START}", "content": "b"}]},
        {"skill": S, "per_edit": [{"applied": False, "reference_status": "skipped_protected_region"}]},
    ),
    (
        EDIT,
        {"skill": "# S\n", "edits": [{"op": "append", "target": None, "content": "b"}]},
        {"skill": "# S\n\nb\n", "per_edit": [{"applied": True, "reference_status": "applied_append"}]},
    ),
    (
        EDIT,
        {"skill": "# S\n", "edits": [{"op": "insert_after", "target": "none", "content": "b"}]},
        {
            "skill": "# S\n\nb\n",
            "per_edit": [{"applied": True, "reference_status": "applied_insert_after_fallback_append"}],
        },
    ),
    (
        "normalise",
        {"raw": [{"batch_size": "three", "patch": {"edits": [{"op": "append", "content": "x"}]}}]},
        {
            "failure": [{"edits": [{"op": "append", "content": "x", "source_type": "failure", "support_count": 1}]}],
            "success": [],
        },
    ),
]


@pytest.mark.parametrize(("area", "given", "expected"), FURTHER)
def test_a_further_case_gives_what_is_expected(area: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert run({"area": area, "input": given}) == expected


def test_an_unknown_area_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown area 'tests'.* aggregate, .*loop, .*step_buffer"):
        run({"area": "tests", "input": {}})


@pytest.mark.parametrize(
    ("settings", "actions"),
    [
        ({"use_gate": False}, ["force_accept"] * 4),
        ({"failure_only": True, "num_epochs": 1}, ["accept_new_best", "reject"]),
    ],
)
def test_a_run_follows_its_settings(settings: dict[str, Any], actions: list[str]) -> None:
    recorded = next(case["input"] for case in RECORDED if case["area"] == "loop")
    outcome = run({"area": "loop", "input": {**recorded, "settings": {**recorded["settings"], **settings}}})
    assert [step["action"] for step in outcome["steps"]] == actions

"""Tasks of the small clinic; a test states only what it cares about."""

from typing import Any

from skillweave.schema.task import Task
from tests.world.clinic import NOW

BASE: dict[str, Any] = {
    "id": "SmallClinic-1",
    "domains": ["SmallClinic"],
    "world": "SmallClinic",
    "kind": "do",
    "login": "session",
    "messages": [{"role": "user", "content": "Hello"}],
    "user_system_prompt": "",
    "persona": {"name": "Ana Lopez", "age": 43, "style": "brief", "patience": 3},
    "scenario": {"goal": "", "reason": "", "facts": []},
    "now": NOW,
    "env_variables": {"CURRENT_DATE": NOW[:10], "LOGGED_IN_USER": "PAT-0001", "LOGGED_IN_NAME": "Ana Lopez"},
    "tools": "tool_lists/SmallClinic.json",
    "policy": "policies/SmallClinic.md",
    "initial_state": {"database": "database/SmallClinic.sqlite", "digest": ""},
    "golden": [],
    "criteria": {"state": [], "reward_basis": ["state"]},
    "difficulty": {"calls": 1, "writes": 1, "domains": 1, "facts": 0},
    "gates": {
        name: {} for name in ("golden", "not_already_true", "minimal", "mutants", "equivalents", "grounded", "lawful")
    },
    "split": "train",
    "task_info": {
        "trajectory": [],
        "instruction": "",
        "reason_for_call": "",
        "known_info": "",
        "trajectory_hash": "",
        "combo_id": "",
    },
    "lineage": {"template": "", "combo": "", "seed_domain": ""},
}


def a_task(**changes: Any) -> Task:
    """A task, with these fields changed."""
    return Task.model_validate({**BASE, **changes})

"""A folder as a skill run leaves it: three steps, of which two are accepted, one rejected; and the end of an epoch."""

import json
from pathlib import Path
from typing import Any

FIRST = "# Skill\n\nAsk who is calling.\n"
SECOND = "# Skill\n\nAsk who is calling.\n\nLook the booking up before you change it.\n"
THIRD = "# Skill\n\nAsk who is calling, and for the booking.\n\nLook the booking up before you change it.\n"
REFUSED = "# Skill\n\nDecline whatever is asked.\n"


def a_step(number: int, action: str, **changes: Any) -> dict[str, Any]:
    """A step's record."""
    return {
        "step": number,
        "epoch": 1,
        "step_in_epoch": number,
        "action": action,
        "rollout_hard": 0.4,
        "rollout_soft": 0.6,
        "rollout_n": 8,
        "n_patches": 2,
        "n_edits_merged": 3,
        "n_edits_ranked": 1,
        "edit_budget": 4,
        "candidate_hash": "abc",
        "candidate_skill_len": 80,
        "selection_hard": 0.5,
        "selection_soft": 0.7,
        "candidate_gate_score": 0.5,
        "gain_p": None,
        "current_score": 0.5,
        "best_score": 0.5,
        "best_step": number,
        "skill_len": 80,
        "tokens": {"reflect": {"calls": 2, "prompt_tokens": 100, "completion_tokens": 10}},
        "cost_usd": 0.25,
        **changes,
    }


def write(folder: Path, path: str, content: Any) -> None:
    """Write a text, or a value as JSON."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def a_run(folder: Path, text: str = "") -> Path:
    """The folder of a finished run; `text` stands wherever a model writes.

    Step 1 is accepted with 0.3 -> 0.5, step 2 rejected with 0.5 -> 0.2, step 3 accepted with 0.5 -> 0.7.
    """
    steps = [
        a_step(1, "accept_new_best", gain_p=0.03),
        a_step(2, "reject", candidate_gate_score=0.2, selection_hard=0.2),
        a_step(3, "accept_new_best", candidate_gate_score=0.7, current_score=0.7, best_score=0.7),
        a_step(4, "skip_no_patches", candidate_gate_score=None, current_score=0.7, best_score=0.7, best_step=3),
    ]
    write(folder, "history.json", steps)
    skills = [FIRST, SECOND + text, SECOND + text, THIRD + text, THIRD + text]
    for number, skill in enumerate(skills):
        write(folder, f"skills/skill_v{number:04d}.md", skill)
    for number, candidate in ((1, SECOND + text), (2, REFUSED + text), (3, THIRD + text)):
        edits = [{"op": "append", "target": text, "content": f"edit {number} {text}", "source_type": "failure"}]
        report = [{"index": 1, "op": "append", "status": "applied_append", "error": text or None}]
        write(folder, f"steps/step_{number:04d}/candidate_skill.md", candidate)
        write(folder, f"steps/step_{number:04d}/ranked_edits.json", edits)
        write(folder, f"steps/step_{number:04d}/edit_apply_report.json", report)
    slow = {"action": "accept", "slow_update_content": f"Take your time. {text}", "selection_hard": 0.7}
    write(folder, "slow_update/epoch_01/slow_result.json", slow)
    tests = {"initial": {"hard": 0.25, "low": 0.1, "high": 0.4}, "best": {"hard": 0.75, "low": 0.6, "high": 0.9}}
    summary = {
        "baseline_selection_hard": 0.3,
        "best_selection_hard": 0.7,
        "best_step": 3,
        "test": {name: {**score, "soft": 0.8, "n": 20} for name, score in tests.items()},
        "total_accepts": 2,
        "total_rejects": 1,
        "total_skips": 1,
        "cost_usd": 1.5,
    }
    write(folder, "summary.json", summary)
    write(folder, "best_skill.md", THIRD + text)
    return folder

"""Results; a test states only what it cares about."""

from typing import Any

from skillweave.schema.result import Result

BASE: dict[str, Any] = {
    "id": "SmallClinic-1#0",
    "task_id": "SmallClinic-1",
    "trial": 0,
    "world": "SmallClinic",
    "domains": ["SmallClinic"],
    "kind": "do",
    "split": "train",
    "checks_version": "1",
    "passed": True,
    "reward": 1.0,
    "checks": {},
    "persona": "brief",
    "calls": 3,
    "agent": "vendor/strong",
    "user": "offline/user",
    "trajectory_digest": "",
}


def a_result(task: str = "SmallClinic-1", trial: int = 0, **changes: Any) -> Result:
    """A result that passed, with these fields changed; one that failed has the class `other` if no other is given."""
    fields = {**BASE, "id": f"{task}#{trial}", "task_id": task, "trial": trial, **changes}
    if fields["passed"] is False:
        fields.setdefault("failure", a_failure("other"))
        fields["reward"] = changes.get("reward", 0.0)
    return Result.model_validate(fields)


def an_error(kind: str, task: str = "SmallClinic-1", trial: int = 0, **changes: Any) -> Result:
    """A result that could not be scored."""
    error = {"kind": kind, "message": "so it was"}
    return a_result(task, trial, passed=None, reward=None, error=error, **changes)


def a_failure(name: str, expected: str = "", got: str = "") -> dict[str, Any]:
    """A failure of this class."""
    divergence = {"turn": 0, "message": 1, "call": None, "expected": expected, "got": got}
    return {"class": name, "first_divergence": divergence}

"""Tasks that differ in what they do and say; a test states only what it cares about."""

from typing import Any

from skillweave.schema.task import Task
from tests.evaluator.tasks import BASE, a_task


def told(id: str, text: str, *calls: tuple[str, dict[str, Any]], **changes: Any) -> Task:
    """A task whose user begins with the text, with these golden calls."""
    name = changes.pop("name", id)
    base: dict[str, Any] = {
        "id": id,
        "messages": [{"role": "user", "content": text}],
        "persona": BASE["persona"] | {"name": name},
        "golden": [{"tool": tool, "arguments": arguments} for tool, arguments in calls],
        "lineage": BASE["lineage"] | {"template": changes.pop("template", "SmallClinic/move")},
    }
    return a_task(**(base | changes))

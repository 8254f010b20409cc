"""A task as a row of a table: the same columns of the same types for every task, as table readers and hubs want them.

What is nested in a task's record is JSON text here, since readers merge the structures of all rows into one otherwise.
The tools and the policy are files beside the rows, because many tasks share them.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from skillweave.schema.record import Record
from skillweave.schema.task import Task

RowType = Literal["text", "texts", "integer"]
"""The type of a column: a text, a list of texts, or an integer of 64 bits."""


class TaskRow(Record):
    """A task as a row of a table. `queries/<world>.jsonl` has its whole record, with what was proved about it."""

    id: str
    """The task's id."""
    world: str
    """The world in which it is done."""
    domains: list[str]
    """Servers whose domains it needs."""
    kind: str
    """What is to be observed of it: `do`, `inform`, `refuse`, `clarify`, `unavailable`."""
    forms: list[str]
    """Names of the forms in which the request is put; none if it is a plain one."""
    split: str
    """`train`, `validation` or `test`."""
    level: int
    """Difficulty, 1 to 5."""
    login: str
    """`session`: the channel has signed the user in; `conversation`: the agent has to."""
    now: str
    """The session's clock, `YYYY-MM-DD HH:MM:SS`."""
    first_message: str
    """What the user says first."""
    instruction: str
    """The goal, in the second person."""
    persona: str
    """JSON: who the user is."""
    scenario: str
    """JSON: what the user wants and knows."""
    env_variables: str
    """JSON: what the agent is told about the session."""
    namespaces: str
    """JSON: server -> namespace of its tools."""
    noise: str
    """JSON: the planted faults; `null` if there are none."""
    tools_file: str
    """Path of the tool list, relative to the outputs folder."""
    tools_hidden: list[str]
    """Tools of that list that the task does not offer."""
    policy_file: str
    """Path of the policy, relative to the outputs folder."""
    initial_state: str
    """JSON: the database with which the session opens, and its digest."""
    golden: str
    """JSON: the reference calls."""
    golden_tools: list[str]
    """Names of the reference calls' tools, in order."""
    criteria: str
    """JSON: what a session is scored against."""
    reward_basis: list[str]
    """The checks whose product is the reward."""


def task_row(task: Task) -> TaskRow:
    """The row of a task."""
    record = task.model_dump(mode="json")
    nested = ("persona", "scenario", "env_variables", "namespaces", "noise", "initial_state", "golden", "criteria")
    texts: dict[str, Any] = {name: json_text(record[name]) for name in nested}
    return TaskRow(
        **texts,
        **{name: record[name] for name in ("id", "world", "domains", "kind", "split", "login", "now", "tools_hidden")},
        forms=[form.name for form in task.forms],
        level=task.difficulty.level,
        first_message=task.messages[0].content or "",
        instruction=task.scenario.goal,
        tools_file=task.tools,
        policy_file=task.policy,
        golden_tools=[call.tool for call in task.golden],
        reward_basis=list(task.criteria.reward_basis),
    )


def json_text(value: object) -> str:
    """A value as JSON text on one line, without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class TableColumn(NamedTuple):
    """A column of the table of tasks."""

    name: str
    type: RowType


_TYPES: Mapping[object, RowType] = {str: "text", list[str]: "texts", int: "integer"}


def task_columns() -> list[TableColumn]:
    """The columns of the table of tasks, in order."""
    hints = get_type_hints(TaskRow)
    return [TableColumn(name, _TYPES[hints[name]]) for name in TaskRow.model_fields]


assert {*_TYPES.values()} == {*get_args(RowType)}

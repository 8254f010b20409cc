"""A recorded trajectory, read from a line that anybody may have written: as little is asked of it as scoring needs."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from evaluator.foreign import in_our_form
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.trajectory import RolloutUsage, UserTurn

LONGEST_ID = 512
MOST_CALLS = 2_000
"""Calls of one trajectory that are made again."""


class UnreadableError(Exception):
    """A line that is no trajectory; in words."""


class _Lean(BaseModel):
    """Takes what it needs, and lets be what it does not know."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class Speaker(_Lean):
    backend: str | None = None


class RecordedError(_Lean):
    kind: str = "infrastructure"
    message: str = ""


class Recorded(_Lean):
    """What is read of a trajectory."""

    id: str = Field(min_length=1, max_length=LONGEST_ID)
    task_id: str = Field(default="", max_length=LONGEST_ID)
    trial: int = 0
    world: str = ""
    domains: list[str] = Field(default_factory=list)
    dataset: str | None = None
    task_digest: str | None = None
    messages: list[Message] = Field(default_factory=list)
    stop_reason: str | None = None
    error: RecordedError | None = None
    agent: Speaker | None = None
    model: str | None = None
    """Who the agent was, where `agent` does not say."""
    user: Speaker | None = None
    usage: RolloutUsage | None = None
    user_turns: list[UserTurn] | None = None
    metadata: dict[str, Json] | None = None

    @property
    def agent_name(self) -> str | None:
        """`provider/model` of the agent."""
        return (self.agent.backend if self.agent else None) or self.model

    @property
    def calls(self) -> int:
        """How many calls it holds."""
        return sum(len(message.tool_calls or ()) for message in self.messages if message.role == "assistant")


_RECORDED = TypeAdapter(Recorded)


def read(line: bytes) -> Recorded:
    """The trajectory in a line. Raises UnreadableError."""
    try:
        found = _RECORDED.validate_json(line)
    except ValidationError:
        found = _read_leniently(line)
    if any("function_call" in (message.model_extra or ()) for message in found.messages):
        found = _read_leniently(line)
    if not found.task_id:
        task_id, _, trial = found.id.rpartition("#")
        given = {"task_id": task_id or found.id, "trial": int(trial) if trial.isdecimal() else found.trial}
        found = found.model_copy(update=given)
    if found.calls > MOST_CALLS:
        raise UnreadableError(f"it holds {found.calls} calls; at most {MOST_CALLS} are made again")
    return found


def _read_leniently(line: bytes) -> Recorded:
    """What other programs write in other ways, written as we do; what is of no use to a score is let go."""
    try:
        record = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise UnreadableError(f"it is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise UnreadableError("it is no JSON object")
    record["id"] = identity(record)[0]
    record["agent"] = {"backend": agent_of(record)}
    for name in ("usage", "metadata", "user", "domains", "model"):
        record[name] = _kept(name, record.get(name))
    turns = record.get("user_turns")
    record["user_turns"] = _turns(turns) if isinstance(turns, list) else None
    if isinstance(record.get("messages"), list):
        record["messages"] = in_our_form(record["messages"])
    for name in ("task_id", "world"):
        record[name] = record.get(name) if isinstance(record.get(name), str) else ""
    record["trial"] = record.get("trial") if isinstance(record.get("trial"), int) else 0
    try:
        return _RECORDED.validate_json(json.dumps(record))
    except (ValidationError, ValueError) as error:
        raise UnreadableError(_first(error)) from None


def _kept(name: str, value: Any) -> Any:
    """The value where it is one that can be used."""
    try:
        return Recorded.__pydantic_validator__.validate_python({"id": "x", name: value}).model_dump()[name]
    except ValidationError:
        return [] if name == "domains" else None


def _turns(records: list[Any]) -> list[Any]:
    """The user's records that can be used: a bad one takes no other with it."""
    return [kept for one in records for kept in _kept("user_turns", [one]) or ()]


def identity(record: dict[str, Any]) -> tuple[str, str]:
    """The ids of a trajectory and of its task, where one of them says the other; empty where nothing does."""
    id, task_id, trial = record.get("id"), record.get("task_id"), record.get("trial")
    task_id = task_id if isinstance(task_id, str) else ""
    if not isinstance(id, str) or not id:
        id = f"{task_id}#{trial}" if task_id and isinstance(trial, int) else ""
    return id, task_id or id.rpartition("#")[0] or id


def agent_of(record: dict[str, Any]) -> str | None:
    """`provider/model` of the agent, as the record says it: in `agent.backend`, or in `agent` or `model` as a text."""
    agent = record.get("agent")
    name = (agent.get("backend") if isinstance(agent, dict) else agent) or record.get("model")
    return name if isinstance(name, str) else None


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)

"""A recorded trajectory, and its trial: the recorded calls made again, beside the golden execution of the task.

Anybody may have written the line that holds a trajectory, so reading it requires as little as scoring needs.
Messages in the forms of other programs are brought into OpenAI's form, and thoughts in their words are told apart.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator
from pydantic_core import from_json

from evaluator.replay.execution import Execution
from evaluator.replay.golden import GoldenExecution
from evaluator.text.facts import heard_turns, user_turns_of
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.record import Json
from skillweave.schema.score import Checks
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, RolloutUsage, UserTurn, tell_thoughts_apart, until_end
from skillweave.text_calls import find_call
from skillweave.world.compare import ComparisonLookup
from skillweave.world.tools import result_text, valid_text
from skillweave.world.world import World

Raw = dict[str, Any]
LONGEST_ID = 512
MOST_CALLS = 2_000
"""Most calls of a trajectory that is replayed."""


class UnreadableTrajectoryError(Exception):
    """A line is no trajectory; the message says why."""


class _Lean(BaseModel):
    """Ignores unknown fields."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class RecordedSpeaker(_Lean):
    backend: str | None = None


class RecordedError(_Lean):
    kind: str = "infrastructure"
    message: str = ""


class RecordedTrajectory(_Lean):
    """The fields of a trajectory that scoring needs."""

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
    agent: RecordedSpeaker | None = None
    model: str | None = None
    """The agent's name where `agent` does not give it."""
    user: RecordedSpeaker | None = None
    usage: RolloutUsage | None = None
    user_turns: list[UserTurn] | None = None
    metadata: dict[str, Json] | None = None

    @field_validator("messages")
    @classmethod
    def _without_thoughts(cls, messages: list[Message]) -> list[Message]:
        return tell_thoughts_apart(messages)

    @property
    def agent_name(self) -> str | None:
        """`provider/model` of the agent."""
        return (self.agent.backend if self.agent else None) or self.model

    @property
    def calls(self) -> int:
        """Number of calls."""
        return sum(len(message.tool_calls or ()) for message in self.messages if message.role == "assistant")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A session of a task and the conversation held in it: what every check can look at."""

    task: Task
    execution: Execution
    """The agent's calls, executed."""
    comparison: ComparisonLookup
    """How each column is compared."""
    transcript: Sequence[Message] | None
    """The conversation as recorded; None: unknown."""
    user_records: Sequence[UserTurn] | None
    """What the user recorded of its messages; None: nothing."""
    confirmation_in_reward: bool = False
    """Whether a write without the user's agreement breaks the policy."""

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The conversation until the user left; empty where it is unknown."""
        return until_end(self.transcript or (), self.user_records or ())

    @cached_property
    def heard(self) -> list[UserTurn]:
        """What is recorded of each message of the user, in order."""
        return heard_turns(self.messages, self.user_records)

    @cached_property
    def turns(self) -> list[UserTurn]:
        """What each message of the user means, in order."""
        return user_turns_of(self.task, self.messages, self.user_records)

    @property
    def after_the_end(self) -> int:
        """Number of recorded messages after the user left."""
        return len(self.transcript or ()) - len(self.messages)


@dataclass(frozen=True, kw_only=True)
class ReplayedTrial(Trial):
    """A recorded trajectory, its calls made again, beside the golden execution of its task."""

    world: World
    golden: GoldenExecution
    recorded: RecordedTrajectory

    @cached_property
    def text_calls(self) -> dict[int, str]:
        """Place of each reply without a call whose words hold one -> that call, as it was written."""
        names = [*(tool.name for tool in self.world.blueprint.tools), *SESSION_TOOLS]
        found = {
            place: find_call(message.content or "", names)
            for place, message in enumerate(self.messages)
            if message.role == "assistant" and not message.tool_calls
        }
        return {place: call for place, call in found.items() if call is not None}


@dataclass(frozen=True)
class ScoredTrial:
    """A trial with its checks and its reward."""

    trial: ReplayedTrial
    checks: Checks
    reward: float | None
    """None where a check that counts was not made."""

    @property
    def passed(self) -> bool | None:
        """Whether the reward is 1; None where there is no reward."""
        return None if self.reward is None else self.reward == 1


def replayed_trial(
    task: Task,
    world: World,
    golden: GoldenExecution,
    recorded: RecordedTrajectory,
    execution: Execution,
    *,
    confirmation_in_reward: bool = False,
) -> ReplayedTrial:
    """The trial of a trajectory.

    Args:
        execution: The recorded calls, made again.
        confirmation_in_reward: Whether a write without the user's agreement breaks the policy.
    """
    return ReplayedTrial(
        task=task,
        execution=execution,
        comparison=world.comparison,
        transcript=recorded.messages,
        user_records=recorded.user_turns,
        confirmation_in_reward=confirmation_in_reward,
        world=world,
        golden=golden,
        recorded=recorded,
    )


def replayed_messages(trial: ReplayedTrial) -> list[Message]:
    """The conversation with the results of the replay in place of the recorded ones."""
    steps = iter(trial.execution.calls)
    found: list[Message] = []
    for message in trial.messages:
        if message.role == "tool":
            continue
        found.append(message)
        for call in (message.tool_calls or ()) if message.role == "assistant" else ():
            found.append(Message(role="tool", tool_call_id=call.id, content=result_text(next(steps).result)))
    return found


_RECORDED = TypeAdapter(RecordedTrajectory)
_SURROGATE = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)


def read_trajectory(line: bytes) -> RecordedTrajectory:
    """Read a trajectory from a line of JSON. Raises UnreadableTrajectoryError."""
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
        raise UnreadableTrajectoryError(f"it holds {found.calls} calls; at most {MOST_CALLS} are made again")
    return found


def read_json(line: bytes, *, allow_inf_nan: bool = True) -> Any:
    """A line of JSON. Half a character, which Python's `json` writes as `\\ud800`, is replaced. Raises ValueError."""
    try:
        return from_json(line, allow_inf_nan=allow_inf_nan)
    except ValueError:
        if not _SURROGATE.search(line):
            raise
    try:
        written = json.dumps(json.loads(line), ensure_ascii=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return from_json(valid_text(written), allow_inf_nan=allow_inf_nan)


def _read_leniently(line: bytes) -> RecordedTrajectory:
    """Read a line in another program's form; fields of no use are dropped."""
    try:
        record = read_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise UnreadableTrajectoryError(f"it is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise UnreadableTrajectoryError("it is no JSON object")
    record["id"] = ids_of(record)[0]
    record["agent"] = {"backend": agent_of(record)}
    for name in ("usage", "metadata", "user", "domains", "model"):
        record[name] = _kept(name, record.get(name))
    turns = record.get("user_turns")
    record["user_turns"] = _turns(turns) if isinstance(turns, list) else None
    if isinstance(record.get("messages"), list):
        record["messages"] = in_openai_form(record["messages"])
    for name in ("task_id", "world"):
        record[name] = record.get(name) if isinstance(record.get(name), str) else ""
    record["trial"] = record.get("trial") if isinstance(record.get("trial"), int) else 0
    try:
        return _RECORDED.validate_json(json.dumps(record))
    except (ValidationError, ValueError) as error:
        raise UnreadableTrajectoryError(_first(error)) from None


def _kept(name: str, value: Any) -> Any:
    """The value of a field if it is valid, else the default."""
    try:
        return RecordedTrajectory.__pydantic_validator__.validate_python({"id": "x", name: value}).model_dump()[name]
    except ValidationError:
        return [] if name == "domains" else None


def _turns(records: list[Any]) -> list[Any]:
    """The valid records of the user's turns, without the others."""
    return [kept for one in records for kept in _kept("user_turns", [one]) or ()]


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)


def ids_of(record: dict[str, Any]) -> tuple[str, str]:
    """Ids of a trajectory and of its task; each is derived from the other if it is missing. Empty: unknown."""
    id, task_id, trial = record.get("id"), record.get("task_id"), record.get("trial")
    task_id = task_id if isinstance(task_id, str) else ""
    if not isinstance(id, str) or not id:
        id = f"{task_id}#{trial}" if task_id and isinstance(trial, int) else ""
    return id, task_id or id.rpartition("#")[0] or id


def agent_of(record: dict[str, Any]) -> str | None:
    """`provider/model` of the agent, from `agent.backend`, or from `agent` or `model` as a text."""
    agent = record.get("agent")
    name = (agent.get("backend") if isinstance(agent, dict) else agent) or record.get("model")
    return name if isinstance(name, str) else None


def in_openai_form(messages: list[Any]) -> list[Any]:
    """Messages in OpenAI's form: content as one text, tool calls in `tool_calls`, an id for each call."""
    found = [made for message in messages for made in _made(message)]
    for place, message in enumerate(found):
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        if isinstance(calls, dict):  # a single call without its list; an empty object is none
            calls = [calls] if calls else []
        if isinstance(calls, list):
            named = enumerate(call for call in calls if call is not None)
            message["tool_calls"] = [_called(call, f"call_{place}_{at}") for at, call in named]
    return found


def _made(message: Any) -> Iterator[Any]:
    """A message in OpenAI's form, after the tool results that it carries."""
    if not isinstance(message, dict):
        yield message
        return
    found = dict(message)
    found["role"] = {"developer": "system", "function": "tool"}.get(str(found.get("role")), found.get("role"))
    called = found.pop("function_call", None)
    if isinstance(called, dict):
        found["tool_calls"] = [*(found.get("tool_calls") or []), {"function": called}]
    parts = found.get("content")
    if not isinstance(parts, list):
        yield found
        return
    yield from _results(parts)
    found["content"] = "\n".join(_texts(parts)) or None
    uses = [_as_call(part) for part in parts if isinstance(part, dict) and part.get("type") == "tool_use"]
    if uses:
        found["tool_calls"] = [*(found.get("tool_calls") or []), *uses]
    if found["content"] is not None or found.get("tool_calls") or found["role"] != "user":
        yield found


def _texts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str) and (
            not isinstance(part, dict) or part.get("type", "text") in ("text", "output_text")
        ):
            yield text


def _results(parts: list[Any]) -> Iterator[Raw]:
    """Tool results inside a user's message, which is Anthropic's form."""
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            content = part.get("content")
            text = "\n".join(_texts(content)) if isinstance(content, list) else content
            yield {"role": "tool", "tool_call_id": part.get("tool_use_id"), "content": text}


def _as_call(part: Raw) -> Raw:
    given = part.get("input")
    arguments = given if isinstance(given, dict) else json.dumps(given)
    return {"id": part.get("id"), "function": {"name": part.get("name"), "arguments": arguments}}


def _called(call: Any, id: str) -> Any:
    """A call with an id, and with arguments that are text or an object; whether they can be read is scored."""
    if not isinstance(call, dict):
        return call
    found, function = {**call, "id": call.get("id") or id}, call.get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else ""
    if isinstance(function, dict) and not isinstance(arguments, str | dict):
        # Null is a call without arguments, as a rollout takes it; a list is one that cannot be read.
        found["function"] = {**function, "arguments": "" if arguments is None else json.dumps(arguments)}
    return found

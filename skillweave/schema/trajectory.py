"""A trajectory: one conversation of an agent and a user in a session, as a line of a rollouts folder.

Messages have the form of OpenAI's chat API. Recorded results, metadata and score are what the rollout saw; an
evaluator does not take them as evidence.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from skillweave.schema.record import Json, Record


class FunctionCall(Record):
    name: str
    arguments: str | dict[str, Json]
    """JSON text, or the object itself."""


class ToolCall(Record):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class Message(Record):
    """Fields that other programs add are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None


StopReason = Literal[
    "user_stop", "agent_stop", "transfer", "max_turns", "max_calls", "timeout", "context_window", "error"
]
ErrorKind = Literal["provider", "world", "user", "agent", "infrastructure"]
RETRIED_ERRORS: tuple[ErrorKind, ...] = ("provider", "infrastructure")
"""Errors that say nothing of the agent and may not come again: the next run tries such trajectories anew."""


class TrajectoryError(Record):
    kind: ErrorKind
    """Whose error it is; only an `agent` error is scored."""
    message: str
    """In words."""


class Participant(Record):
    """Who spoke."""

    backend: str
    """`provider/model`, as the run was told."""
    model: str
    """The model that answered, as its endpoint names it; the last one where it changed."""
    sampling: dict[str, Json] = Field(default_factory=dict)
    """The settings that were sent, by name; what is not there was the provider's choice."""


MOST_TOKENS = 10**15
MOST_COST = 1e9
"""US dollars."""


class SpeakerUsage(Record):
    input_tokens: int = Field(default=0, ge=0, le=MOST_TOKENS)
    """Tokens sent, over all requests."""
    output_tokens: int = Field(default=0, ge=0, le=MOST_TOKENS)
    """Tokens sampled."""
    cost_usd: float | None = Field(default=None, ge=0, le=MOST_COST)
    """None: no price is known."""


class RolloutUsage(Record):
    agent: SpeakerUsage
    """What the agent's requests took."""
    user: SpeakerUsage
    """What the simulated user's took."""


class RolloutScore(Record):
    """What the rollout itself saw; the evaluator's file is authoritative."""

    passed: bool | None
    """The reward is 1; None where a check that counts could not be made."""
    reward: float | None
    """From 0 to 1."""
    checks: dict[str, Json] = Field(default_factory=dict)
    """Each check by name."""


class UserTurn(Record):
    """What a message of the user's comes to, as the user recorded it. The agent never sees it."""

    message: int
    """Position of the message among the trajectory's messages, from 0."""
    agrees: bool | None = None
    """Whether it agrees to what the agent proposed or asked last; None: it does not say."""
    wants_human: bool = False
    """Whether it asks for a human."""
    done: bool = False
    """Whether the user leaves with it."""
    tells: list[str] = Field(default_factory=list)
    """Ids of the facts that it tells."""


class TrajectoryRecord(Record):
    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    id: str
    """`<task id>#<trial>`."""
    task_id: str
    """The task."""
    trial: int
    """Counted from 0."""
    world: str
    """The world in which it was held."""
    domains: list[str]
    """Servers whose domains the task lies in."""
    seed: int
    """The seed of this trajectory, from the run's and the id."""
    dataset: str
    """Digest of the dataset."""
    task_digest: str
    """sha256 of the task's record."""
    messages: list[Message]
    """The whole conversation: system, user, assistant with tool calls, tool results."""
    tools: list[dict[str, Json]]
    """OpenAI tool definitions that the agent had."""
    user_turns: list[UserTurn] | None = None
    """One for each message of the user's; None where nobody recorded them."""
    stop_reason: StopReason
    """What ended it."""
    error: TrajectoryError | None = None
    """What went wrong, and whose fault it is."""
    agent: Participant
    """Who played the agent."""
    user: Participant | None = None
    """Who played the user; None where the task has none."""
    usage: RolloutUsage
    """Tokens and cost."""
    score: RolloutScore | None = None
    """None: not scored, because of the error."""
    started_at: str
    """Wall clock, UTC, ISO form."""
    seconds: float
    """Wall clock from the first request to the end."""
    metadata: dict[str, Json] = Field(default_factory=dict)
    """total_turns, tool_call_count, tool_error_count, malformed_calls, telling, and what a task adds."""

    @property
    def owed(self) -> bool:
        """Whether it counts for nothing and is to be tried again."""
        return self.error is not None and self.error.kind in RETRIED_ERRORS


STOP = "###STOP###"
"""What a user writes when it leaves, where it answers in plain text and keeps no record."""


def until_end(messages: Sequence[Message], turns: Iterable[UserTurn] = ()) -> Sequence[Message]:
    """The messages up to the one with which the user leaves; all of them where it does not."""
    left = {turn.message for turn in turns if turn.done}
    for place, message in enumerate(messages):
        if message.role == "user" and (place in left or STOP in (message.content or "")):
            return messages[: place + 1]
    return messages

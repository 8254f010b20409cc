"""A trajectory: one conversation of an agent and a user in a session, as a line of a rollouts folder.

Messages have the form of OpenAI's chat API. Recorded results, metadata and score are what the rollout saw; an
evaluator does not take them as evidence.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from skillweave.schema.record import Json, Record
from skillweave.thoughts import join_thoughts, split_thoughts

StopReason = Literal[
    "user_stop", "agent_stop", "transfer", "max_turns", "max_calls", "timeout", "context_window", "error"
]
ErrorKind = Literal["provider", "world", "user", "agent", "infrastructure"]
RETRIED_ERRORS: tuple[ErrorKind, ...] = ("provider", "infrastructure")
"""Kinds of errors that say nothing about the agent and may not occur again: the next run repeats these trajectories."""

MAX_TOKENS = 10**15
"""More tokens are taken for a damaged record."""
MAX_COST = 1e9
"""US dollars; a higher cost is taken for a damaged record."""

STOP = "###STOP###"
"""What a user writes when it leaves, if it answers in plain text and records nothing."""


class FunctionCall(Record):
    """The function of a tool call. Fields that its provider adds are kept: some have to come back."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    name: str
    """The tool's name as the agent wrote it."""
    arguments: str | dict[str, Json]
    """The arguments as JSON text, or as the object itself."""


class ToolCall(Record):
    """A tool call in a message. Fields that its provider adds are kept: Gemini signs its calls in `extra_content`."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    id: str
    """Unique in the conversation."""
    type: Literal["function"] = "function"
    """Always `function`."""
    function: FunctionCall
    """Name and arguments."""


class Message(Record):
    """One message. Fields that other programs add are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    role: Literal["system", "user", "assistant", "tool"]
    """Who wrote it."""
    content: str | None = None
    """The text."""
    tool_calls: list[ToolCall] | None = None
    """Calls that the agent asks for."""
    tool_call_id: str | None = None
    """For a tool result: the call that it answers."""
    reasoning_content: str | None = None
    """The model's reasoning, if its provider gives it."""


class TrajectoryError(Record):
    """What went wrong in a trajectory."""

    kind: ErrorKind
    """Where the error lies; only a trajectory with an `agent` error is scored."""
    message: str
    """The error in words."""


class Participant(Record):
    """Who played one side of the conversation."""

    backend: str
    """`provider/model`, as the run was configured."""
    model: str
    """The model that answered, as its endpoint names it; the last one if it changed."""
    sampling: dict[str, Json] = Field(default_factory=dict)
    """The sampling settings that were sent, by name; the provider chose the others."""


class SpeakerUsage(Record):
    """Tokens and cost of one side of the conversation."""

    input_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    """Tokens sent, over all requests."""
    output_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    """Tokens sampled."""
    cost_usd: float | None = Field(default=None, ge=0, le=MAX_COST)
    """US dollars; None: no price is known."""


class RolloutUsage(Record):
    """Tokens and cost of both sides."""

    agent: SpeakerUsage
    """Of the agent's requests."""
    user: SpeakerUsage
    """Of the simulated user's requests."""


class RolloutScore(Record):
    """What the rollout itself saw; the evaluator's file is authoritative."""

    passed: bool | None
    """Whether the reward is 1; None if a check that counts could not be made."""
    reward: float | None
    """From 0 to 1."""
    checks: dict[str, Json] = Field(default_factory=dict)
    """Check -> its record."""


class UserTurn(Record):
    """What a message of the user means, as the user recorded it. The agent never sees it."""

    message: int
    """Position of the message among the trajectory's messages, from 0."""
    agrees: bool | None = None
    """Whether the user agrees to what the agent proposed or asked last; None: the message does not say."""
    wants_human: bool = False
    """Whether the user asks for a human."""
    done: bool = False
    """Whether the user leaves with this message."""
    tells: list[str] = Field(default_factory=list)
    """Ids of the facts that the message tells."""
    later: bool | None = Field(default=None, exclude_if=lambda value: value is None)
    """Whether the user comes out with their later wish; the key is left out where nobody recorded that, or where there
    is no such wish."""


class TrajectoryRecord(Record):
    """One conversation, as a line of `<world>.jsonl`."""

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
    """The seed of this trajectory, from the run's seed and the id."""
    dataset: str
    """Digest of the dataset."""
    task_digest: str
    """sha256 of the task's record."""
    messages: list[Message]
    """The whole conversation: system, user, assistant with tool calls, tool results."""
    tools: list[dict[str, Json]]
    """OpenAI tool definitions that the agent had."""
    user_turns: list[UserTurn] | None = None
    """One for each message of the user; None if nobody recorded them."""
    stop_reason: StopReason
    """What ended it."""
    error: TrajectoryError | None = None
    """What went wrong, and where the error lies."""
    agent: Participant
    """Who played the agent."""
    user: Participant | None = None
    """Who played the user; None if the task has no user."""
    usage: RolloutUsage
    """Tokens and cost."""
    score: RolloutScore | None = None
    """None: not scored because of the error."""
    started_at: str
    """Wall clock, UTC, in ISO form."""
    seconds: float
    """Wall-clock seconds from the first request to the end."""
    metadata: dict[str, Json] = Field(default_factory=dict)
    """total_turns, tool_call_count, tool_error_count, malformed_calls, telling, and what a task adds; calls_as_text, if
    replies held calls as text, since the server has no parser of tool calls."""

    @property
    def owed(self) -> bool:
        """Whether the trajectory does not count and the next run has to repeat it."""
        return self.error is not None and self.error.kind in RETRIED_ERRORS


def until_end(messages: Sequence[Message], turns: Iterable[UserTurn] = ()) -> Sequence[Message]:
    """The messages up to the one with which the user leaves. The agent never saw what follows.

    Args:
        messages: The whole conversation.
        turns: What the user recorded of its messages, if it did.

    Returns:
        All messages if the user does not leave.
    """
    left = {turn.message for turn in turns if turn.done}
    for place, message in enumerate(messages):
        if message.role == "user" and (place in left or STOP in (message.content or "")):
            return messages[: place + 1]
    return messages


def tell_thoughts_apart(messages: Sequence[Message]) -> list[Message]:
    """The messages, with the thoughts that stand in the words of user and agent as reasoning. Nobody heard them."""
    return [_told_apart(message) for message in messages]


def _told_apart(message: Message) -> Message:
    if message.role not in ("user", "assistant") or not message.content:
        return message
    thoughts, words = split_thoughts(message.content)
    if words == message.content:
        return message
    reasoning = join_thoughts(message.reasoning_content, thoughts)
    return message.model_copy(update={"content": words, "reasoning_content": reasoning})

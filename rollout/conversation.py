"""A conversation as its runtime sees it: the agent's steps one by one, each answered, until something ends it.

Who makes the steps does not matter: an agent of this project (`Trajectory`), or a trainer at the other end of a wire
(`interop`).
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rollout.task import Answer, Runtime
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message, StopReason, TrajectoryError
from skillweave.world.tools import AgentCall


@dataclass(frozen=True)
class RolloutLimits:
    max_turns: int = 40
    """Replies in which the agent speaks to the user."""
    max_calls: int = 60
    """Tool calls, failed ones included. All calls of a reply are made, even beyond this limit."""
    timeout_s: float = 600.0
    """Seconds of wall clock for the whole conversation."""
    max_malformed: int = 3
    """Unreadable replies in a row that end the conversation."""
    infrastructure_retries: int = 1
    """How often a conversation is started again after its runtime broke down."""


class Ending(NamedTuple):
    """How a conversation ended."""

    stop_reason: StopReason
    error: TrajectoryError | None = None


class Reaction(NamedTuple):
    """What follows a step of the agent."""

    answers: Sequence[Answer] = ()
    """The result of each call of the step, in order."""
    message: Message | None = None
    """The user's answer to the agent's words."""
    ending: Ending | None = None
    """Set if the conversation is over."""


class Conversation:
    """Answers the agent's steps, and counts them against the limits."""

    def __init__(self, runtime: Runtime, limits: RolloutLimits) -> None:
        self._runtime = runtime
        self._limits = limits
        self._counts: Counter[str] = Counter()
        self._unreadable = 0
        """Unreadable steps in a row."""

    @property
    def figures(self) -> dict[str, Json]:
        """What is counted, under the names that a trajectory's metadata has."""
        return {
            "total_turns": self._counts["turns"],
            "tool_call_count": self._counts["calls"],
            "tool_error_count": self._counts["errors"],
            "malformed_calls": self._counts["malformed"],
        }

    async def take(self, words: str, calls: Sequence[AgentCall], history: Sequence[Message]) -> Reaction:
        """Make the calls of a step; if it has none, let the user answer its words.

        Args:
            words: What the agent says.
            calls: What it calls. The user hears words beside calls with the next words alone.
            history: The conversation so far, with this step.

        Raises:
            RolloutError: The runtime broke down, or the user gives no usable answer.
        """
        if calls:
            reaction = await self._make(calls)
        elif words.strip():
            reaction = await self._ask_user(history)
        else:
            reaction = Reaction()
        is_readable = any(call.arguments is not None for call in calls) if calls else bool(words.strip())
        self._unreadable = 0 if is_readable else self._unreadable + 1
        if reaction.ending is None and self._unreadable >= self._limits.max_malformed:
            fault = calls[0].fault if calls else "neither words nor a call"
            message = f"{self._unreadable} replies in a row could not be read; the last: {fault}"
            return reaction._replace(ending=Ending("error", TrajectoryError(kind="agent", message=message)))
        return reaction

    async def _make(self, calls: Sequence[AgentCall]) -> Reaction:
        answers = [await self._carry_out(call) for call in calls]
        ends: StopReason | None = next((answer.ends for answer in answers if answer.ends), None)
        if ends is None and self._counts["calls"] >= self._limits.max_calls:
            ends = "max_calls"
        return Reaction(answers, None, Ending(ends) if ends else None)

    async def _carry_out(self, call: AgentCall) -> Answer:
        self._counts["calls"] += 1
        if call.arguments is None:
            self._counts["malformed"] += 1
            answer = Answer(refusal("invalid_arguments", call.fault or "The arguments cannot be read."), ok=False)
        else:
            answer = await self._runtime.call(call.tool, call.arguments)
        self._counts["errors"] += not answer.ok
        return answer

    async def _ask_user(self, history: Sequence[Message]) -> Reaction:
        self._counts["turns"] += 1
        response = await self._runtime.respond(history)
        ends = response.ends
        if ends is None and self._counts["turns"] >= self._limits.max_turns:
            ends = "max_turns"
        return Reaction((), response.message, Ending(ends) if ends else None)


def refusal(code: str, message: str) -> str:
    """The text of a tool error, in the same form as a world's errors."""
    return json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False)

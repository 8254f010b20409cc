"""Task: what an agent has to do, the runtime for it, and its score. Subclass `RolloutTask` to write your own.

A task object belongs to one trajectory. Its runtime carries out tool calls and answers the agent's words, with a user's
next message or with the end of the conversation.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from skillweave.base.errors import SkillweaveError
from skillweave.schema.record import Json
from skillweave.schema.trajectory import (
    ErrorKind,
    Message,
    Participant,
    RolloutScore,
    SpeakerUsage,
    StopReason,
    UserTurn,
)

Definition = dict[str, Json]
"""An OpenAI tool definition."""


class Answer(NamedTuple):
    """The result of a tool call, as the agent reads it."""

    content: str
    ok: bool = True
    """False if the tool answered with an error."""
    ends: StopReason | None = None
    """Set if the call ends the conversation."""


class Response(NamedTuple):
    """The answer to the agent's words."""

    message: Message | None = None
    """The user's next message; None if nobody answers."""
    ends: StopReason | None = None
    """Set if the conversation ends here."""


class RolloutError(SkillweaveError):
    """The trajectory cannot continue; `kind` says where the fault lies."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Runtime(Protocol):
    """Where one trajectory takes place."""

    @property
    def tools(self) -> list[Definition]:
        """What the agent may call."""

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Carry out a call. A wrong call is answered with an error.

        Args:
            tool: The tool's name, as the agent wrote it.
            arguments: The arguments by name.

        Raises:
            RolloutError: The runtime itself broke down.
        """

    async def respond(self, messages: Sequence[Message]) -> Response:
        """Answer the agent's last words.

        Args:
            messages: The whole conversation so far.

        Raises:
            RolloutError: The user gives no usable answer.
        """

    async def close(self) -> None:
        """Release everything. It may be called twice."""


class RolloutOutcome(NamedTuple):
    """The outcome of a trajectory, for its evaluation."""

    messages: list[Message]
    stop_reason: StopReason
    result: dict[str, Json]
    """What `complete_runtime` returned."""


class RolloutTask(ABC):
    """One task, in one trial."""

    id: str
    """Unique in its source; the trajectory's id is `<id>#<trial>`."""
    world: str = "general"
    """The world; its trajectories are appended to `<world>.jsonl`."""
    domains: Sequence[str] = ()
    """The domains that the task belongs to; empty for a task without a world."""
    digest: str = ""
    """SHA-256 of the task's content, which shows a change of the task."""

    @property
    def user(self) -> Participant | None:
        """The user's backend and model, for the record; None if there is no user."""
        return None

    @property
    def user_usage(self) -> SpeakerUsage:
        """Tokens and cost of the user's requests so far."""
        return SpeakerUsage(cost_usd=0.0)

    @property
    def user_turns(self) -> list[UserTurn] | None:
        """The user's record of each of its messages; None if there are no records."""
        return None

    @property
    def notes(self) -> dict[str, Json]:
        """Values to add to the record's metadata."""
        return {}

    @abstractmethod
    async def initialize_runtime(self) -> Runtime:
        """Open a fresh runtime.

        Raises:
            RolloutError, WorldError: It cannot be opened.
        """

    @abstractmethod
    def get_instruction(self, runtime: Runtime) -> list[Message]:
        """The first messages of the conversation, in OpenAI's message format."""

    async def complete_runtime(self, runtime: Runtime, messages: Sequence[Message]) -> dict[str, Json]:
        """Take from the runtime what the evaluation needs, before the runtime is closed."""
        return {}

    @abstractmethod
    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore | None:
        """Score the outcome; None if there is no score."""


class TaskSource(Protocol):
    """The source of a run's tasks."""

    @property
    def digest(self) -> str:
        """Digest of everything that trajectories depend on. A rollouts folder holds trajectories of one digest."""

    def ids(self) -> list[str]:
        """Ids of all tasks, in a stable order."""

    def task(self, id: str, trial: int) -> RolloutTask:
        """The task with that id, for a trial.

        Raises:
            SkillweaveError: The task cannot be read.
        """

    async def close(self) -> None:
        """Release everything."""


class TaskList:
    """A source of tasks from functions: task id -> function that makes a new task object."""

    def __init__(self, digest: str, makers: Mapping[str, Callable[[], RolloutTask]]) -> None:
        self.digest = digest
        self._makers = makers

    def ids(self) -> list[str]:
        """Ids of all tasks, in the given order."""
        return list(self._makers)

    def task(self, id: str, trial: int) -> RolloutTask:
        """Make a new task object."""
        return self._makers[id]()

    async def close(self) -> None:
        """Do nothing; there is nothing to release."""

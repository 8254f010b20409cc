"""Task: what an agent is to do, in which runtime, and what came of it. Bring your own by subclassing.

A task object is for one trajectory. Its runtime carries out tool calls, and answers the agent's words: with a user's
next message, or with the end.
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
    """What a tool call came to, as the agent reads it."""

    content: str
    ok: bool = True
    """False: the tool answered with an error."""
    ends: StopReason | None = None
    """Set where the call ends the conversation."""


class Response(NamedTuple):
    """What follows the agent's words."""

    message: Message | None = None
    """The user's; None where nobody answers."""
    ends: StopReason | None = None
    """Set where nothing follows."""


class RolloutError(SkillweaveError):
    """The trajectory cannot go on, and whose fault that is."""

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

        Raises:
            RolloutError: The runtime itself broke down.
        """

    async def respond(self, messages: Sequence[Message]) -> Response:
        """What follows the agent's last words. RolloutError where the user cannot go on."""

    async def close(self) -> None:
        """Give everything up. It may be called twice."""


class RolloutOutcome(NamedTuple):
    """What a trajectory came to, for its evaluation."""

    messages: list[Message]
    stop_reason: StopReason
    result: dict[str, Json]
    """What `complete_runtime` gave."""


class RolloutTask(ABC):
    """One task, in one trial."""

    id: str
    """Unique in its source; the trajectory's id is `<id>#<trial>`."""
    world: str = "general"
    """Names the file that its trajectories are appended to."""
    domains: Sequence[str] = ()
    """Servers whose domains it lies in; none for tasks without worlds."""
    digest: str = ""
    """sha256 of what the task says, so that a changed task is noticed."""

    @property
    def user(self) -> Participant | None:
        """Who plays the user; None where nobody does."""
        return None

    @property
    def user_usage(self) -> SpeakerUsage:
        """What the user's requests took so far."""
        return SpeakerUsage(cost_usd=0.0)

    @property
    def user_turns(self) -> list[UserTurn] | None:
        """What the user recorded of each of its messages; None where nobody records it."""
        return None

    @property
    def notes(self) -> dict[str, Json]:
        """What goes into the record's metadata."""
        return {}

    @abstractmethod
    async def initialize_runtime(self) -> Runtime:
        """A fresh runtime. RolloutError, WorldError where there is none."""

    @abstractmethod
    def get_instruction(self, runtime: Runtime) -> list[Message]:
        """How the conversation begins, in OpenAI's message format."""

    async def complete_runtime(self, runtime: Runtime, messages: Sequence[Message]) -> dict[str, Json]:
        """Take from the runtime what the evaluation needs, before it is closed."""
        return {}

    @abstractmethod
    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore | None:
        """The score; None where nothing can be said."""


class TaskSource(Protocol):
    """Where a run's tasks come from."""

    @property
    def digest(self) -> str:
        """Of all that trajectories depend on; a folder of rollouts holds those of one."""

    def ids(self) -> list[str]:
        """Ids of all tasks, in a stable order."""

    def task(self, id: str, trial: int) -> RolloutTask:
        """That task, for that trial. Raises SkillweaveError where it cannot be read."""

    async def close(self) -> None:
        """Give everything up."""


class TaskList:
    """A source of tasks that are made one by one: id -> how to make it for a trial."""

    def __init__(self, digest: str, makers: Mapping[str, Callable[[], RolloutTask]]) -> None:
        self.digest = digest
        self._makers = makers

    def ids(self) -> list[str]:
        """As they were given."""
        return list(self._makers)

    def task(self, id: str, trial: int) -> RolloutTask:
        """A new task object."""
        return self._makers[id]()

    async def close(self) -> None:
        """There is nothing to give up."""

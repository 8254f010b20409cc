"""WorldTask: a task of a dataset as a rollout task, with its runtime and its score."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from evaluator import score
from rollout.task import Answer, Definition, Response, RolloutError, RolloutOutcome, RolloutTask, Runtime
from rollout.user import User, UserRole
from skillweave.schema.record import Json
from skillweave.schema.task import Task as TaskRecord
from skillweave.schema.trajectory import Message, Participant, RolloutScore, SpeakerUsage, UserTurn
from skillweave.world.session import Session
from skillweave.world.tools import name_of, namespaces_of, plain_name


class HeldSession(Protocol):
    """A session as a conversation holds it, on the contract in this process or on a generated server."""

    @property
    def tools(self) -> list[Definition]:
        """The tools that the session offers."""

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool. A refused call is answered with an error.

        Raises:
            RolloutError: The session broke down.
        """

    async def finish(self) -> Session:
        """A session for the score, in which all calls have been made; the caller closes it.

        Raises:
            RolloutError, WorldError: There is no such session.
        """

    async def close(self) -> None:
        """Release the session, unless it is finished. It may be called twice."""


Opener = Callable[[TaskRecord], Awaitable[HeldSession]]
"""Opens the session of a task. Raises RolloutError, WorldError or ArtifactError if it cannot be opened."""


class WorldRuntime:
    """The runtime of a world task: a session and a user."""

    def __init__(self, session: HeldSession, user: User, namespaces: Collection[str] = ()) -> None:
        """Create a runtime.

        Args:
            session: The session for the agent's calls.
            user: The user who answers the agent's words.
            namespaces: Prefixes that an agent may write before a tool's name.
        """
        self.session = session
        self._user = user
        self._namespaces = namespaces
        self._offered = frozenset(map(name_of, session.tools))

    @property
    def tools(self) -> list[Definition]:
        """The tools that the agent may call."""
        return self.session.tools

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Carry out a call in the session."""
        return await self.session.call(plain_name(tool, self._offered, self._namespaces), arguments)

    async def respond(self, messages: Sequence[Message]) -> Response:
        """Ask the user for an answer to the agent's words."""
        answer = await self._user.reply(messages)
        return Response(Message(role="user", content=answer.text), "user_stop" if answer.done else None)

    async def close(self) -> None:
        """Release the session."""
        await self.session.close()


class WorldTask(RolloutTask):
    """One trial of a dataset's task."""

    def __init__(
        self,
        record: TaskRecord,
        *,
        digest: str,
        prompt: Callable[[Sequence[Definition]], str],
        role: UserRole,
        user: Callable[[], User],
        opener: Opener,
    ) -> None:
        """Create the task of one trajectory.

        Args:
            record: The task's record in the dataset.
            digest: SHA-256 of the record.
            prompt: Makes the system prompt for the tools that the session offers.
            role: The role of the user in this trial.
            user: Makes a user who has said nothing yet.
            opener: Opens the session.
        """
        self.record = record
        self.id, self.world, self.domains, self.digest = record.id, record.world, record.domains, digest
        self._prompt = prompt
        self._role = role
        self._make_user = user
        self._user = user()
        self._opener = opener
        self._finished: Session | None = None

    @property
    def user(self) -> Participant:
        """The user's backend and model, for the record."""
        return self._user.participant

    @property
    def user_usage(self) -> SpeakerUsage:
        """Tokens and cost of the user's requests so far."""
        return self._user.usage

    @property
    def user_turns(self) -> list[UserTurn]:
        """The user's record of each of its messages."""
        return self._user.turns

    @property
    def notes(self) -> dict[str, Json]:
        """How the user begins, the persona's style, and how many answers were sent back, with the reasons."""
        rejected = self._user.rejected
        notes: dict[str, Json] = {
            "telling": self._role.telling,
            "persona": self._role.persona.style,
            "user_sent_back": len(rejected),
        }
        return notes | ({"user_rejected": [*rejected]} if rejected else {})

    async def initialize_runtime(self) -> WorldRuntime:
        """Open a fresh session and create a fresh user."""
        self._user = self._make_user()
        return WorldRuntime(await self._opener(self.record), self._user, namespaces_of(self.record))

    def get_instruction(self, runtime: Runtime) -> list[Message]:
        """The system prompt with policy, clock and caller, and the user's first message."""
        return [Message(role="system", content=self._prompt(runtime.tools)), self._user.open(1)]

    async def complete_runtime(self, runtime: Runtime, messages: Sequence[Message]) -> dict[str, Json]:
        """Keep the finished session for the score."""
        assert isinstance(runtime, WorldRuntime)
        self._finished = await runtime.session.finish()
        return {}

    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore | None:
        """Score the session with the evaluator's checks.

        Raises:
            RolloutError: The world itself failed in a call.
        """
        session, self._finished = self._finished, None
        if session is None:
            return None
        try:
            if session.defects:
                raise RolloutError("world", session.defects[0])
            result = score(self.record, session, outcome.messages, self._user.turns)
        finally:
            session.close()
        checks = result.checks.model_dump(mode="json", exclude_none=True)
        return RolloutScore(passed=result.passed, reward=result.reward, checks=checks)

"""WorldTask: a task of a dataset, held in its world with a simulated user, and scored by the evaluator's checks."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from evaluator import score
from rollout.task import Answer, Definition, Outcome, Response, Runtime, Task
from rollout.user.role import Role
from rollout.user.user import User
from rollout.world.instruction import instruction
from skillweave.schema.message import Message
from skillweave.schema.policy import Policy
from skillweave.schema.record import Json
from skillweave.schema.task import Task as TaskRecord
from skillweave.schema.trajectory import Participant, RolloutScore, Usage, UserTurn
from skillweave.tool_call import namespaces_of, plain_name
from skillweave.world.session import Session
from skillweave.world.tools import name_of


class HeldSession(Protocol):
    """A session as a conversation holds it: in process on the contract, or on a generated server."""

    @property
    def tools(self) -> list[Definition]:
        """What is offered."""

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool. Failure where the session broke down."""

    async def finish(self) -> Session:
        """What was done, as a session to be scored; the caller closes it. Failure, WorldError where it cannot be."""

    async def close(self) -> None:
        """Give it up, unless it is finished. It may be called twice."""


Opener = Callable[[TaskRecord], Awaitable[HeldSession]]
"""Opens the session of a task. Failure, WorldError, ArtifactError where it cannot be opened."""


class WorldRuntime:
    """A session and a user."""

    def __init__(self, session: HeldSession, user: User, namespaces: Collection[str] = ()) -> None:
        """An agent may write one of the `namespaces` before a tool's name."""
        self.session = session
        self._user = user
        self._namespaces = namespaces
        self._offered = frozenset(map(name_of, session.tools))

    @property
    def tools(self) -> list[Definition]:
        """What the agent may call."""
        return self.session.tools

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Carry out a call."""
        return await self.session.call(plain_name(tool, self._offered, self._namespaces), arguments)

    async def respond(self, messages: Sequence[Message]) -> Response:
        """What the user says to the agent's words."""
        answer = await self._user.reply(messages)
        return Response(Message(role="user", content=answer.text), "user_stop" if answer.done else None)

    async def close(self) -> None:
        """Give the session up."""
        await self.session.close()


class WorldTask(Task):
    """One trial of a dataset's task."""

    def __init__(
        self,
        record: TaskRecord,
        *,
        digest: str,
        policy: Policy,
        role: Role,
        user: Callable[[], User],
        opener: Opener,
        companies: Mapping[str, str] | None = None,
    ) -> None:
        """`user` makes a user who has said nothing yet. `companies` are those of a fused world, by their tools'
        namespaces."""
        self.record = record
        self.id, self.world, self.domains, self.digest = record.id, record.world, record.domains, digest
        self._policy = policy
        self._role = role
        self._make_user = user
        self._user = user()
        self._opener = opener
        self._companies = companies
        self._done: Session | None = None

    @property
    def user(self) -> Participant:
        """Who plays the user."""
        return self._user.participant

    @property
    def user_usage(self) -> Usage:
        """What the user's requests took so far."""
        return self._user.usage

    @property
    def user_turns(self) -> list[UserTurn]:
        """What the user recorded of each of its messages."""
        return self._user.turns

    @property
    def notes(self) -> dict[str, Json]:
        """How the user begins, the persona's style, and how many of its answers were sent back, and why."""
        rejected = self._user.rejected
        found: dict[str, Json] = {
            "telling": self._role.telling,
            "persona": self._role.persona.style,
            "user_sent_back": len(rejected),
        }
        return found | ({"user_rejected": [*rejected]} if rejected else {})

    async def initialize_runtime(self) -> WorldRuntime:
        """A fresh session and a fresh user."""
        self._user = self._make_user()
        return WorldRuntime(await self._opener(self.record), self._user, namespaces_of(self.record))

    def get_instruction(self, runtime: Runtime) -> list[Message]:
        """The system prompt with policy, clock and what is known of the caller; and the user's first message."""
        system = instruction(self.record, self._policy, self._role.company, runtime.tools, self._companies)
        return [Message(role="system", content=system), self._user.open(1)]

    async def complete_runtime(self, runtime: Runtime, messages: Sequence[Message]) -> dict[str, Json]:
        """Keep what was done, for the score."""
        assert isinstance(runtime, WorldRuntime)
        self._done = await runtime.session.finish()
        return {}

    async def evaluate_result(self, outcome: Outcome) -> RolloutScore | None:
        """The evaluator's checks."""
        done, self._done = self._done, None
        if done is None:
            return None
        try:
            found = score(self.record, done, outcome.messages, self._user.turns)
        finally:
            done.close()
        checks = found.checks.model_dump(mode="json", exclude_none=True)
        return RolloutScore(passed=found.passed, reward=found.reward, checks=checks)

"""A dataset's task as a rollout task: its instruction, its runtime, and its score."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Protocol

from evaluator import score
from rollout.task import Answer, Definition, Response, RolloutOutcome, RolloutTask, Runtime
from rollout.user.user import User, UserRole
from skillweave.schema.contract import Policy
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.schema.task import Task as TaskRecord
from skillweave.schema.trajectory import Message, Participant, RolloutScore, SpeakerUsage, UserTurn
from skillweave.world.session import Session
from skillweave.world.tools import name_of, namespaces_of, plain_name

PROMPT = """\
You are the assistant of {company}. You talk with one user, and act for them through your tools.

- Now: {now} (UTC). Today is {weekday}, {date}.
- {caller}{companies}

Each reply of yours is either words to the user or calls of tools. Words and calls together are possible; the user reads
the words. Say in words what you have done. The policy below says what you may do; follow it.

{policy}"""
KNOWN = "The user is signed in: LOGGED_IN_USER is {user}, LOGGED_IN_NAME is {name}."
UNKNOWN = "The user is not signed in: LOGGED_IN_USER is null."
SEVERAL = """
- You act for several companies: {listed} stand before the names of their tools. Whoever is identified with one of them
  is identified with all. Each company has a key of its own for the person, which its tools fill in."""


def instruction(
    task: Task, policy: Policy, company: str, tools: Sequence[Definition], companies: Mapping[str, str] | None = None
) -> str:
    """The system prompt of a task. Sections of tools that are not offered are left out of the policy.

    `companies` are those of a fused world: the namespace of their tools -> their name.
    """
    env = task.env_variables
    listed = ", ".join(f"`{namespace}__` for {name}" for namespace, name in (companies or {}).items())
    return PROMPT.format(
        company=company,
        now=task.now,
        weekday=f"{date.fromisoformat(env.CURRENT_DATE):%A}",
        date=env.CURRENT_DATE,
        caller=UNKNOWN
        if env.LOGGED_IN_USER is None
        else KNOWN.format(user=env.LOGGED_IN_USER, name=env.LOGGED_IN_NAME),
        companies=SEVERAL.format(listed=listed) if listed else "",
        policy=policy.for_tools([name_of(tool) for tool in tools]).text,
    )


class HeldSession(Protocol):
    """A session as a conversation holds it: in process on the contract, or on a generated server."""

    @property
    def tools(self) -> list[Definition]:
        """What is offered."""

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool. RolloutError where the session broke down."""

    async def finish(self) -> Session:
        """What was done, as a session to be scored; the caller closes it.

        Raises:
            RolloutError, WorldError: There is no such session.
        """

    async def close(self) -> None:
        """Give it up, unless it is finished. It may be called twice."""


Opener = Callable[[TaskRecord], Awaitable[HeldSession]]
"""Opens the session of a task. RolloutError, WorldError, ArtifactError where it cannot be opened."""


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


class WorldTask(RolloutTask):
    """One trial of a dataset's task."""

    def __init__(
        self,
        record: TaskRecord,
        *,
        digest: str,
        policy: Policy,
        role: UserRole,
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
    def user_usage(self) -> SpeakerUsage:
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

    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore | None:
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

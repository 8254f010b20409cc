"""User: who speaks to the agent. It sees its role and the words of both sides, and nothing else.

Each utterance is checked by the fact ledger; what is invented is asked for again, and then the trajectory is the user's
error.
"""

from collections.abc import Sequence
from typing import NamedTuple

from evaluator.ledger import FactLedger
from rollout.agent import added
from rollout.task import Failure
from rollout.user.role import Role
from skillweave.conversation import STOP
from skillweave.llm.backend import Backend
from skillweave.llm.request import Request, Sampling
from skillweave.schema.message import Message
from skillweave.schema.trajectory import Participant, Usage

QUESTION = "rollout.user.user"
TRIES = 3
"""Answers to one message of the agent, the first included."""
AGAIN = "(Not to be sent. Your last answer cannot be used: {faults}. Answer the assistant again, without that.)"


class Utterance(NamedTuple):
    text: str
    """As it was said, the mark of its end included."""
    ends: bool
    """Whether the user leaves with it."""


class User:
    """One user in one trajectory."""

    def __init__(self, role: Role, backend: Backend, ledger: FactLedger, *, key: str, sampling: Sampling) -> None:
        """`key` is the trajectory's id with the run's seed; a seeded user draws from it."""
        self.role = role
        self.usage = Usage(cost_usd=0.0)
        self.rejected: list[str] = []
        """Faults of utterances that were asked for again."""
        self._backend = backend
        self._ledger = ledger
        self._key = key
        self._sampling = sampling
        self._model = ""

    @property
    def participant(self) -> Participant:
        """Who this is, for the record."""
        model = self._model or self._backend.name.partition("/")[2]
        return Participant(backend=self._backend.name, model=model, sampling={**self._sampling.given()})

    async def reply(self, messages: Sequence[Message]) -> Utterance:
        """What the user says next. Failure where it invents facts or says nothing; ProviderError."""
        seen = seen_by_user(messages)
        asked = [Message(role="system", content=self.role.prompt), *seen]
        for attempt in range(TRIES):
            reply = await self._backend.complete(self._request(asked, attempt))
            self.usage = added(self.usage, reply)
            self._model = reply.model or self._model
            faults = self._faults(reply.text, seen)
            if not faults:
                return Utterance(reply.text, STOP in reply.text)
            self.rejected += faults
            said = [Message(role="assistant", content=reply.text)] if reply.text.strip() else []
            asked = [*asked, *said, Message(role="user", content=AGAIN.format(faults="; ".join(faults)))]
        raise Failure("user", f"no usable answer in {TRIES}; the last: {'; '.join(faults)}")

    def _faults(self, text: str, seen: Sequence[Message]) -> list[str]:
        if not text.strip():
            return ["it is empty"]
        return self._ledger.faults(text.replace(STOP, ""), seen)

    def _request(self, messages: Sequence[Message], attempt: int) -> Request:
        return Request(
            messages=tuple(messages),
            sampling=self._sampling,
            question=QUESTION,
            key=self._key,
            attempt=attempt,
            variables={"role": self.role},
        )


def seen_by_user(messages: Sequence[Message]) -> list[Message]:
    """The conversation as the user sees it: the agent speaks as `user`, they themselves as `assistant`.

    Words that the agent says beside its calls are heard; calls and results are not. What one side says in several
    messages in a row is one message.
    """
    found: list[Message] = []
    for message in messages:
        if message.role not in ("user", "assistant") or not (message.content or "").strip():
            continue
        role = "assistant" if message.role == "user" else "user"
        if found and found[-1].role == role:
            found[-1] = Message(role=role, content=f"{found[-1].content}\n\n{message.content}")
        else:
            found.append(Message.model_validate({"role": role, "content": message.content}))
    return found

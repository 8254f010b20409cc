"""User: who speaks to the agent. It sees its role and the words of both sides, and nothing else.

Each answer is a record (`answer.py`). The fact ledger looks through its text; what the user cannot know is sent back,
and after three tries the trajectory is the user's error.
"""

from collections.abc import Sequence

from evaluator.ledger import Ledger
from rollout.agent import added
from rollout.task import Failure
from rollout.user.answer import FORM, SCHEMA, UserAnswer, plain, read_answer
from rollout.user.role import Role
from skillweave.llm.backend import Backend
from skillweave.llm.request import Request, Sampling
from skillweave.schema.message import Message
from skillweave.schema.trajectory import Participant, Usage, UserTurn

QUESTION = "rollout.user.user"
TRIES = 3
"""Answers to one message of the agent, the first included."""
NOT_SENT = "(Your last answer was not sent: "
AGAIN = NOT_SENT + "{faults}. Answer the assistant's message again, in the same form.)"
INVENTED = "{token!r} is neither among what you know nor in what the assistant has said"


class User:
    """One user in one trajectory."""

    def __init__(self, role: Role, backend: Backend, ledger: Ledger, *, key: str, sampling: Sampling) -> None:
        """`key` is the trajectory's id with the run's seed; a seeded user draws from it."""
        self.role = role
        self.usage = Usage(cost_usd=0.0)
        self.turns: list[UserTurn] = []
        """One for each message of the user's."""
        self.rejected: list[str] = []
        """Why answers were sent back: one line for each answer."""
        self._answers: list[UserAnswer] = []
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

    def open(self, place: int) -> Message:
        """The first message, at that place of the conversation."""
        self.turns, self._answers = [], []
        self._note(plain(self.role.opening), place, [])
        return Message(role="user", content=self.role.opening)

    async def reply(self, messages: Sequence[Message]) -> UserAnswer:
        """What the user answers, as the next of the messages. Failure where it invents facts or says nothing;
        ProviderError."""
        seen = seen_by_user(messages, self._answers)
        asked = [Message(role="system", content=f"{self.role.prompt}\n\n{FORM}"), *seen]
        heard = [message.content or "" for message in seen if message.role == "user"]
        faults: list[str] = []
        for attempt in range(TRIES):
            reply = await self._backend.complete(self._request(asked, attempt))
            self.usage = added(self.usage, reply)
            self._model = reply.model or self._model
            answer = read_answer(reply.text)
            faults = self._faults(answer, heard)
            if not faults:
                self._note(answer, len(messages), heard)
                return answer
            self.rejected.append("; ".join(faults))
            said = [Message(role="assistant", content=reply.text)] if reply.text.strip() else []
            asked = [*asked, *said, Message(role="user", content=AGAIN.format(faults="; ".join(faults)))]
        raise Failure("user", f"no usable answer in {TRIES}; the last: {'; '.join(faults)}")

    def _note(self, answer: UserAnswer, place: int, heard: Sequence[str]) -> None:
        earlier = [*(own.text for own in self._answers), *heard]
        self._answers.append(answer)
        self.turns.append(
            UserTurn(
                message=place,
                agrees=answer.agrees,
                wants_human=answer.wants_human,
                done=answer.done,
                tells=self._ledger.tells(answer.text, earlier),
            )
        )

    def _faults(self, answer: UserAnswer, heard: Sequence[str]) -> list[str]:
        if not answer.text and not answer.done:
            return ["its text is missing or empty"]
        return [INVENTED.format(token=token) for token in self._ledger.faults(answer.text, heard)]

    def _request(self, messages: Sequence[Message], attempt: int) -> Request:
        return Request(
            messages=tuple(messages),
            schema=SCHEMA,
            sampling=self._sampling,
            question=QUESTION,
            key=self._key,
            attempt=attempt,
            variables={"role": self.role},
        )


def seen_by_user(messages: Sequence[Message], answers: Sequence[UserAnswer]) -> list[Message]:
    """The conversation as the user sees it: the agent speaks as `user`, they themselves as `assistant`, in their
    records.

    Words that the agent says beside its calls are heard; calls and results are not. What it says in several messages in
    a row is one message.
    """
    own = iter(answers)
    seen: list[Message] = []
    for message in messages:
        content = message.content or ""
        if message.role == "user":
            seen.append(Message(role="assistant", content=next(own, plain(content)).written))
        elif message.role == "assistant" and content.strip():
            before = f"{seen.pop().content}\n\n" if seen and seen[-1].role == "user" else ""
            seen.append(Message(role="user", content=before + content))
    return seen

"""The offline user: answers from its role and the conversation, and from nothing else.

It is a function of the request. Memory is made anew each time by going through the agent's messages in order.
"""

from collections.abc import Sequence
from random import Random

from rollout.offline.user.memory import Memory
from rollout.offline.user.moves import Move, decide, told_at_once
from rollout.offline.user.reading import Reading
from rollout.offline.user.speech import Speech
from rollout.offline.user.topics import Topic
from rollout.user.role import Role
from rollout.user.telling.errands import Errand, errands_of
from rollout.user.user import AGAIN
from skillweave.errors import AuthorError
from skillweave.llm.backend import Backend
from skillweave.llm.backends.offline import OfflineBackend
from skillweave.llm.request import Request
from skillweave.schema.message import Message

DRAWS = 5
"""Tries at words that the user has not used before."""
_NOT_SENT = AGAIN.partition("{")[0]


def offline_user(seed: int = 0) -> Backend:
    """A user that needs no model; the seed draws its phrases."""

    def answer(request: Request) -> str:
        role = request.variables.get("role")
        if not isinstance(role, Role):
            raise AuthorError("the offline user plays roles of world tasks; the request's variables hold none")
        return reply(role, request.messages, f"{seed}/{request.key}/{request.attempt}")

    return OfflineBackend(answer, "user")


def reply(role: Role, messages: Sequence[Message], key: str) -> str:
    """What the user says to the agent's last message; `messages` holds the agent as `user`."""
    errands = wishes(role)
    heard = [message.content or "" for message in _sent(messages) if message.role == "user"]
    memory, moves = listen(role, heard)
    said = {message.content or "" for message in messages if message.role == "assistant"}
    for draw in range(DRAWS):
        speech = Speech(role, errands, Random(f"{key}/{len(heard)}/{draw}"))
        settled = any(memory.status[place] == "settled" for place in memory.asked_for)
        text = speech.text(moves, all_declined=not settled)
        if text not in said:
            break
    return text


def listen(role: Role, heard: Sequence[str]) -> tuple[Memory, list[Move]]:
    """What the user remembers after these messages of the agent, and what it does in answer to the last."""
    errands = wishes(role)
    topics = [Topic(fact) for fact in role.scenario.facts if fact.tell != "never"]
    asked = sum(not errand.only_if_needed for errand in errands)
    memory = Memory.at_first(errands, topics, _voiced(role, asked))
    if role.telling != "greeting":
        memory.told |= told_at_once(role)
    moves: list[Move] = []
    for text in heard:
        moves = decide(memory, Reading(text, errands, topics), role)
    return memory, moves


def wishes(role: Role) -> Sequence[Errand]:
    """What the user asks for."""
    return role.errands or errands_of(role.scenario.goal, role.opening)


def _voiced(role: Role, count: int) -> int:
    """How many errands the opening brings up."""
    return {"greeting": 0, "piecemeal": 1}.get(role.telling, count)


def _sent(messages: Sequence[Message]) -> list[Message]:
    """The conversation without answers that were asked for again."""
    found: list[Message] = []
    for message in messages:
        if message.role == "user" and (message.content or "").startswith(_NOT_SENT):
            if found and found[-1].role == "assistant":
                found.pop()
            continue
        found.append(message)
    return found

"""The offline user: it answers the phrases of the scripted agents from its role, and understands nothing else.

Its answer depends only on the request: its role and the agent's words, never the golden calls or the criteria. It tells
the facts that it is asked for. It agrees to a proposal unless that contradicts one of its facts. It leaves after a
report or a refusal, or when it has lost patience.
"""

from collections.abc import Sequence
from random import Random

from evaluator.text.facts import tells_fact, value_forms
from rollout.offline.phrases import (
    ACCEPT,
    AGREE,
    LEAVE,
    PUZZLED,
    REFUSE,
    THANK,
    UNKNOWN,
    Phrase,
    label,
    understood,
)
from rollout.user.user import NOT_SENT, UserAnswer, UserRole
from skillweave.base.errors import AuthorError
from skillweave.llm.backends.backend import Backend, OfflineBackend, Request
from skillweave.schema.task import Fact
from skillweave.schema.trajectory import Message


def offline_user(seed: int = 0) -> Backend:
    """Create a user that needs no model; the seed draws its phrases."""

    def answer(request: Request) -> str:
        role = request.variables.get("role")
        if not isinstance(role, UserRole):
            raise AuthorError("the offline user plays roles of world tasks; the request's variables hold none")
        texts = heard_by(request.messages)
        return reply(role, texts, Random(f"{seed}/{request.key}/{request.attempt}/{len(texts)}")).written

    return OfflineBackend(answer, "user")


def heard_by(messages: Sequence[Message]) -> list[str]:
    """The texts of the agent's messages in a request to the user."""
    return [
        message.content or ""
        for message in messages
        if message.role == "user" and not (message.content or "").startswith(NOT_SENT)
    ]


def reply(role: UserRole, heard: Sequence[str], random: Random) -> UserAnswer:
    """Answer the agent's last message.

    Args:
        role: The user's role.
        heard: The texts of all messages of the agent.
        random: Draws the phrases.
    """
    phrases = {phrase.kind: phrase for phrase in understood(heard[-1])} if heard else {}
    if "propose" in phrases:
        return _to_proposal(role, phrases["propose"], random)
    if "ask" in phrases:
        return _answer(_told(role, phrases["ask"]) or random.choice(UNKNOWN))
    if "greet" in phrases:
        return _answer(role.request)
    if phrases.keys() & {"decline", "give_up", "hand_over"}:
        return _answer(random.choice(ACCEPT), done=True)
    if phrases.keys() & {"report", "fact", "part"}:
        return _answer(random.choice(THANK), done=True)
    puzzled = sum(not understood(text) for text in heard)
    if puzzled >= role.persona.patience:
        return _answer(random.choice(LEAVE), done=True)
    return _answer(random.choice(PUZZLED))


def _to_proposal(role: UserRole, proposal: Phrase, random: Random) -> UserAnswer:
    pairs = proposal.pairs
    wrong = [
        fact.text
        for fact in _known(role)
        if fact.value is not None and label(fact.id) in pairs and not _is_said(fact, pairs[label(fact.id)], role.now)
    ]
    if wrong:
        return _answer(" ".join([random.choice(REFUSE), *wrong]), agrees=False)
    return _answer(random.choice(AGREE), agrees=True)


def _told(role: UserRole, question: Phrase) -> str:
    labels = frozenset(question.labels)
    return " ".join(fact.text for fact in _known(role) if label(fact.id) in labels)


def _known(role: UserRole) -> list[Fact]:
    return [fact for fact in role.scenario.facts if fact.tell != "never"]


def _is_said(fact: Fact, text: str, now: str) -> bool:
    return tells_fact(fact, text, now) or text in value_forms(fact.value)


def _answer(text: str, *, agrees: bool | None = None, done: bool = False) -> UserAnswer:
    return UserAnswer(text=text, agrees=agrees, wants_human=False, done=done)

"""The offline user as a backend."""

import asyncio

import pytest

from rollout.offline.user import offline_user
from rollout.offline.user.user import reply
from rollout.user.user import AGAIN
from skillweave.errors import AuthorError
from skillweave.llm.request import Request
from skillweave.schema.message import Message
from tests.rollout.offline_user.chats import a_move, role


def messages(*agent: str) -> tuple[Message, ...]:
    played = role(a_move())
    opening = [Message(role="system", content=played.prompt), Message(role="assistant", content=played.opening)]
    return (*opening, *(Message(role="user", content=words) for words in agent))


def test_it_answers_from_role_and_conversation() -> None:
    request = Request(messages=messages("Your email, please?"), key="0/T#0", variables={"role": role(a_move())})
    said = asyncio.run(offline_user(7).complete(request))
    assert "ana@example.com" in said.text
    assert said.model == "user"


def test_seeds_draw_other_phrases() -> None:
    request = Request(messages=messages("Your email, please?"), key="0/T#0", variables={"role": role(a_move())})
    said = {asyncio.run(offline_user(seed).complete(request)).text for seed in range(20)}
    assert len(said) > 3


def test_a_request_without_a_role_is_an_author_error() -> None:
    with pytest.raises(AuthorError, match="role"):
        asyncio.run(offline_user().complete(Request(messages=messages("Hello"))))


def test_an_answer_that_is_asked_for_again_is_another_answer_to_the_same_message() -> None:
    played = role(a_move())
    first = reply(played, messages("Your email, please?"), "k")
    again = [Message(role="assistant", content=first), Message(role="user", content=AGAIN.format(faults="it is odd"))]
    second = reply(played, [*messages("Your email, please?"), *again], "k/1")
    assert "ana@example.com" in second
    assert second != first

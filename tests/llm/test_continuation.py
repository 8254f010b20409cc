"""Answers that stop at the token limit are continued, and come out as if they had not."""

import asyncio
from typing import Any

import pytest

from skillweave.base.errors import AuthorError
from skillweave.llm.ask import ask, join_parts
from skillweave.llm.backends.backend import OfflineBackend, Reply, Request
from skillweave.llm.ledger import Ledger

from .conftest import Maker

LONG = '["' + "x" * 40 + '", "' + "y" * 40 + '"]'


class Cut:
    """An author that says `text`, so many characters a reply."""

    def __init__(self, text: str, size: int) -> None:
        self.pieces = [text[start : start + size] for start in range(0, len(text), size)]
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        place = len(self.requests) - 1
        return Reply(self.pieces[place], stop="stop" if place == len(self.pieces) - 1 else "length")


def put(question: Any, author: Cut, continuations: int, **options: Any) -> Any:
    backend = OfflineBackend(author, "m")
    return asyncio.run(ask(backend, question, key="k", variables={"thing": 1}, continuations=continuations, **options))


def test_an_answer_in_three_parts_is_one_answer(a_question: Maker) -> None:
    author, ledger = Cut(LONG, 35), Ledger()
    assert put(a_question(list[str]), author, 3, ledger=ledger) == ["x" * 40, "y" * 40]
    first, second, third = author.requests
    assert first.schema is not None
    assert second.schema is third.schema is None
    assert [said.role for said in third.messages] == ["system", "user", "assistant", "user"]
    assert third.messages[2].content == LONG[:70]
    assert LONG[:70][-20:] in str(third.messages[3].content)
    assert ledger.total().first_try == 1


def test_a_list_under_its_name_is_continued_too(a_question: Maker) -> None:
    named = f'{{"things": {LONG}}}'
    assert put(a_question(list[str]), Cut(named, 50), 3) == ["x" * 40, "y" * 40]


def test_no_more_than_was_allowed(a_question: Maker) -> None:
    author = Cut(LONG, 20)
    with pytest.raises(AuthorError, match="cut off at the token limit"):
        put(a_question(list[str]), author, 2, repairs=0)
    assert len(author.requests) == 3


def test_what_says_nothing_is_not_continued(a_question: Maker) -> None:
    def silent(_: Request) -> Reply:
        return Reply("", stop="length")

    with pytest.raises(AuthorError, match="empty"):
        asyncio.run(
            ask(OfflineBackend(silent), a_question(int), key="k", variables={"thing": 1}, continuations=3, repairs=0)
        )


@pytest.mark.parametrize(
    ("begun", "rest", "whole"),
    [
        ("abc", "def", "abcdef"),
        ('{"name": "Ann', 'a", "age": 3}', '{"name": "Anna", "age": 3}'),
        # What is repeated of the end, and long enough not to be chance, stands once.
        ("one two three four", "two three four five", "one two three four five"),
        ("aa", "aa", "aaaa"),
        # Where what was said is whole as it stands, rows that are alike are no repetition.
        ('["a longer row", ', '"a longer row", "b"]', '["a longer row", "a longer row", "b"]'),
        # A fence that was open already is not opened again.
        ("```python\nx = 1\n", "```python\ny = 2\n```", "```python\nx = 1\ny = 2\n```"),
        ("text", "```python\ny = 2\n```", "text```python\ny = 2\n```"),
    ],
)
def test_parts_are_put_together(begun: str, rest: str, whole: str) -> None:
    assert join_parts(begun, rest) == whole

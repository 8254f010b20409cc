"""Authors that follow one another: who fails is followed by the next, and the bill and the figures tell them apart."""

import asyncio
from typing import Any

import pytest

from skillweave.base.errors import AuthorError, BudgetError, OutageError, ProviderError
from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import OfflineAnswer, OfflineBackend, Reply, Request
from skillweave.llm.ledger import Ledger
from skillweave.llm.question import Question

from .conftest import Maker


def an_author(name: str, *answers: str | Reply | Exception) -> OfflineBackend:
    def answer(request: Request) -> str | Reply:
        assert request.model == name
        said = answers[request.attempt]
        if isinstance(said, Exception):
            raise said
        return said

    return OfflineBackend(answer, name)


def put(question: Question[Any], *authors: OfflineBackend, **options: Any) -> Any:
    first, *fallback = authors
    return asyncio.run(ask(first, question, key="k", variables={"thing": "red"}, fallback=fallback, **options))


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        (ProviderError("no route"), "unreached"),
        (OutageError("down since noon"), "unreached"),
        (Reply("", refusal="I won't."), "refused"),
        (Reply("", stop="content_filter"), "withheld"),
        (Reply("", stop="context_window"), "too_long"),
        (AuthorError("not in the catalogue"), "unknown"),
        ("[", "form"),
    ],
)
def test_who_fails_is_followed_by_the_next(a_question: Maker, fault: Any, complaint: str) -> None:
    ledger, told = Ledger(), list[str]()
    authors = an_author("a", fault), an_author("b", "1")
    assert put(a_question(int), *authors, repairs=0, ledger=ledger, on_fault=told.append) == 1
    assert told[-1].startswith("offline/a gives way to the next author: ")
    first, second = ledger.askings()
    assert (first.author, first.rejected, first.complaints) == ("offline/a", 1, {complaint: 1})
    assert (second.author, second.first_try, second.rejected) == ("offline/b", 1, 0)


def test_the_next_author_begins_anew(a_question: Maker) -> None:
    heard: list[int] = []

    def remembering(request: Request) -> str:
        heard.append(len(request.messages))
        return "1"

    author: OfflineAnswer = remembering
    assert put(a_question(int), an_author("a", "x", "y"), OfflineBackend(author, "b"), repairs=1) == 1
    assert heard == [2]


def test_what_the_last_one_says_is_the_error(a_question: Maker) -> None:
    with pytest.raises(ProviderError, match="second"):
        put(a_question(int), an_author("a", ProviderError("first")), an_author("b", ProviderError("second")))


def test_a_spent_budget_is_no_reason_to_ask_another(a_question: Maker) -> None:
    with pytest.raises(BudgetError):
        put(a_question(int), an_author("a", BudgetError("spent")), an_author("b", "1"))

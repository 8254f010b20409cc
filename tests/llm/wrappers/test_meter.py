import asyncio
from pathlib import Path

import pytest

from skillweave.errors import BudgetError
from skillweave.llm.ledger import Entry, Ledger
from skillweave.llm.models import AuthorSpec, connect
from skillweave.llm.request import Reply, Request
from skillweave.llm.wrappers.meter import Price

PRICE = Price(input=2.0, output=10.0)


def a_request(key: str) -> Request:
    return Request(messages=(), question="q", key=key)


def answer(_: Request) -> Reply:
    return Reply("yes", input_tokens=500_000, output_tokens=100_000)


def test_tokens_and_cost_are_entered_by_question() -> None:
    ledger = Ledger()
    backend = connect(AuthorSpec(), offline=answer, ledger=ledger, price=PRICE)
    reply = asyncio.run(backend.complete(a_request("a")))
    asyncio.run(backend.complete(a_request("b")))
    assert reply.cost_usd == 2.0
    assert ledger.entries() == {"q": Entry(requests=2, input_tokens=1_000_000, output_tokens=200_000, cost_usd=4.0)}


def test_without_a_price_the_cost_is_unknown_not_zero() -> None:
    ledger = Ledger()
    reply = asyncio.run(connect(AuthorSpec(), offline=answer, ledger=ledger).complete(a_request("a")))
    assert reply.cost_usd is None
    assert ledger.total().unpriced == 1


def test_what_is_cached_costs_nothing(tmp_path: Path) -> None:
    ledger = Ledger()
    backend = connect(AuthorSpec(), offline=answer, ledger=ledger, price=PRICE, cache=tmp_path / "c")
    for _ in range(3):
        asyncio.run(backend.complete(a_request("a")))
    assert ledger.total().requests == 1


def test_nothing_is_asked_beyond_the_budget() -> None:
    ledger = Ledger()
    backend = connect(AuthorSpec(), offline=answer, ledger=ledger, price=PRICE, budget_usd=3.0)
    for key in "ab":
        asyncio.run(backend.complete(a_request(key)))
    with pytest.raises(BudgetError, match=r"budget of 3 USD is spent \(4\); raise llm\.budget_usd"):
        asyncio.run(backend.complete(a_request("c")))
    assert ledger.total().requests == 2


def test_tokens_below_zero_give_no_money_back() -> None:
    ledger = Ledger()
    odd = Reply("yes", input_tokens=-1_000_000, output_tokens=100_000)
    reply = asyncio.run(
        connect(AuthorSpec(), offline=lambda _: odd, ledger=ledger, price=PRICE).complete(a_request("a"))
    )
    assert (reply.input_tokens, reply.cost_usd) == (0, 1.0)
    assert ledger.total().cost_usd == 1.0

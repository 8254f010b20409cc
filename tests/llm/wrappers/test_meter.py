"""What is entered for each try: equal to what the server counted, whatever went wrong at the wire."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from skillweave.base.errors import BudgetError, ConfigError, ProviderError
from skillweave.llm.backends.backend import Backend, Reply, Request, Sampling
from skillweave.llm.budget import SharedBudget, spending
from skillweave.llm.ledger import FREE, Ledger, Price
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.limits.rate_limit import SharedSemaphore
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.reports import QuestionMetrics
from skillweave.schema.trajectory import Message

from ..protocols import a_completion, chunks_of
from ..scripted import CLOSED, GARBAGE, HANG, RESET, TRUNCATED, Act, Heard, ScriptedServer, fault, reply, soon, stream

PRICE = Price(input=2.0, output=10.0)
LIMITED = Sampling(max_tokens=100)
WHOLE, HALF = reply(a_completion()), stream(chunks_of(a_completion())[:4], end="closed")


def a_request(key: str = "a", **changes: Any) -> Request:
    return Request(messages=(Message(role="user", content="Say hi."),), question="q", key=key, **changes)


def answer(_: Request) -> Reply:
    return Reply("yes", input_tokens=500_000, output_tokens=100_000)


def asked(backend: Backend, *requests: Request) -> list[Reply | BaseException]:
    async def all_of_them() -> list[Reply | BaseException]:
        try:
            return await asyncio.gather(*(backend.complete(each) for each in requests), return_exceptions=True)
        finally:
            await backend.close()

    return asyncio.run(all_of_them())


def an_endpoint(server: ScriptedServer, ledger: Ledger, **given: Any) -> Backend:
    spec = AuthorSpec("openai", "m", base_url=f"{server.url}/v1", timeout=5.0, sampling=LIMITED)
    budget, price = given.pop("budget", None), given.pop("price", PRICE)
    settings = {"max_retries": 0, **given}
    limiter = EndpointLimiter("test", SharedSemaphore(16))
    return connect(AuthorSpec(**{**vars(spec), **settings}), ledger=ledger, price=price, budget=budget, limiter=limiter)


def entered(ledger: Ledger) -> QuestionMetrics:
    (entry,) = ledger.askings()
    return entry


def test_tokens_and_cost_are_entered_by_question_and_author() -> None:
    ledger = Ledger()
    backend = connect(AuthorSpec(), offline=answer, ledger=ledger, price=PRICE)
    (first, _) = asked(backend, a_request("a"), a_request("b"))
    assert isinstance(first, Reply)
    assert first.cost_usd == 2.0
    expected = QuestionMetrics(
        question="q", author="offline/author", replies=2, input_tokens=1_000_000, output_tokens=200_000, cost_usd=4.0
    )
    assert entered(ledger) == expected


def test_without_a_price_the_cost_is_unknown_not_zero() -> None:
    ledger = Ledger()
    (got,) = asked(connect(AuthorSpec(), offline=answer, ledger=ledger), a_request())
    assert isinstance(got, Reply)
    assert got.cost_usd is None
    assert entered(ledger).unpriced == 1


def test_what_costs_nothing_is_not_unknown() -> None:
    ledger = Ledger()
    asked(connect(AuthorSpec(), offline=answer, ledger=ledger, price=FREE), a_request())
    assert (entered(ledger).unpriced, entered(ledger).cost_usd) == (0, 0.0)


def test_absurd_counts_of_a_recorded_reply_are_bounded() -> None:
    def absurd(_: Request) -> Reply:
        return Reply("yes", input_tokens=-5, output_tokens=10**400)

    (got,) = asked(connect(AuthorSpec(), offline=absurd, ledger=Ledger(), price=PRICE), a_request())
    assert isinstance(got, Reply)
    assert (got.input_tokens, got.output_tokens, got.cost_usd) == (0, 10**9, 10_000.0)


def test_what_is_cached_costs_nothing(tmp_path: Path) -> None:
    ledger = Ledger()
    backend = connect(AuthorSpec(), offline=answer, ledger=ledger, price=PRICE, cache=tmp_path / "c")
    for _ in range(3):
        asyncio.run(backend.complete(a_request()))
    assert ledger.total().replies == 1


def test_the_provider_s_own_cache_has_prices_of_its_own() -> None:
    def cached(_: Request) -> Reply:
        return Reply("yes", input_tokens=1_000_000, cached_input_tokens=600_000, cache_write_tokens=300_000)

    price = Price(2.0, 10.0, cached_input=0.5, cache_write=2.5)
    (got,) = asked(connect(AuthorSpec(), offline=cached, ledger=Ledger(), price=price), a_request())
    assert isinstance(got, Reply)
    assert got.cost_usd == pytest.approx(0.1 * 2.0 + 0.6 * 0.5 + 0.3 * 2.5)


@pytest.mark.parametrize(
    "odd",
    [
        Reply("yes", input_tokens=-1_000_000, output_tokens=100_000),
        Reply("yes", output_tokens=100_000, cached_input_tokens=-1_000_000, cache_write_tokens=10**9),
    ],
)
def test_tokens_that_cannot_be_give_no_money_back(odd: Reply) -> None:
    ledger = Ledger()
    (got,) = asked(connect(AuthorSpec(), offline=lambda _: odd, ledger=ledger, price=PRICE), a_request())
    assert isinstance(got, Reply)
    assert (got.input_tokens, got.cost_usd, ledger.total().cost_usd) == (0, 1.0, 1.0)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_the_ledger_holds_what_the_server_counted(tmp_path: Path, is_streamed: bool) -> None:
    whole = stream(chunks_of(a_completion())) if is_streamed else WHOLE
    broken = HALF if is_streamed else TRUNCATED
    acts = [whole, fault(500), broken, fault(429), whole, RESET, CLOSED, GARBAGE, whole, fault(400), whole]
    ledger, budget = Ledger(), SharedBudget(tmp_path)
    with ScriptedServer(*acts, fault(503)) as server:
        backend = an_endpoint(server, ledger, budget=budget, stream=is_streamed)
        outcomes = asyncio.run(_in_turn(backend, len(acts)))
        count = len(server.heard)
    total = entered(ledger)
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [act is whole for act in acts]
    assert (total.requests, total.declined, total.replies, total.lost) == (count, 3, 4, 4)
    assert (total.input_tokens, total.output_tokens) == (4 * 7, 4 * 3)
    assert total.cost_usd == pytest.approx(4 * (7 * 2 + 3 * 10) / 1e6)
    assert total.lost_usd == pytest.approx(4 * (PRICE.most_usd(a_request(sampling=LIMITED)) or 0.0))
    assert spending(tmp_path) == pytest.approx((total.cost_usd, total.lost_usd, 0.0, 0))


async def _in_turn(backend: Backend, count: int) -> list[Reply | ProviderError]:
    outcomes: list[Reply | ProviderError] = []
    for number in range(count):
        try:
            outcomes.append(await backend.complete(a_request(str(number))))
        except ProviderError as error:
            outcomes.append(error)
    await backend.close()
    return outcomes


def test_every_try_is_entered() -> None:
    ledger = Ledger()
    with ScriptedServer(soon(fault(429)), soon(fault(500)), WHOLE) as server:
        asked(an_endpoint(server, ledger, max_retries=2), a_request())
        total = entered(ledger)
        assert (total.requests, total.declined, total.replies, total.lost) == (len(server.heard), 2, 1, 0)


def test_one_that_is_given_up_midway_is_lost() -> None:
    ledger = Ledger()

    async def given_up(backend: Backend, server: ScriptedServer) -> None:
        asking = asyncio.create_task(backend.complete(a_request()))
        while not server.heard:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await backend.close()

    with ScriptedServer(HANG) as server:
        asyncio.run(given_up(an_endpoint(server, ledger), server))
        assert (entered(ledger).requests, entered(ledger).lost) == (len(server.heard), 1)


def test_what_never_reached_the_endpoint_is_not_lost() -> None:
    ledger = Ledger()
    with ScriptedServer(WHOLE) as server:
        pass
    (error,) = asked(an_endpoint(server, ledger), a_request())
    assert isinstance(error, ProviderError)
    assert (ledger.total().lost, ledger.total().lost_usd) == (0, 0.0)


def test_a_reply_without_a_count_of_tokens_is_of_unknown_price_and_taken_for_the_dearest(tmp_path: Path) -> None:
    silent = {**a_completion(), "usage": None}
    ledger, budget = Ledger(), SharedBudget(tmp_path, 1.0)
    with ScriptedServer(reply(silent)) as server:
        (got,) = asked(an_endpoint(server, ledger, budget=budget), a_request())
    assert isinstance(got, Reply)
    assert (got.cost_usd, entered(ledger).unpriced) == (None, 1)
    most = PRICE.most_usd(a_request(sampling=LIMITED))
    assert spending(tmp_path) == pytest.approx((0.0, most, 0.0, 1))


def test_no_request_is_sent_that_the_budget_may_not_bear(tmp_path: Path) -> None:
    """The server charges up to all that it may; together the replies stay below the budget."""

    def dear(heard: Heard) -> Act:
        usage = {"prompt_tokens": 500, "completion_tokens": heard.body["max_tokens"]}
        return reply({**a_completion(), "usage": usage}, delay=0.01)

    ledger, budget = Ledger(), 0.02
    with ScriptedServer(dear) as server:
        backend = an_endpoint(server, ledger, budget=SharedBudget(tmp_path, budget))
        outcomes = asked(backend, *(a_request(str(number)) for number in range(12)))
    replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
    assert {type(outcome) for outcome in outcomes} == {Reply, BudgetError}
    found = spending(tmp_path)
    assert found is not None
    assert len(server.heard) == len(replies)
    assert found.spent == pytest.approx(len(replies) * 0.002)
    most = PRICE.most_usd(a_request(sampling=LIMITED))
    assert most is not None
    assert budget - most < found.spent <= budget


def test_a_budget_needs_a_limit_of_tokens(tmp_path: Path) -> None:
    with ScriptedServer(WHOLE) as server:
        backend = an_endpoint(server, Ledger(), budget=SharedBudget(tmp_path, 1.0), sampling=Sampling())
        (error,) = asked(backend, a_request())
    assert isinstance(error, ConfigError)
    assert not server.heard


def test_a_charge_above_the_most_is_told_and_counts_in_full(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 50_000}
    with ScriptedServer(reply({**a_completion(), "usage": usage})) as server:
        backend = an_endpoint(server, Ledger(), budget=SharedBudget(tmp_path, 0.1))
        asked(backend, a_request())
        (second,) = asked(backend, a_request("b"))
    assert isinstance(second, BudgetError)
    assert "openai/m charged $0.50 for a request that could cost $0.0" in caplog.text
    assert (spending(tmp_path) or (0.0,))[0] > 0.5

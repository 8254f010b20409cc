import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillweave.llm.backends.backend import Reply, Request, Sampling
from skillweave.llm.ledger import FREE, Price, cost_in_words, dollars
from skillweave.schema.trajectory import Message

amounts = st.integers(min_value=0, max_value=10**6)
prices = st.floats(min_value=0, max_value=100)
LIMIT = 1_000


@given(st.builds(Price, prices, prices, st.none() | prices, st.none() | prices), st.text(max_size=50), amounts)
def test_no_reply_within_the_limits_costs_more_than_the_most(price: Price, text: str, parts: int) -> None:
    """Whatever share of the prompt comes from a cache or goes into one; a token has at least a byte."""
    request = Request(messages=(Message(role="user", content=text),), sampling=Sampling(max_tokens=LIMIT))
    tokens = len(text.encode("utf-8", "surrogatepass"))
    reply = Reply("", tokens, parts % (tokens + 1), parts // 7 % (tokens + 1), LIMIT)
    most = price.most_usd(request)
    assert most is not None
    assert price.cost_usd(reply) <= most + 1e-12


def test_nothing_bounds_a_request_whose_answer_has_no_limit() -> None:
    request = Request(messages=(Message(role="user", content="?"),))
    assert Price(1.0, 1.0).most_usd(request) is None
    assert FREE.most_usd(request) == 0.0


def test_a_form_and_tools_are_part_of_the_most() -> None:
    bare = Request(messages=(), sampling=Sampling(max_tokens=1))
    form = Request(messages=(), sampling=Sampling(max_tokens=1), schema={"title": "x" * 1_000})
    tools = Request(messages=(), sampling=Sampling(max_tokens=1), tools=({"name": "x" * 1_000},))
    least, formed, tooled = (Price(1.0, 1.0).most_usd(each) or 0.0 for each in (bare, form, tools))
    assert min(formed, tooled) > least + 1_000 / 1e6


@pytest.mark.parametrize(
    ("cost", "unpriced", "words"),
    [
        (0.0, 0, "$0.00"),
        (1.2, 0, "$1.20"),
        (1234.5, 0, "$1,234.50"),
        (0.0, 34, "unknown"),
        (1.2, 34, "$1.20 and 34 requests of unknown price"),
        (1.2, 1, "$1.20 and 1 request of unknown price"),
    ],
)
def test_an_unknown_cost_is_never_shown_as_none(cost: float, unpriced: int, words: str) -> None:
    assert cost_in_words(cost, unpriced) == words


def test_a_small_cost_is_not_shown_as_none() -> None:
    amounts = (0.0, 0.00001, 0.0004, 0.0123, 0.0999, 0.5)
    assert [*map(dollars, amounts)] == ["$0.00", "$0.00001", "$0.0004", "$0.012", "$0.10", "$0.50"]

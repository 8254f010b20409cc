import asyncio

import pytest

from skillweave.base.errors import OutageError, ProviderError
from skillweave.llm.backends.backend import OfflineBackend, Reply, Request
from skillweave.llm.limits.circuit_breaker import FAILURES, EndpointFailure
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.wrappers import RetryingBackend

REQUEST = Request(messages=())
GARBLED = ProviderError("garbled", transient=True)


def through(
    faults: list[Exception], limiter: EndpointLimiter | None = None, *, retries: int = 3
) -> tuple[str, list[float]]:
    """The reply, or the error that there is in its place, and the pauses made."""
    left = list(faults)
    pauses: list[float] = []

    def author(_: Request) -> str:
        if left:
            raise left.pop(0)
        return "yes"

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    backend = RetryingBackend(OfflineBackend(author), retries, limiter or EndpointLimiter("there"), sleep=sleep)
    try:
        return asyncio.run(backend.complete(REQUEST)).text, pauses
    except ProviderError as error:
        return str(error), pauses


@pytest.mark.parametrize(
    ("faults", "expected", "pauses"),
    [
        ([], "yes", 0),
        ([GARBLED] * 2, "yes", 2),
        ([GARBLED] * 3, "yes", 3),
        ([GARBLED] * 4, "garbled (gave up after 3 retries)", 3),
        ([GARBLED, ProviderError("wrong")], "wrong", 1),
        ([OutageError("down", transient=True)], "down", 0),
    ],
)
def test_what_is_transient_is_tried_again_a_bounded_number_of_times(
    faults: list[Exception], expected: str, pauses: int
) -> None:
    said, made = through(faults)
    assert (said, len(made)) == (expected, pauses)


def test_pauses_are_drawn_below_a_limit_that_doubles_up_to_a_minute() -> None:
    _, pauses = through([GARBLED] * 40, retries=40)
    limits = [min(60.0, 0.5 * 2**retry) for retry in range(40)]
    assert all(0 <= pause <= limit for pause, limit in zip(pauses, limits, strict=True))
    assert max(pauses[10:]) > 20 > min(pauses[10:])


def test_no_other_error_is_chained_to_the_last_one() -> None:
    with pytest.raises(ProviderError, match="gave up after 1 retries") as caught:
        asyncio.run(RetryingBackend(OfflineBackend(_garbled), 1, EndpointLimiter("there")).complete(REQUEST))
    assert (caught.value.__context__, caught.value.transient) == (None, False)


def test_without_retries_the_fault_is_handed_on_as_it_is() -> None:
    with pytest.raises(ProviderError, match=r"^garbled$") as caught:
        asyncio.run(RetryingBackend(OfflineBackend(_garbled), 0, EndpointLimiter("there")).complete(REQUEST))
    assert caught.value.transient


def test_tries_that_begin_while_the_endpoint_is_down_are_free() -> None:
    limiter = EndpointLimiter("there")
    for _ in range(FAILURES):
        limiter.failed(EndpointFailure("not reached", 1, is_certain=True))
    assert through([GARBLED] * 20, limiter, retries=1) == ("yes", [])


def _garbled(_: Request) -> Reply:
    raise GARBLED

import asyncio

import pytest

from skillweave.errors import ProviderError
from skillweave.llm.backends.offline import OfflineBackend
from skillweave.llm.request import Request
from skillweave.llm.wrappers.retry import Retrying

REQUEST = Request(messages=())


def through(failures: int, *, transient: bool, retries: int = 3) -> tuple[str | None, list[float]]:
    """The reply, if any, and the pauses made."""
    left = [failures]
    pauses: list[float] = []

    def author(_: Request) -> str:
        if left[0]:
            left[0] -= 1
            raise ProviderError("garbled", transient=transient)
        return "yes"

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    backend = Retrying(OfflineBackend(author), retries, sleep=sleep)
    try:
        return asyncio.run(backend.complete(REQUEST)).text, pauses
    except ProviderError:
        return None, pauses


@pytest.mark.parametrize(
    ("failures", "transient", "expected"),
    [
        (0, True, ("yes", [])),
        (2, True, ("yes", [0.5, 1.0])),
        (3, True, ("yes", [0.5, 1.0, 2.0])),
        (4, True, (None, [0.5, 1.0, 2.0])),
        (1, False, (None, [])),
    ],
)
def test_what_is_transient_is_tried_again_a_bounded_number_of_times(
    failures: int, transient: bool, expected: tuple[str | None, list[float]]
) -> None:
    assert through(failures, transient=transient) == expected

"""The replay provider: answers from a recorded cassette, with no network and no key.

A request finds its answer by its words, item and attempt; the model that was recorded does not matter.
"""

from pathlib import Path

from skillweave.errors import ProviderError
from skillweave.llm.cassette import read_cassette
from skillweave.llm.request import Reply, Request


class ReplayBackend:
    def __init__(self, cassette: Path) -> None:
        self.name = f"replay/{cassette}"
        self._path = cassette
        self._replies = read_cassette(cassette)

    async def complete(self, request: Request) -> Reply:
        try:
            return self._replies[request.conversation_digest()]
        except KeyError:
            raise ProviderError(
                f"cassette {str(self._path)!r} holds no answer to question {request.question!r} for {request.key!r}, "
                f"attempt {request.attempt}: its prompt or what it is asked about has changed; record it again"
            ) from None

    async def close(self) -> None:
        """The cassette was read whole; there is nothing to let go of."""

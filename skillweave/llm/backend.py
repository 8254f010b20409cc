"""Backend: whoever answers requests. One method; everything else is a wrapper around it."""

from typing import Protocol

from skillweave.llm.request import Reply, Request


class Backend(Protocol):
    @property
    def name(self) -> str:
        """`provider/model`."""
        ...

    async def complete(self, request: Request) -> Reply:
        """The author's reply. Raises ProviderError (transport) or AuthorError (refused, nothing said)."""
        ...

    async def close(self) -> None:
        """Let go of connections and files. A closed backend is not used again."""
        ...

"""Backend: whoever answers requests. One method; everything else is a wrapper around it."""

from typing import Protocol

from skillweave.llm.request import Reply, Request


class Backend(Protocol):
    @property
    def name(self) -> str:
        """`provider/model`."""
        ...

    async def complete(self, request: Request) -> Reply:
        """The author's reply; a refusal and an empty answer are replies, too. Raises ProviderError (transport), and
        AuthorError where an author of our own knows no answer."""
        ...

    async def close(self) -> None:
        """Let go of connections and files. A closed backend is not used again."""
        ...

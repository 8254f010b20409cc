"""A lane to one endpoint: how many requests are on it at once."""

from skillweave.llm.gate import Gate


class Lane:
    def __init__(self, name: str, gate: Gate) -> None:
        self.name = name
        self._gate = gate

    async def enter(self, tokens: int, *, patience: float) -> None:
        """Wait until a request of about so many tokens may be sent. Raises OutageError."""
        await self._gate.__aenter__()

    async def leave(self) -> None:
        """What was sent has been answered, or will not be."""
        await self._gate.__aexit__()

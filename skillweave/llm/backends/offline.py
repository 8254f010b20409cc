"""The offline provider: an author in this process, which answers from the question's name and variables.

It answers in the same text that a model would, so that nothing above it knows the difference.
"""

from collections.abc import Callable

from skillweave.llm.request import Reply, Request

Answer = Callable[[Request], str | Reply]
"""An author as a function: the text of its answer, or a whole reply where it calls tools."""


class OfflineBackend:
    def __init__(self, answer: Answer, model: str = "author") -> None:
        self.name = f"offline/{model}"
        self._answer = answer
        self._model = model

    async def complete(self, request: Request) -> Reply:
        answer = self._answer(request)
        return answer if isinstance(answer, Reply) else Reply(text=answer, model=self._model)

    async def close(self) -> None:
        """There is nothing to let go of."""

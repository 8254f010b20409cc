"""Fill in what a request leaves open: the model and the sampling of the configuration.

It stands outermost, so that caches and cassettes see what is really sent.
"""

from dataclasses import replace

from skillweave.llm.backend import Backend
from skillweave.llm.request import Reply, Request, Sampling


class Defaults:
    def __init__(self, inner: Backend, model: str, sampling: Sampling) -> None:
        self.name = inner.name
        self._inner = inner
        self._model = model
        self._sampling = sampling

    async def complete(self, request: Request) -> Reply:
        sampling = request.sampling.or_else(self._sampling)
        return await self._inner.complete(replace(request, model=self._model, sampling=sampling))

    async def close(self) -> None:
        await self._inner.close()

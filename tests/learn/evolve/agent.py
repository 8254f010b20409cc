"""A backend whose skills are those of its model: the names of the tools that it was shown calls of.

It does what the oracle does in tasks whose golden calls it knows all tools of, and nothing else in the others, except
that it is lucky in some of the conversations in which it explores.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from rollout.offline.agents import nothing, oracle
from rollout.offline.script import scripts_of
from skillweave.base.store import digest_text
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.models import AuthorSpec
from skillweave.world.dataset import Dataset

SEED = 7


class Skilled:
    """It explores if it has a temperature."""

    def __init__(self, spec: AuthorSpec) -> None:
        self.name = spec.name
        self._model = Path(spec.model)
        self._skills = frozenset(json.loads((self._model / "skills.json").read_text()))
        self._explores = spec.sampling.temperature is not None
        self._dataset = Dataset(Path(str(spec.extra["outputs"])))
        self._scripts = scripts_of(self._dataset)

    async def complete(self, request: Request) -> Reply:
        id = request.key.rpartition("#")[0]
        needed = {call.tool for call in self._dataset.tasks[id].golden}
        if needed <= self._skills or (self._explores and self._is_lucky(request.key)):
            return oracle(request, self._scripts(id), SEED)
        return nothing(request, SEED)

    def _is_lucky(self, key: str) -> bool:
        return int(digest_text(f"{self._model.parent.name}/{key}")[:4], 16) % 3 == 0

    async def close(self) -> None:
        self._dataset.close()


class Unreachable(Skilled):
    """Its endpoint fails for one task, as long as the file `down` lies beside the dataset's pointer."""

    def __init__(self, spec: AuthorSpec) -> None:
        super().__init__(spec)
        self._down = Path(str(spec.extra["down"]))

    async def complete(self, request: Request) -> Reply:
        if self._down.exists() and self._explores:
            raise ConnectionError("nobody answers")
        return await super().complete(request)


def skills_of(line: Mapping[str, object]) -> set[str]:
    """The tools that the agent calls in a conversation."""
    messages = line["messages"]
    assert isinstance(messages, list)
    return {call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}

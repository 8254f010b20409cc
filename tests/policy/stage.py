"""A step's context for the tests of policies: the offline author behind an answer of the test's own."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from skillweave.base.manifest import ItemOutput
from skillweave.base.store import Store
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.ledger import Ledger
from skillweave.schema.blueprint import Blueprint
from synth.engine.artifact import Artifact, encode
from synth.engine.context import Context, RunSetting
from synth.engine.step import PipelineStep
from synth.offline.author import OfflineAuthor
from tests.policy.contracts import NOW, a_contract

R = TypeVar("R")
KEY = "DentalClinic"
Answer = Callable[[Request], str | None]


class Author:
    """The offline author as a backend; `instead` may answer first."""

    name = "offline/author"

    def __init__(self, instead: Answer = lambda request: None) -> None:
        self._instead = instead
        self._author = OfflineAuthor(7)
        self.requests: list[Request] = []

    @property
    def asked(self) -> list[str]:
        """Names of the questions, in order."""
        return [request.question for request in self.requests]

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        own = self._instead(request)
        return Reply(self._author(request) if own is None else own)

    async def close(self) -> None:
        """Nothing is open."""


class Services:
    def __init__(self, author: Author, *, judges: bool) -> None:
        self._author, self._judges = author, judges
        self.lines: list[str] = []

    def line(self, step: str, role: str) -> AuthorChain | None:
        return AuthorChain([self._author], Ledger()) if role != "judge" or self._judges else None

    async def offload(self, function: Callable[..., R], *arguments: object) -> R:
        return function(*arguments)

    def log(self, step: str, key: str, message: str) -> None:
        self.lines.append(message)


def context(
    step: PipelineStep[Any],
    folder: Path,
    author: Author,
    given: Mapping[Artifact[Any], object] | None = None,
    *,
    judges: bool = False,
) -> Context[Any]:
    """An item of a step that sees the values of its own key; who `judges` is the author."""
    store = Store(folder)
    visible = {}
    for number, (artifact, value) in enumerate((given or {}).items()):
        path = f"given{number}.json"
        store.write(path, encode(artifact, value))
        size = store.stamp(path).size
        label = artifact.label(KEY)
        visible[artifact.pattern, KEY] = ItemOutput(
            artifact=artifact.pattern, key=KEY, label=label, path=path, digest="0", size=size, mtime_ns=0
        )
    services = Services(author, judges=judges)
    return Context(
        step, KEY, params=step.params(), setting=RunSetting(7, NOW, ()), store=store, visible=visible, services=services
    )


def with_says(old: str, new: str) -> Blueprint:
    """The dental clinic's contract with other words in the sentences of its guards."""
    contract = a_contract()
    tools = [
        tool.model_copy(
            update={"guards": [g.model_copy(update={"says": g.says.replace(old, new)}) for g in tool.guards]}
        )
        for tool in contract.tools
    ]
    return contract.model_copy(update={"tools": tools})

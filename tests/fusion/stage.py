"""A step on artifacts given by hand, with an author who says what a test has it say."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from skillweave.base.manifest import ItemOutput, ItemRecord
from skillweave.base.store import Store
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.ledger import Ledger
from skillweave.schema.record import Record
from synth.engine.artifact import Artifact, decode, encode
from synth.engine.context import Context, RunSetting
from synth.engine.executor import ItemExecutor
from synth.engine.step import Params, PipelineStep

R = TypeVar("R")
T = TypeVar("T")
Answers = Mapping[str, str | list[Record]]
"""Question, or question and key (`fusion.links Clinic/Insurer`) -> what the author says to it, every time."""


class Stage:
    def __init__(self, outputs: Path, now: str, answers: Answers) -> None:
        self.store = Store(outputs)
        self.requests: list[Request] = []
        """All that the author was asked."""
        self._now, self._answers = now, answers
        self._visible: dict[tuple[str, str], ItemOutput] = {}

    def give(self, artifact: Artifact[T], key: str, value: T) -> None:
        """Have a value there before the step."""
        self.give_file(artifact, key, encode(artifact, value))

    def give_file(self, artifact: Artifact[Any], key: str, content: bytes) -> None:
        """Have bytes there before the step."""
        path = f"given/{artifact.pattern.replace('{key}', '')}/{key}"
        self.store.write(path, content)
        self._visible[artifact.pattern, key] = ItemOutput(
            artifact=artifact.pattern, key=key, label=artifact.label(key), path=path, digest="", size=0, mtime_ns=0
        )

    def run(self, step: PipelineStep[Any], key: str, params: Params, sent_back: tuple[str, ...] = ()) -> ItemRecord:
        """The record of one item of a step; `sent_back`: what later steps have sent back to it."""
        context: Context[Any] = Context(
            step,
            key,
            params=params,
            setting=RunSetting(7, self._now, ()),
            store=self.store,
            visible=self._visible,
            services=self,
            sent_back=sent_back,
        )
        record = ItemExecutor().execute(step, context, [])
        self._visible |= {(output.artifact, output.key): output for output in record.outputs}
        return record

    def read(self, artifact: Artifact[T], key: str) -> T:
        """What the step has written."""
        found = self._visible[artifact.pattern, key]
        return decode(artifact, self.store.read(found.path), found.label)

    def line(self, step: str, role: str) -> AuthorChain:
        """The author."""
        return AuthorChain([_Author(self)], Ledger())

    async def offload(self, function: Callable[..., R], *arguments: object) -> R:
        """Work for the pool, done in place."""
        return function(*arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Nobody reads it."""

    def answer(self, request: Request) -> str:
        """What the author says."""
        self.requests.append(request)
        found = self._answers.get(f"{request.question} {request.key}", self._answers.get(request.question, "[]"))
        return found if isinstance(found, str) else json.dumps([one.model_dump(mode="json") for one in found])


class _Author:
    name = "offline/author"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def complete(self, request: Request) -> Reply:
        return Reply(self._stage.answer(request))

    async def close(self) -> None:
        """Nothing is open."""

"""Downstream: the steps of a finished run, each of which can be run again after an artifact that it reads was edited.

The steps see an edit as they would see another upstream: through the store, with its digest. Nothing is mocked; only
work for the process pool is done in place.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.store import Store, digest_bytes
from skillweave.config.load import load_config
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.ledger import Ledger
from synth.engine.artifact import Artifact, decode, encode
from synth.engine.context import Context, RunSetting
from synth.engine.executor import ItemExecutor
from synth.engine.pipeline import load_pipeline, step_params
from synth.offline.author import OfflineAuthor
from tests.pipeline.small import OVERRIDES, ROOT

T = TypeVar("T")
R = TypeVar("R")
Twist = Callable[[Request, str], str]
"""What an author says instead of what it would have said."""


class Downstream:
    def __init__(self, outputs: Path, overrides: tuple[str, ...] = OVERRIDES) -> None:
        config = load_config(ROOT / "config.yaml", overrides, {})
        self.outputs = outputs
        self.store = Store(outputs)
        self.pipeline = load_pipeline("synth.steps")
        self.params = step_params(self.pipeline.steps, config.steps)
        self.setting = RunSetting(config.seed, config.simulation_time, tuple(config.domains.seeds))
        self.twist: Twist = lambda request, text: text
        """Set by a test that plants another author."""
        self.log_lines: list[str] = []
        self.requests: list[Request] = []
        """All that the author was asked."""
        records = Manifest(self.store).items()
        self._visible = {(output.artifact, output.key): output for record in records for output in record.outputs}

    def read(self, artifact: Artifact[T], key: str) -> T:
        """The value of a key as it is now."""
        found = self._visible[artifact.pattern, key]
        if artifact.kind == "file":
            return self.store.path(found.path)  # type: ignore[return-value]
        return decode(artifact, self.store.read(found.path), found.label)

    def edit(self, artifact: Artifact[T], key: str, value: T) -> None:
        """Give a key another value, as another upstream would have."""
        self._replace(artifact, key, encode(artifact, value))

    def edit_file(self, artifact: Artifact[Path], key: str, content: bytes) -> None:
        """Give a key other bytes."""
        self._replace(artifact, key, content)

    def run(self, step: str, key: str = "all") -> ItemRecord:
        """Run one item of a step on what is there now; what it writes is seen by the next."""
        found = self.pipeline.step(step)
        context: Context[Any] = Context(
            found,
            key,
            params=self.params[found.name],
            setting=self.setting,
            store=self.store,
            visible=self._visible,
            services=self,
        )
        record = ItemExecutor().execute(found, context, [])
        if record.state == "done":
            self._visible |= {(output.artifact, output.key): output for output in record.outputs}
        return record

    def changed(self, step: str, key: str = "all") -> set[str]:
        """Run a step again; labels of what came out otherwise than before. It has to come out at all."""
        before = {output.label: output.digest for output in self._visible.values()}
        record = self.run(step, key)
        assert record.state == "done", record.reasons
        return {output.label for output in record.outputs if before.get(output.label) != output.digest}

    def line(self, step: str, role: str) -> AuthorChain:
        """The offline author, twisted."""
        return AuthorChain([_Author(self)], Ledger())

    async def offload(self, function: Callable[..., R], *arguments: object) -> R:
        """Work for the pool, done in place."""
        return function(*arguments)

    def log(self, step: str, key: str, message: str) -> None:
        self.log_lines.append(message)

    def _replace(self, artifact: Artifact[Any], key: str, content: bytes) -> None:
        found = self._visible[artifact.pattern, key]
        self.store.write(found.path, content)
        self._visible[artifact.pattern, key] = found.model_copy(update={"digest": digest_bytes(content)})


class _Author:
    """The offline author as a backend, with a test's twist on what it says."""

    name = "offline/author"

    def __init__(self, line: Downstream) -> None:
        self._line = line
        self._author = OfflineAuthor(line.setting.seed)

    async def complete(self, request: Request) -> Reply:
        self._line.requests.append(request)
        return Reply(self._line.twist(request, self._author(request)))

    async def close(self) -> None:
        """Nothing is open."""

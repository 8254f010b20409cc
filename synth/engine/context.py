"""Context: all that a step's item can see and do.

The context records what an item reads, asks and writes. A later run compares this record to decide whether the
item has to be redone. An item sees only what the items that it waits for have made.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.manifest import ItemOutput
from skillweave.base.progress import tell_progress
from skillweave.base.store import Store, digest_bytes, digest_file, digest_json
from skillweave.config.sections import DifficultyConfig, SplitsConfig
from skillweave.llm.ask import AnswerCheck, AuthorChain, ask
from skillweave.llm.elements import ElementCheck
from skillweave.llm.ledger import Ledger
from skillweave.llm.question import Question
from skillweave.sandbox.folder import SandboxLimits
from skillweave.schema.record import Json
from synth.engine.artifact import Artifact, decode, encode

T = TypeVar("T")
R = TypeVar("R")
A = ParamSpec("A")

EXAMPLE_CHARS = 160
"""Most characters of a rejected part that an item's record keeps."""


class StepDeclaration(Protocol):
    """What a context has to know of its step. `synth.engine.step.PipelineStep` is one."""

    @property
    def name(self) -> str: ...

    @property
    def questions(self) -> tuple[Question[Any], ...]: ...

    @property
    def each(self) -> Artifact[Any] | None: ...

    def readable(self, key: str) -> frozenset[Artifact[Any]]:
        """The artifacts that the item of a key may read."""
        ...

    def writable(self, key: str) -> frozenset[Artifact[Any]]:
        """The artifacts that the item of a key may write."""
        ...


class RepairParams(Protocol):
    """What a context has to know of a step's parameters."""

    @property
    def repairs(self) -> int:
        """How often an answer that fails its check goes back to its author."""
        ...


P = TypeVar("P", bound=RepairParams)


class RunServices(Protocol):
    """What the engine lends to a context."""

    def line(self, step: str, role: str) -> AuthorChain | None:
        """The authors of a role in a step, in the order in which they are asked; None if the role has none."""
        ...

    def offload(self, function: Callable[..., R], *arguments: object) -> Awaitable[R]:
        """Run a function in the run's process pool."""
        ...

    def log(self, step: str, key: str, message: str) -> None:
        """Add a line to the step's log."""
        ...


@dataclass
class ItemActivity:
    """What an item did, for its record."""

    reads: dict[str, str] = field(default_factory=dict)
    """Label of what it read -> digest."""
    outputs: dict[str, ItemOutput] = field(default_factory=dict)
    """Label of what it wrote -> the output."""
    rejected: dict[str, int] = field(default_factory=dict)
    """Reason -> number of parts that were left out for it."""
    examples: dict[str, str] = field(default_factory=dict)
    """Reason -> the first part that was left out for it."""
    figures: dict[str, int | float] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)


@dataclass(frozen=True)
class RunSetting:
    """What the configuration says to every item."""

    seed: int
    now: str
    """The simulation time, `YYYY-MM-DD HH:MM:SS`."""
    seeds: tuple[str, ...]
    """The domains that the run starts from."""
    sandbox: SandboxLimits = field(default_factory=SandboxLimits)
    splits: SplitsConfig = field(default_factory=SplitsConfig)
    difficulty: DifficultyConfig = field(default_factory=DifficultyConfig)


class Context(Generic[P]):
    """One item's view of the run. Steps get it as their first argument."""

    def __init__(
        self,
        step: StepDeclaration,
        key: str,
        *,
        params: P,
        setting: RunSetting,
        store: Store,
        visible: Mapping[tuple[str, str], ItemOutput],
        services: RunServices,
        round: int = 0,
        sent_back: tuple[str, ...] = (),
    ) -> None:
        self.key = key
        self.round = round
        """How often the item's authors were asked anew, from the first question on."""
        self.sent_back = sent_back
        """Reasons why items of later steps were rejected for a fault that lies here: the author has to repair it."""
        self.params = params
        self.seed = setting.seed
        self.now = setting.now
        """The simulation time, `YYYY-MM-DD HH:MM:SS`."""
        self.sandbox = setting.sandbox
        """The limits of generated code. They decide whether code runs, not what an item makes: no record has them."""
        self.activity = ItemActivity()
        self._step, self._setting = step, setting
        self._store = store
        self._visible = visible
        self._services = services
        self._readable, self._writable = step.readable(key), step.writable(key)

    @property
    def seeds(self) -> list[str]:
        """The domains that the run starts from: `domains.seeds` of the configuration."""
        self._read_setting("domains.seeds")
        return list(self._setting.seeds)

    @property
    def splits(self) -> SplitsConfig:
        """How tasks are put into splits: `splits` of the configuration."""
        self._read_setting("splits")
        return self._setting.splits

    @property
    def difficulty(self) -> DifficultyConfig:
        """How hard tasks are: `difficulty` of the configuration."""
        self._read_setting("difficulty")
        return self._setting.difficulty

    def random(self, *parts: object) -> Random:
        """A random generator for a name, independent of all others and of the order in which they are used.

        Args:
            parts: The name: usually the item's key and what is drawn.
        """
        return Random("/".join(map(str, (self.seed, self._step.name, *parts))))

    def keys(self, artifact: Artifact[Any]) -> list[str]:
        """The keys that this item can see, sorted."""
        self._must_be_readable(artifact)
        keys = sorted(key for pattern, key in self._visible if pattern == artifact.pattern)
        self.activity.reads[keys_label(artifact.pattern)] = digest_json(list(keys))
        return keys

    def read(self, artifact: Artifact[T], key: str | None = None) -> T:
        """The value of a key, by default the item's own. Raises ArtifactError if this item cannot see it."""
        output = self._output(artifact, self.key if key is None else key)
        if artifact.kind == "file":
            return self._store.path(output.path)  # type: ignore[return-value]
        return decode(artifact, self._store.read(output.path), output.label)

    def read_all(self, artifact: Artifact[T]) -> dict[str, T]:
        """The values of all keys that this item can see, sorted."""
        return {key: self.read(artifact, key) for key in self.keys(artifact)}

    def path(self, artifact: Artifact[Any], key: str | None = None) -> Path:
        """The file of a key, for reading. Raises ArtifactError if this item cannot see it, or for a joined artifact."""
        output = self._output(artifact, self.key if key is None else key)
        if artifact.kind == "joined":
            raise ArtifactError(f"{output.label!r} is a value of a joined file and has no path; use read()")
        return self._store.path(output.path)

    def write(self, artifact: Artifact[T], key: str, value: T) -> None:
        """Write the value of a key. Raises ArtifactError if the step did not declare it."""
        content = encode(artifact, value)
        path = self._path_to_write(artifact, key)
        self._store.write(path, content)
        self._record_output(artifact, key, path, digest_bytes(content))

    @contextmanager
    def write_path(self, artifact: Artifact[Path], key: str) -> Iterator[Path]:
        """A temporary path to write to. It becomes the artifact's file when the context closes without an error."""
        path = self._path_to_write(artifact, key)
        with self._store.replacing(path) as temporary:
            yield temporary
        self._record_output(artifact, key, path, digest_file(self._store.path(path)))

    async def ask(
        self,
        question: Question[T],
        *,
        key: str | None = None,
        check: AnswerCheck[T] | ElementCheck[T] | None = None,
        **variables: object,
    ) -> T:
        """Ask the author of the question's role.

        Args:
            question: A question that the step declares.
            key: What the question is about; part of the random choices of the offline author. The item's by default.
            check: Says what is wrong with an answer. A wrong answer goes back to its author, `params.repairs` times.
            variables: The variables of the question's prompt.

        Returns:
            The answer, of the question's type.

        Raises:
            AuthorError: There was no usable answer. It rejects the item unless the step catches it.
            ConfigError: Nobody is named for the role.
        """
        if question not in self._step.questions:
            raise ArtifactError(f"{self._step.name} asks {question.name!r}; declare it in @step(questions=...)")
        line = self._services.line(self._step.name, question.role)
        if line is None:
            raise ConfigError(f"{self._step.name} asks {question.name!r}; name who answers in llm.{question.role}")
        self.activity.ledger.parent = line.ledger
        author, *fallback = line.backends
        return await ask(
            author,
            question,
            key=self.key if key is None else key,
            variables=variables,
            check=check,
            repairs=self.params.repairs,
            continuations=line.continuations,
            fallback=fallback,
            step=self._step.name,
            round=self.round,
            ledger=self.activity.ledger,
            on_fault=self.log,
        )

    def has_author(self, question: Question[Any]) -> bool:
        """Whether somebody is named who answers the question. Only the judge may be left out."""
        return self._services.line(self._step.name, question.role) is not None

    async def offload(self, function: Callable[A, R], *arguments: A.args, **named: A.kwargs) -> R:
        """Run a function in another process, for work that keeps a core busy.

        Args:
            function: A pure function at the top of a module.
            arguments: Values that can be pickled.
            named: None are allowed: the pool takes positional arguments only.
        """
        if named:
            raise TypeError("offload passes positional arguments only")
        return await self._services.offload(function, *arguments)

    def reject(self, part: str, reason: str) -> None:
        """Record that a part of the item was left out.

        Args:
            part: What was left out. The log has all parts, the record the first for each reason.
            reason: Why. Reasons are few and fixed, so that they can be counted.
        """
        self.activity.rejected[reason] = self.activity.rejected.get(reason, 0) + 1
        self.activity.examples.setdefault(reason, " ".join(part.split())[:EXAMPLE_CHARS])
        self.log(f"rejected {part}: {reason}")

    def count(self, name: str, n: float = 1) -> None:
        """Add `n` to one of the item's figures. The manifest keeps them, and `synth status` shows them."""
        self.activity.figures[name] = self.activity.figures.get(name, 0) + n

    def progress(self, done: int, of: int, what: str) -> None:
        """Say how far the item is; functions that are offloaded say it by `tell_progress`."""
        tell_progress(done, of, what)

    def log(self, message: str) -> None:
        """Add a line to the step's log."""
        self._services.log(self._step.name, self.key, message)

    def _output(self, artifact: Artifact[Any], key: str) -> ItemOutput:
        self._must_be_readable(artifact)
        output = self._visible.get((artifact.pattern, key))
        if output is None:
            raise ArtifactError(
                f"{self._step.name}/{self.key} cannot see {artifact.label(key)!r}: no item that it waits for made it; "
                "declare every(...) in its reads if it belongs to another key"
            )
        self.activity.reads[output.label] = output.digest
        return output

    def _read_setting(self, label: str) -> None:
        self.activity.reads[label] = digest_json(SETTINGS[label](self._setting))

    def _must_be_readable(self, artifact: Artifact[Any]) -> None:
        if artifact not in self._readable:
            raise ArtifactError(f"{self._step.name} reads {artifact.pattern!r}; declare it in @step(reads=...)")

    def _path_to_write(self, artifact: Artifact[Any], key: str) -> str:
        if artifact not in self._writable:
            raise ArtifactError(f"{self._step.name}/{self.key} writes {artifact.pattern!r}; declare it in @step(...)")
        if artifact.kind == "joined":
            if self._step.each is not None and key != self.key:
                raise ArtifactError(
                    f"{self._step.name}/{self.key} writes {artifact.label(key)!r}, another item's value"
                )
            return artifact.part_path(self._step.name, key)
        return artifact.path(key)

    def _record_output(self, artifact: Artifact[Any], key: str, path: str, digest: str) -> None:
        stamp, label = self._store.stamp(path), artifact.label(key)
        self.activity.outputs[label] = ItemOutput(
            artifact=artifact.pattern,
            key=key,
            label=label,
            path=path,
            digest=digest,
            size=stamp.size,
            mtime_ns=stamp.mtime_ns,
        )


SETTINGS: Mapping[str, Callable[[RunSetting], Json]] = {
    "domains.seeds": lambda setting: list(setting.seeds),
    "splits": lambda setting: setting.splits.model_dump(mode="json"),
    "difficulty": lambda setting: setting.difficulty.model_dump(mode="json"),
}
"""Label of a read of the configuration -> what is read, of which the record has the digest."""


def keys_label(pattern: str) -> str:
    """The label that a read of all keys of an artifact is recorded under."""
    return f"the list of {pattern}"

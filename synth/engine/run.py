"""A run: everything that one process needs to decide about items and to do them.

`RunSpec` says all of it in plain values. A run that is sent to another process is sent as its spec, and opened there
once, on the same outputs folder.
"""

import asyncio
import os
import shutil
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

from skillweave.base.code import CodeIndex
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.progress import with_notes
from skillweave.base.store import CACHE, TEMPORARY, Store, process_name
from skillweave.config.sections import Config
from skillweave.llm.ask import AuthorChain
from skillweave.plugins import load_plugins, loaded_plugins
from skillweave.sandbox.folder import SandboxLimits
from skillweave.sandbox.strength import require
from skillweave.workers import Command, ProcessPool, require_runner, this_command
from synth.engine.authors import Authors
from synth.engine.context import Context, RunSetting
from synth.engine.executor import ItemExecutor, ItemResults
from synth.engine.pipeline import OFFLINE_AUTHOR, load_pipeline, step_params, visible_to
from synth.engine.staleness import StalenessCheck
from synth.engine.step import PipelineStep

R = TypeVar("R")

LOCAL_HOSTS = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class RunSpec:
    """What a run is, in values that can be sent to another process."""

    config: Config = field(hash=False)
    outputs: Path
    package: str = "synth.steps"
    """The package that the steps' modules are in."""
    author: str = OFFLINE_AUTHOR
    """`module:Class` of the offline author."""
    read_only: bool = False
    fresh: frozenset[str] = frozenset()
    """Names of steps whose items are redone in any case."""
    retries_rejected: bool = False
    """Ask authors again about rejected items, and send complaints back to the earlier items that they lie in."""


class PipelineRun:
    """The parts of a run. It lends them to the contexts of its items (`RunServices`)."""

    def __init__(self, spec: RunSpec, signs: Path | None = None) -> None:
        """Open a run.

        Args:
            spec: What it is.
            signs: In a worker of a cluster: the folder of what the run's processes tell each other.

        Raises:
            ConfigError: The configuration does not fit the steps, or a plug-in cannot be loaded.
        """
        config = spec.config
        load_plugins(config.plugins)
        everything = load_pipeline(spec.package)
        artifacts = {artifact.pattern: artifact for step in everything.steps for artifact in step.artifacts}
        roots = {"skillweave", "synth", "evaluator", spec.package, *loaded_plugins()}
        self.spec = spec
        self.store = Store(spec.outputs)
        self.all_steps = everything.steps
        """All steps, also those that the task mode leaves out."""
        self.pipeline = everything.restricted(config.task_mode)
        self.params = step_params(everything.steps, config.steps)
        self.setting = RunSetting(
            config.seed,
            config.simulation_time,
            tuple(config.domains.seeds),
            SandboxLimits.of(config.sandbox),
            config.splits,
            config.difficulty,
        )
        self.manifest = Manifest(self.store)
        self.authors = Authors(config, spec.author, spec.outputs)
        temporary = spec.outputs / TEMPORARY / process_name()
        # A worker of a cluster is a core of its own: it has no pool, but one thread for what would go there.
        self._thread = ThreadPoolExecutor(1, "offload") if signs else None
        self.signs = signs or temporary.with_name(f"signs-{token_hex(8)}")
        self.executor = ItemExecutor(self.signs, config.execution.runner != "threads")
        self.results = ItemResults(self.store, self.manifest, artifacts, read_only=spec.read_only)
        self.code = CodeIndex(
            sorted({root.partition(".")[0] for root in roots}),
            spec.outputs / CACHE / "code.json",
        )
        self.staleness = StalenessCheck(
            self.pipeline,
            self.params,
            self.setting,
            self.manifest,
            self.authors,
            self.code,
            self.results.is_intact,
            fresh=spec.fresh,
            retries_rejected=spec.retries_rejected,
        )
        self._pool = ProcessPool(config.execution.workers, temporary, [step.module for step in self.pipeline.steps])
        self._log_lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., "PipelineRun"], tuple[RunSpec, Path, Command]]:
        """A run that is sent to a worker of a cluster is opened there from its spec."""
        return open_run, (self.spec, self.signs, this_command())

    def do(
        self,
        step: PipelineStep[Any],
        key: str,
        upstream: Sequence[ItemRecord],
        *,
        round: int = 0,
        sent_back: tuple[str, ...] = (),
    ) -> ItemRecord:
        """Do an item. Nothing but its files is written; `keep` puts its record in the manifest.

        Args:
            step: The item's step.
            key: The item's key.
            upstream: The records of all items that it waits for.
            round: How often its authors were asked anew before.
            sent_back: Reasons of later rejections that its authors are told.

        Returns:
            The item's record.
        """
        context: Context[Any] = Context(
            step,
            key,
            params=self.params[step.name],
            setting=self.setting,
            store=self.store,
            visible=visible_to(step, key, upstream),
            services=self,
            round=round,
            sent_back=sent_back,
        )
        done_keys = [record.key for record in upstream if record.step == step.name and record.state == "done"]
        return self.executor.execute(step, context, done_keys)

    def keep(self, record: ItemRecord) -> ItemRecord:
        """Keep the result of an item that came to its end: the process that schedules the items alone writes the
        manifest. Returns the record as it was kept."""
        step = self.pipeline.step(record.step)
        return self.results.keep(record, self.staleness.fingerprint(step), self.staleness.authors_of(step, record.key))

    def check(self, steps: Sequence[PipelineStep[Any]]) -> list[str]:
        """Check what steps need, without asking anybody or writing anything.

        Returns:
            The environment variables that hold no key. A run that only looks needs none; any other is refused.

        Raises:
            ConfigError: An author is unknown or has no key, a budget has no price, a service file of one's own is
                wrong, no seed domain is known to the offline author, the runner is not installed, or this machine
                confines generated code less than the configuration asks for.
        """
        require_runner(self.spec.config.execution)
        _require_sharing(self.spec.config)
        self.authors.check_catalogue()
        asked = [(step.name, question.role) for step in steps for question in step.questions]
        missing = self.authors.missing_keys(asked)
        for name, role in [] if self.spec.read_only else asked:
            self.authors.line(name, role)
        if steps and steps[0] is self.pipeline.steps[0]:
            roles = {question.role for question in steps[0].questions}
            self.authors.check_seeds(steps[0].name, roles, self.setting.seeds)
        require(self.setting.sandbox.minimum)
        return missing

    def warm_up(self, steps: Sequence[PipelineStep[Any]]) -> None:
        """Do what items of these steps will need in any case, while there is nothing else to do."""
        self._pool.warm_up()
        for step in steps:
            self.staleness.fingerprint(step)

    def close(self) -> None:
        """End the processes and close the connections."""
        self._pool.close()
        with suppress(OSError):
            # A connection that does not close in time must not hide what ended the run.
            self.authors.close()
        if self._thread is None:
            shutil.rmtree(self.signs, ignore_errors=True)
        if not self.spec.read_only:
            self.code.save()

    def line(self, step: str, role: str) -> AuthorChain | None:
        """The authors of a role in a step, in the order in which they are asked; None if the role has none."""
        return self.authors.line(step, role)

    def offload(self, function: Callable[..., R], *arguments: object) -> Awaitable[R]:
        """Run a function in the process pool; in a worker of a cluster, in a thread."""
        if self._thread is not None:
            return asyncio.get_running_loop().run_in_executor(self._thread, with_notes(function, *arguments))
        return self._pool.call(function, *arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Add a line to the step's log."""
        with self._log_lock, suppress(ArtifactError):
            # A log that cannot be written costs no item: the record holds the result.
            self.store.append(f"logs/{step}.log", f"{key}: {message}\n".encode("utf-8", "backslashreplace"))


def _require_sharing(config: Config) -> None:
    """Raise ConfigError for what the machines of a cluster elsewhere cannot share."""
    address = config.execution.address
    if address is None:
        return
    if config.llm.budget_usd is not None:
        raise ConfigError(
            "llm.budget_usd: what items spend is kept in an account that machines cannot share; with execution.address "
            "limit what is spent at the provider, and set llm.budget_usd: null"
        )
    if not any(host in address for host in LOCAL_HOSTS) and not os.environ.get("PREFECT_API_URL"):
        raise ConfigError(
            f"the workers at execution.address {address!r} cannot reach the Prefect server that a run starts for its "
            "own machine; start one that they reach, and set PREFECT_API_URL"
        )


@cache
def open_run(spec: RunSpec, signs: Path, command: Command) -> PipelineRun:
    """The run of a spec in a worker of a cluster, which opens it once for all items that it is given. The worker has
    its part of the endpoints' limits; the budget is one account in the outputs folder."""
    command.enter()
    llm = spec.config.llm.shared_by(spec.config.execution.workers)
    return PipelineRun(replace(spec, config=spec.config.model_copy(update={"llm": llm})), signs)

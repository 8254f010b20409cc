"""A dataset: the outputs folder of a run, for Python. It gives tasks by id, and worlds that open sessions.

The dataset reads files at first use and trusts nothing in them: it parses them into types, their paths stay in the
folder, their databases hold plain tables, and a task's state must be the one on which the task was proven. A fused
world's contract is complete only with its bridge rules, which are in a file next to its policy.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from skillweave.base.command import command_line
from skillweave.base.errors import ArtifactError
from skillweave.base.store import Stamp, Store, digest_file, digest_json
from skillweave.base.text import UnreadableTextError, skip_mark
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import Policy
from skillweave.schema.fusion import Mediation
from skillweave.schema.record import Json, Record
from skillweave.schema.task import Task
from skillweave.world import database
from skillweave.world.world import World

R = TypeVar("R", bound=Record)

BLUEPRINTS = "blueprints.json"
_MAX_LISTED = 5
"""Most names that an error lists."""
QUERIES = "queries"
PARTS = (QUERIES, "database", "policies", "tool_lists")
"""Folders of a dataset that a trajectory depends on, in addition to the blueprints."""


class Dataset:
    """The outputs folder of a run. Threads must not share it; they may share the worlds that it gives."""

    def __init__(self, outputs: Path) -> None:
        """Open a folder. Raises ArtifactError if it is not the outputs folder of a run."""
        self.store = Store(outputs)
        if not outputs.is_dir():
            raise ArtifactError(
                f"there is no outputs folder {str(outputs)!r}; name the one that a run wrote with --outputs-dir "
                f"(outputs_dir in the configuration), or write one with: {command_line('synth', 'run')}"
            )
        if not self.store.exists(BLUEPRINTS) and not (outputs / QUERIES).is_dir():
            raise ArtifactError(
                f"{str(outputs)!r} holds no {BLUEPRINTS} and no tasks; give the folder that a run wrote"
            )
        self.tasks = Tasks(self.store)
        self._contracts = Contracts(self.store)
        self._worlds: dict[str, World] = {}
        self._digests: dict[tuple[str, str], str] = {}

    @property
    def worlds(self) -> list[str]:
        """Names of the worlds that have a database and a complete contract, sorted."""
        return [name for name in _stems(self.store, "database", ".sqlite") if self._contracts.is_whole(name)]

    @cached_property
    def digest(self) -> str:
        """sha256 of the files that trajectories depend on, computed at first use."""
        root = self.store.root
        paths = [root / BLUEPRINTS, *(path for part in PARTS for path in _files(root / part))]
        return digest_json({str(path.relative_to(root)): digest_file(path) for path in paths if path.is_file()})

    def blueprint(self, name: str) -> Blueprint:
        """The blueprint of a world, a fused one with its bridge rules. Raises ArtifactError if there is none."""
        return self._contracts[name]

    def policy(self, name: str) -> Policy:
        """The policy of a world. Raises ArtifactError if there is none."""
        return Policy(world=name, text=self._text(f"policies/{name}.md"))

    def world(self, which: Task | str) -> World:
        """Open the world of a task, or the one of that name. Each is opened once.

        Args:
            which: A task of this dataset, or the name of a world.

        Raises:
            ArtifactError: A file is missing or damaged, or the task was proven on another state.
        """
        if not isinstance(which, Task):
            return self._world(which)
        task, world = which, self._world(which.world)
        expected = f"database/{task.world}.sqlite"
        if task.initial_state.database != expected:
            raise ArtifactError(
                f"task {task.id!r} stands on {task.initial_state.database!r}; its world has {expected!r}"
            )
        actual = self._digest(world, task)
        if actual != task.initial_state.digest:
            raise ArtifactError(
                f"task {task.id!r} was proven on the state {task.initial_state.digest[:12]!r}, and {expected!r} gives "
                f"{actual[:12]!r}; one of the two was changed; see what else was: "
                + command_line("synth", "verify", self.store.root)
            )
        return world

    def close(self) -> None:
        """Close the worlds."""
        for world in self._worlds.values():
            world.close()
        self._worlds.clear()

    def _world(self, name: str) -> World:
        if not isinstance(name, str) or name not in self._worlds:
            blueprint, path = self.blueprint(name), self.store.file(f"database/{name}.sqlite")
            policy = self.policy(name) if self.store.exists(f"policies/{name}.md") else None
            self._worlds[name] = World(blueprint, path, now=self._now(name), policy=policy)
        return self._worlds[name]

    def _now(self, name: str) -> str:
        """The clock of sessions without a task: that of the run."""
        known = self._clocks or [task.now for task in self.tasks.of(name)]
        if not known:
            raise ArtifactError(f"neither the manifest nor a task says what time it is in {name!r}; run the pipeline")
        return known[-1]

    @cached_property
    def _clocks(self) -> list[str]:
        """The times that the manifest gives, if there is one."""
        path = "manifest.json"
        manifest = parsed_json(path, self.store.read(path)) if self.store.exists(path) else {}
        prints = manifest.get("fingerprints") if isinstance(manifest, dict) else None
        rows = [row for row in prints.values() if isinstance(row, dict)] if isinstance(prints, dict) else []
        return [str(row["now"]) for row in rows if row.get("now")]

    def _digest(self, world: World, task: Task) -> str:
        patch = "".join(change.model_dump_json() for change in task.initial_state.patch)
        if (task.world, patch) not in self._digests:
            with world.session(patch=task.initial_state.patch) as session:
                self._digests[task.world, patch] = session.digest()
        return self._digests[task.world, patch]

    def _text(self, path: str) -> str:
        try:
            return self.store.read(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise ArtifactError(f"{path!r} is no text: {error}") from error


class Tasks(Mapping[str, Task]):
    """Tasks by id. An id begins with the name of its world, whose file holds the task. Each access parses the task."""

    def __init__(self, store: Store) -> None:
        """Index the tasks of a store. It reads files at first access."""
        self._store = store
        self._files: dict[str, tuple[Stamp, dict[str, tuple[int, int]]]] = {}

    def __getitem__(self, id: str) -> Task:
        if not isinstance(id, str):
            raise UnknownTaskError(
                f"no task {id!r} in the dataset; a task goes by its id, such as {listed(list(self))}"
            )
        likely = id.rpartition("-")[0]
        if likely in self._files and id in (known := self._index(likely)):
            return self._task(likely, known[id])
        for world in sorted(self.worlds, key=lambda world: world != likely):
            place = self._index(world).get(id)
            if place is not None:
                return self._task(world, place)
        raise UnknownTaskError(f"no task {id!r} in the dataset; it has {len(self)}, such as {listed(list(self))}")

    def __iter__(self) -> Iterator[str]:
        for world in self.worlds:
            yield from self._index(world)

    def __len__(self) -> int:
        return sum(len(self._index(world)) for world in self.worlds)

    @property
    def worlds(self) -> list[str]:
        """Names of the worlds that have tasks, sorted."""
        return _stems(self._store, QUERIES, ".jsonl")

    def of(self, world: str) -> Iterator[Task]:
        """The tasks of one world, in the file's order; none if it has no tasks."""
        for place in self._index(world).values() if world in self.worlds else ():
            yield self._task(world, place)

    def _task(self, world: str, place: tuple[int, int]) -> Task:
        with self._store.file(_path(world)).open("rb") as stream:
            stream.seek(place[0])
            line = stream.read(place[1])
        try:
            return _TASK.validate_json(line)
        except ValidationError as error:
            raise ArtifactError(
                f"a task of {_path(world)!r} is damaged, at byte {place[0]}: {first_fault(error)}"
            ) from error

    def _index(self, world: str) -> dict[str, tuple[int, int]]:
        """Id -> offset and length of its line, in bytes. The index is rebuilt if the file has changed."""
        path = _path(world)
        stamp = self._store.stamp(path)
        known = self._files.get(world)
        if known is None or known[0] != stamp:
            known = self._files[world] = (stamp, self._indexed(path))
        return known[1]

    def _indexed(self, path: str) -> dict[str, tuple[int, int]]:
        places: dict[str, tuple[int, int]] = {}
        with self._store.file(path).open("rb") as stream:
            try:
                offset = skip_mark(stream)
            except UnreadableTextError as error:
                raise ArtifactError(f"{path!r} cannot be read: {error}") from error
            for number, line in enumerate(stream, start=1):
                record = parsed_json(f"{path}, line {number}", line)
                id = record.get("id") if isinstance(record, dict) else None
                if not isinstance(id, str) or id in places:
                    raise ArtifactError(
                        f"{path!r}, line {number}: {f'a second {id!r}' if id else 'no task with an id'}"
                    )
                places[id] = (offset, len(line))
                offset += len(line)
        return places


class UnknownTaskError(ArtifactError, KeyError):
    """No task has that id."""

    __str__ = ArtifactError.__str__


_TASK: TypeAdapter[Task] = TypeAdapter(Task)


def _path(world: str) -> str:
    return f"{QUERIES}/{world}.jsonl"


def _stems(store: Store, folder: str, ending: str) -> list[str]:
    """Names of a folder's files with one ending, without it. Raises ArtifactError if the folder is a link."""
    path = store.path(folder)
    return sorted(file.name.removesuffix(ending) for file in path.glob(f"[!.]*{ending}")) if path.is_dir() else []


def _files(folder: Path) -> list[Path]:
    """Files directly in a folder, sorted."""
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


class Contracts:
    """The contracts of a dataset by world, read at first access.

    One file holds those of single domains; a fused world's contract is next to its database.
    """

    def __init__(self, store: Store) -> None:
        """Give the contracts of a store. It reads files at first access."""
        self._store = store

    def is_whole(self, name: str) -> bool:
        """Whether a world's contract is complete. A run writes a fused contract before its bridge rules."""
        return not self._store.exists(_contract(name)) or self._store.exists(_bridges(name))

    def __getitem__(self, name: str) -> Blueprint:
        """The contract of a world, a fused one with its bridge rules. Raises ArtifactError if there is none."""
        if isinstance(name, str) and self._store.exists(_contract(name)):
            return self._fused(name)
        blueprint = self._singles.get(name) if isinstance(name, str) else None
        if blueprint is None:
            raise ArtifactError(f"no blueprint {name!r} in {BLUEPRINTS}; there are {listed(sorted(self._singles))}")
        try:
            return Blueprint.model_validate(blueprint)
        except ValidationError as error:
            raise ArtifactError(f"blueprint {name!r} in {BLUEPRINTS} is damaged: {first_fault(error)}") from error

    def _fused(self, name: str) -> FusedBlueprint:
        path, bridges = _contract(name), _bridges(name)
        if not self._store.exists(bridges):
            raise ArtifactError(f"{path!r} has no bridge rules: there is no {bridges!r}; run the pipeline to its end")
        contract, mediation = self._record(path, FusedBlueprint), self._record(bridges, Mediation)
        for file, world in ((path, contract.server), (bridges, mediation.name)):
            if world != name:
                raise ArtifactError(f"{file!r} is of the world {world!r}, not of {name!r}")
        _check(contract, path)
        tools = {tool.name for tool in contract.tools}
        for rule in mediation.bridges:
            if rule.tool not in tools:
                raise ArtifactError(f"{bridges!r}: {rule.rule} guards the tool {rule.tool!r}, which is not in {path!r}")
        return contract.with_bridges(mediation.bridges)

    def _record(self, path: str, kind: type[R]) -> R:
        try:
            return kind.model_validate_json(self._store.read(path))
        except ValidationError as error:
            raise ArtifactError(f"{path!r} is damaged: {first_fault(error)}") from error

    @cached_property
    def _singles(self) -> dict[str, Json]:
        content = parsed_json(BLUEPRINTS, self._store.read(BLUEPRINTS))
        rows = [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []
        return {str(row.get("server")): row for row in rows}


def _check(contract: FusedBlueprint, path: str) -> None:
    """Raise ArtifactError if members, tables and views do not fit together."""
    try:
        for tool in contract.tools:
            contract.core.attribute(contract.role(tool.name).account)
        connection = database.create(contract)
        try:
            for view in contract.views:
                connection.execute(f"SELECT * FROM {view.entity.table}")
        finally:
            connection.close()
    except KeyError as error:
        raise ArtifactError(f"{path!r} is damaged: nothing in it is called {error.args[0]!r}") from error
    except sqlite3.Error as error:
        raise ArtifactError(f"{path!r} is damaged: {error}") from error


def _contract(name: str) -> str:
    return f"database/{name}.contract.json"


def _bridges(name: str) -> str:
    return f"policies/{name}.bridges.json"


def parsed_json(label: str, content: bytes) -> Json:
    """Parse JSON that others may have written.

    Args:
        label: The name of the content in the error.
        content: The bytes.

    Raises:
        ArtifactError: The content is not JSON.
    """
    try:
        value: Json = from_json(content)
    except ValueError as error:
        raise ArtifactError(f"{label!r} is not JSON: {error}") from error
    return value


def first_fault(error: ValidationError) -> str:
    """The first thing that is wrong with a record, as `field: message`."""
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}"


def listed(names: list[str]) -> str:
    """The first names of a list, for an error message."""
    return ", ".join(names[:_MAX_LISTED]) + (", ..." if len(names) > _MAX_LISTED else "") or "none"

"""`results.jsonl`: one result a line, appended as it comes; what is there and still holds is not made again."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from evaluator.rollouts import Key
from skillweave.command import one_line
from skillweave.errors import ConfigError
from skillweave.schema.result import Result
from skillweave.store import Store


class Kept(NamedTuple):
    """What an earlier run left."""

    keys: frozenset[Key]
    """Of results that still hold."""
    aside: str | None
    """The file that holds the earlier results, where some of them do not hold any more."""
    dropped: int = 0
    """How many lines do not: of other trajectories, other checks or another dataset, and torn ones."""


class ResultsFile:
    """One file of results."""

    def __init__(self, path: Path) -> None:
        """ConfigError where the path can name no file of results, or names a file of something else."""
        if path.suffix != ".jsonl":
            raise ConfigError(f"--output {str(path)!r} must end in .jsonl; summary and report are written beside it")
        if path.exists() and not path.is_file():
            raise ConfigError(f"--output {str(path)!r} is no file; give the path of a file such as results.jsonl")
        self.store = Store(path.parent, "evaluation", option="--output")
        self.name = path.name
        self.path = path

    @property
    def before(self) -> str:
        """Name of the file that holds what was here before."""
        return f"{self.path.stem}.before.jsonl"

    def keep(self, wanted: Mapping[Key, str], *, anew: bool = False) -> Kept:
        """Leave only the results that hold: of each key in `wanted` the one with that digest; none where `anew`.

        Where others go, the file as it was is kept beside.
        """
        if not self.store.exists(self.name):
            return Kept(frozenset(), None)
        if self.path.stat().st_size and next(iter(self), None) is None:
            raise ConfigError(
                f"{str(self.path)!r} is there and holds no results; give another file with --output, or remove it"
            )
        kept: set[Key] = set()
        dropped = 0
        with self.store.replacing(self.name) as temporary:
            with temporary.open("wb") as stream:
                for line, result in self._lines():
                    key = key_of(result) if result is not None else None
                    if result is None or key is None or anew or key in kept or _other(wanted, key, result):
                        dropped += 1
                        continue
                    kept.add(key)
                    stream.write(line)
            if dropped:
                with self.store.replacing(self.before) as copy:
                    shutil.copyfile(self.path, copy)
        return Kept(frozenset(kept), self.before if dropped else None, dropped)

    def append(self, result: bytes) -> None:
        """Add a result, a line of JSON without its end."""
        self.store.append(self.name, result + b"\n")

    def __iter__(self) -> Iterator[Result]:
        """The results, as they stand in the file; what cannot be read is passed over."""
        if self.store.exists(self.name):
            for _, result in self._lines():
                if result is not None:
                    yield result

    def _lines(self) -> Iterator[tuple[bytes, Result | None]]:
        with self.store.file(self.name).open("rb") as stream:
            for line in stream:
                yield line, _read(line)


def results_in(path: Path) -> ResultsFile:
    """The results that a path names: a file, or a folder with a `results.jsonl`. ConfigError where there are none."""
    found = path / "results.jsonl" if path.is_dir() else path
    if not found.is_file():
        raise ConfigError(f"there are no results at {str(path)!r}; give a results.jsonl, or the folder that holds it")
    return ResultsFile(found)


def of_one_agent(results: ResultsFile, agent: str | None, user: str | None) -> Iterator[Result]:
    """The results of one agent with one user; of several those named. ConfigError where they are not of one."""
    every = {result.speakers for result in results}
    found = [one for one in sorted(every) if agent in (None, one.agent) and user in (None, one.user)]
    if len(found) > 1 or (every and not found):
        held = one_line("; ".join(map(str, sorted(every))))
        raise ConfigError(f"{str(results.path)!r} holds results of: {held}. Choose one with --agent and --user")
    return (result for result in results if result.speakers in found)


def key_of(result: Result) -> Key:
    """What a result goes by."""
    return Key(result.agent or "", result.user or "", result.id)


def _other(wanted: Mapping[Key, str], key: Key, result: Result) -> bool:
    return wanted.get(key) != result.trajectory_digest


def _read(line: bytes) -> Result | None:
    try:
        return Result.model_validate_json(line)
    except ValidationError:
        return None

"""`results.jsonl`: one result a line, appended as it comes; what is there and still holds is not made again."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from skillweave.errors import ConfigError
from skillweave.schema.result import Result
from skillweave.store import Store


class Kept(NamedTuple):
    """What an earlier run left."""

    ids: frozenset[str]
    """Of results that still hold."""
    dropped: int
    """Lines that do not: of other trajectories, other checks or another dataset, and torn ones."""


class ResultsFile:
    """One file of results."""

    def __init__(self, path: Path) -> None:
        """ConfigError where the path can name no file."""
        if path.is_dir():
            raise ConfigError(f"--output {str(path)!r} is a folder; give the path of a file such as results.jsonl")
        self.store = Store(path.parent, "evaluation")
        self.name = path.name
        self.path = path

    def keep(self, wanted: Mapping[str, str], *, anew: bool = False) -> Kept:
        """Leave only the results that hold: of each id in `wanted` the one with that digest; none where `anew`."""
        kept: set[str] = set()
        dropped = 0
        if not self.store.exists(self.name):
            return Kept(frozenset(), 0)
        with self.store.replacing(self.name) as temporary, temporary.open("wb") as stream:
            for line, result in self._lines():
                holds = result is not None and not anew and wanted.get(result.id) == result.trajectory_digest
                if result is None or not holds or result.id in kept:
                    dropped += 1
                    continue
                kept.add(result.id)
                stream.write(line)
        return Kept(frozenset(kept), dropped)

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


def _read(line: bytes) -> Result | None:
    try:
        return Result.model_validate_json(line)
    except ValidationError:
        return None

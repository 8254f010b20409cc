"""What takes long to make is made once: for all processes of the tests, and for later runs of the same code."""

import fcntl
import hashlib
import platform
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("skillweave", "synth", "rollout", "evaluator", "config.yaml", "requirements.lock")
"""What decides about what is made: all of it, whoever uses it."""
SEAL = "sealed"
"""The file that is written last: the digest of what was made."""


def code_digest(root: Path = ROOT) -> str:
    """The digest of the product's files, of this Python and of SQLite."""
    files = (
        file for name in PRODUCT for file in ([root / name] if (root / name).is_file() else (root / name).rglob("*"))
    )
    versions = f"{platform.python_version()} {sqlite3.sqlite_version} {platform.machine()}"
    return _digest(root, files, versions)


class SharedFolder:
    """Keeps what was made by name, settings and code, in a folder that several processes use."""

    def __init__(self, folder: Path, code: str) -> None:
        self.folder = folder
        self._code = code

    def made(self, name: str, settings: Sequence[str], make: Callable[[Path], None]) -> Path:
        """A folder whose content `make` has made, now or earlier by the same code; not to be written to.

        Others wait while it is made. One that is not whole, or that was written to since, is made anew, and those
        of other settings or code are removed.
        """
        place = self.folder / name / hashlib.sha256(repr((self._code, *settings)).encode()).hexdigest()[:16]
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place.parent / "lock"):
            if not _is_whole(place):
                for other in filter(Path.is_dir, place.parent.iterdir()):
                    shutil.rmtree(other)
                (place / "content").mkdir(parents=True)
                make(place / "content")
                (place / SEAL).write_text(_content_digest(place))
        return place / "content"


def copied(made: Path, to: Path, *without: str) -> Path:
    """A copy of a dataset to be spoiled, without the logs and without what else is named."""
    shutil.copytree(made, to, ignore=shutil.ignore_patterns(".prefect", "logs", *without))
    return to


def _is_whole(place: Path) -> bool:
    try:
        return (place / SEAL).read_text() == _content_digest(place)
    except FileNotFoundError:
        return False


def _content_digest(place: Path) -> str:
    return _digest(place, (place / "content").rglob("*"))


def _digest(root: Path, paths: Iterable[Path], more: str = "") -> str:
    """The digest of files; byte code, logs and what is hidden are left out."""
    digest = hashlib.sha256(more.encode())
    for path in sorted(path for path in paths if path.is_file() and path.suffix != ".pyc"):
        name = path.relative_to(root)
        if not any(part == "logs" or part.startswith(".") for part in name.parts):
            content = path.read_bytes()
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield

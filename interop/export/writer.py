"""The files of an export. Rows are staged in a hidden file first, a line for each example; whole lines count.

A killed export goes on behind the last whole line. The file that a trainer loads appears at once, when all is staged.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pydantic_core import from_json

from interop.export.format import ExportFormat
from interop.export.rows import StagedExample
from skillweave.base.store import CACHE, Store, digest_file

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 512
"""Rows of a Parquet row group, and rows kept in memory at once."""


class StagedFile:
    """The staged examples of one split."""

    def __init__(self, store: Store, split: str) -> None:
        """Open it, and cut a torn line off."""
        self._store, self._name = store, f"{CACHE}/{split}.partial"
        self._path = store.path(self._name)
        self.count = 0
        """Number of staged examples."""
        if self._path.is_file():
            self.count, whole = _whole_lines(self._path)
            with self._path.open("rb+") as stream:
                stream.truncate(whole)

    def append(self, lines: Sequence[bytes]) -> None:
        """Add examples. The system has them when this returns. Raises ArtifactError."""
        self._store.append(self._name, b"".join(lines))
        self.count += len(lines)

    def __iter__(self) -> Iterator[StagedExample]:
        if self._path.is_file():
            with self._path.open("rb") as stream:
                for line in stream:
                    yield StagedExample(*from_json(line))


def _whole_lines(path: Path) -> tuple[int, int]:
    """Number and bytes of the lines that end."""
    count, size = 0, 0
    with path.open("rb") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                count, size = count + 1, size + len(line)
    return count, size


def file_of(format: ExportFormat, split: str) -> str:
    """The name of a split's file."""
    return f"{format.file.format(split=split)}.{format.layout}"


def write_rows(store: Store, name: str, format: ExportFormat, rows: Iterable[dict[str, Any]]) -> tuple[int, str]:
    """Write a file in the layout of its format, row by row. Returns the number of rows, and the sha256 of the file."""
    write = {"jsonl": _write_lines, "json": _write_array, "parquet": _write_parquet}[format.layout]
    with store.replacing(name) as temporary, temporary.open("wb") as stream:
        count = write(stream, format, rows)
    return count, digest_file(store.file(name))


def _json(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()


def _write_lines(stream: IO[bytes], format: ExportFormat, rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    for count, row in enumerate(rows, start=1):  # noqa: B007
        stream.write(_json(row) + b"\n")
    return count


def _write_array(stream: IO[bytes], format: ExportFormat, rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    head = f"{{{json.dumps(format.under)}: ".encode() if format.under else b""
    stream.write(head + b"[")
    for count, row in enumerate(rows, start=1):
        stream.write((b"\n" if count == 1 else b",\n") + _json(row))
    stream.write((b"\n]" if count else b"]") + (b"}\n" if format.under else b"\n"))
    return count


def _write_parquet(stream: IO[bytes], format: ExportFormat, rows: Iterable[dict[str, Any]]) -> int:
    import pyarrow.parquet as pq

    assert format.schema is not None, "a Parquet format has a schema"
    schema: pa.Schema = format.schema()
    count = 0
    with pq.ParquetWriter(stream, schema) as writer:
        for group in _groups(rows):
            count += len(group)
            writer.write_table(_table(group, schema))
    return count


def _table(rows: list[dict[str, Any]], schema: "pa.Schema") -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=schema)


def _groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    for row in rows:
        group.append(row)
        if len(group) == ROW_GROUP:
            yield group
            group = []
    if group:
        yield group

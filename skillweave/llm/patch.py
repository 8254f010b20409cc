"""SEARCH/REPLACE blocks: how an author changes a file without writing it again.

    <<<<<<< SEARCH
    old lines
    =======
    new lines
    >>>>>>> REPLACE

The old lines must stand in the file exactly once; nothing is guessed.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

OPENING = re.compile(r"^<{5,9} ?SEARCH\s*$")
MIDDLE = re.compile(r"^={5,9}\s*$")
CLOSING = re.compile(r"^>{5,9} ?REPLACE\s*$")
SHOWN = 200


class PatchError(Exception):
    """Why blocks cannot be read or applied, in words for their author."""


class Block(NamedTuple):
    search: str
    replace: str


def parse_patch(text: str) -> list[Block]:
    """The blocks in `text`; what stands around them is ignored. Raises PatchError where there is none."""
    blocks: list[Block] = []
    search: list[str] = []
    replace: list[str] = []
    part: list[str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if OPENING.match(line):
            if part is not None:
                raise PatchError(f"line {number}: a block begins inside another; close each with >>>>>>> REPLACE")
            search, replace = [], []
            part = search
        elif part is search and part is not None and MIDDLE.match(line):
            part = replace
        elif part is not None and CLOSING.match(line):
            if part is search:
                raise PatchError(f"line {number}: the block has no ======= between its SEARCH and its REPLACE part")
            blocks.append(Block(_joined(search), _joined(replace)))
            part = None
        elif part is not None:
            part.append(line)
    if part is not None:
        raise PatchError("the last block is not closed by >>>>>>> REPLACE")
    if not blocks:
        raise PatchError("there is no block; write <<<<<<< SEARCH, old lines, =======, new lines, >>>>>>> REPLACE")
    return blocks


def apply_patch(source: str, blocks: Sequence[Block]) -> str:
    """`source` with each block applied in turn. Raises PatchError that names the block which does not fit."""
    source = source if source.endswith("\n") else source + "\n"
    for number, block in enumerate(blocks, start=1):
        if not block.search.strip():
            raise PatchError(f"block {number}: its SEARCH part is empty; give the lines to replace")
        starts = _occurrences(source, block.search)
        if len(starts) != 1:
            count = "does not stand in the file" if not starts else f"stands in the file {len(starts)} times"
            hint = "copy the lines exactly as they are" if not starts else "give more lines around them"
            raise PatchError(f"block {number}: its SEARCH part {count}; {hint}: {block.search[:SHOWN]!r}")
        source = source[: starts[0]] + block.replace + source[starts[0] + len(block.search) :]
    return source


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _occurrences(source: str, search: str) -> list[int]:
    """Where `search` stands as whole lines."""
    found: list[int] = []
    start = source.find(search)
    while start >= 0:
        if start == 0 or source[start - 1] == "\n":
            found.append(start)
        start = source.find(search, start + 1)
    return found

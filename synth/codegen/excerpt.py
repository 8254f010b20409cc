"""A server's source without the functions that are right: what an author needs to see for a repair."""

import ast
from collections.abc import Collection
from typing import NamedTuple

from skillweave.llm.patch import PatchError
from skillweave.syntax import parse_python


class Excerpt(NamedTuple):
    text: str
    hidden: dict[str, str]
    """Line of the excerpt -> the function that it stands for."""

    def whole(self, patched: str) -> str:
        """The source behind a patched excerpt. Raises PatchError where a line that stands for a function is gone."""
        lines = patched.splitlines(keepends=True)
        for line in self.hidden:
            if lines.count(line) != 1:
                raise PatchError(f"the line {line.strip()!r} stands for a function that is right; leave it as it is")
        return "".join(self.hidden.get(line, line) for line in lines)


def excerpt(source: str, functions: Collection[str]) -> Excerpt:
    """The source with a line in the place of each of these top-level functions."""
    source = source if source.endswith("\n") else source + "\n"
    lines = source.splitlines(keepends=True)
    hidden: dict[str, str] = {}
    for node in reversed(parse_python(source).body):
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            start = min(node.lineno, *(decorator.lineno for decorator in node.decorator_list)) - 1
            line = f"# {node.name}: right, left out\n"
            hidden[line] = "".join(lines[start : node.end_lineno])
            lines[start : node.end_lineno] = [line]
    return Excerpt("".join(lines), hidden)

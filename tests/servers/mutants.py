"""Planted errors: a server's source with one refusal dropped, one comparison turned or one number changed."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

TURNED = {">=": ">", ">": ">=", "<=": "<", "<": "<=", "==": "!=", "!=": "==", "=": "<>", "<>": "="}
COMPARISON = re.compile(r"(?<= )(?:>=|<=|<>|!=|==|<|>|=)(?= )")
NUMBER = re.compile(r"(?<![\w.'\"-])(?:[1-9]\d*)(?![\w.])")
ROUNDING = re.compile(r"\bROUND\(|\bround\(")


CHANGES: list[tuple[str, re.Pattern[str], Callable[[str], str]]] = [
    ("dropped", re.compile(r"raise Refused\("), lambda _: "Refused("),
    ("turned", COMPARISON, lambda found: TURNED[found]),
    ("number", NUMBER, lambda found: str(int(found) + 1)),
    ("rounding", ROUNDING, lambda _: "("),
]


class Mutant(NamedTuple):
    tool: str
    kind: str
    line: int
    was: str
    source: str


def mutants(source: str, kinds: tuple[str, ...] = ("dropped", "turned", "number", "rounding")) -> Iterator[Mutant]:
    """Every planted error of these kinds, tool by tool."""
    lines = source.splitlines(keepends=True)
    tool, in_body = "", False
    for number, line in enumerate(lines):
        if line.startswith("def "):
            tool, in_body = line[4:].partition("(")[0], False
        if re.match(r"\)? ?(def .*)?->.*:$", line.strip()) or (line.startswith("def ") and line.rstrip().endswith(":")):
            in_body = True
            continue
        if line.startswith("if __name__"):
            return
        if not in_body:
            continue
        for kind, pattern, change in CHANGES:
            if kind not in kinds:
                continue
            for match in pattern.finditer(line):
                if kind == "number" and ('"""' in line or line.lstrip().startswith(("- R", "raise", "SELECT 1 ", '"'))):
                    continue
                changed = line[: match.start()] + change(match.group()) + line[match.end() :]
                text = "".join([*lines[:number], changed, *lines[number + 1 :]])
                yield Mutant(tool, kind, number + 1, line.strip(), text)

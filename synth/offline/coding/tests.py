"""The tests of a server: plain pytest, one function for each example, run from any working directory."""

from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Json
from synth.codegen.example import Example
from synth.codegen.literals import string

WIDTH = 120
HEAD = '''"""Tests of the server {name}: each tool succeeds, and each rule that it holds refuses what breaks it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from {name} import server  # noqa: E402


def call(tool, arguments, caller=None, patch=()):
    """Call a tool in a session of its own, on the world's database with these rows changed."""
    return server.session(caller=caller, patch=patch).call(tool, arguments)
'''


def write_tests(blueprint: Blueprint, examples: Sequence[Example]) -> str:
    """The source of the tests."""
    names: dict[str, int] = {}
    parts = [HEAD.format(name=blueprint.server)]
    for example in examples:
        stem = f"test_{example.tool}_{f'refuses_{example.error.code}' if example.error else 'succeeds'}"
        names[stem] = names.get(stem, 0) + 1
        parts.append(_test(example, stem if names[stem] == 1 else f"{stem}_{names[stem]}"))
    return "\n\n".join(parts)


def _test(example: Example, name: str) -> str:
    arguments = [string(example.tool), _literal(example.arguments, 8)]
    if example.caller is not None:
        arguments.append(f"caller={string(example.caller)}")
    if example.patch:
        changes: Json = [change.model_dump(mode="json", exclude_none=True) for change in example.patch]
        arguments.append(f"patch={_literal(changes, 8, 6)}")
    lines = [f"def {name}():"]
    if example.error is not None:
        lines.append(f"    {_docstring(example.error.message)}")
        wrong: Json = {"code": example.error.code, "message": example.error.message, "rule": example.error.rule}
        expected: Json = {"ok": False, "error": wrong}
    else:
        expected = {"ok": True, "value": example.value}
    flat = f"    result = call({', '.join(arguments)})"
    if len(flat) <= WIDTH and "\n" not in flat:
        lines.append(flat)
    else:
        lines += ["    result = call(", *(f"        {argument}," for argument in arguments), "    )"]
    lines.append(f"    assert result == {_literal(expected, 4, 17)}")
    return "\n".join(lines) + "\n"


def _literal(value: Json, indent: int, taken: int = 0) -> str:
    """A Python literal: on one line where it fits behind `indent` and `taken` columns, else an item a line."""
    flat = _flat(value)
    if len(flat) + indent + taken < WIDTH or not isinstance(value, list | dict) or not value:
        return flat
    margin = " " * (indent + 4)
    if isinstance(value, dict):
        items = [f"{string(key)}: {_literal(item, indent + 4, len(key) + 4)}" for key, item in value.items()]
    else:
        items = [_literal(item, indent + 4) for item in value]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return "\n".join([opening, *(f"{margin}{item}," for item in items), " " * indent + closing])


def _flat(value: Json) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{string(key)}: {_flat(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return string(value) if isinstance(value, str) else repr(value)


def _docstring(text: str) -> str:
    return f'"""{text}"""' if not set('\\"') & set(text) else string(text)

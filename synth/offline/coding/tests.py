"""The tests of a server: plain pytest, one function for each example, run from any working directory."""

from collections.abc import Sequence
from pprint import pformat

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Json
from synth.codegen.example import Example
from synth.offline.coding.literals import string

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
    arguments = [string(example.tool), _literal(example.arguments, 12)]
    if example.caller is not None:
        arguments.append(f"caller={string(example.caller)}")
    if example.patch:
        changes: Json = [change.model_dump(mode="json", exclude_none=True) for change in example.patch]
        arguments.append(f"patch={_literal(changes, 14)}")
    lines = [f"def {name}():"]
    if example.error is not None:
        lines.append(f"    {_docstring(example.error.message)}")
    lines += ["    result = call(", *(f"        {argument}," for argument in arguments), "    )"]
    if example.error is not None:
        expected: Json = {"code": example.error.code, "message": example.error.message, "rule": example.error.rule}
        lines.append(f"    assert result == {_literal({'ok': False, 'error': expected}, 21)}")
    else:
        lines.append(f"    assert result == {_literal({'ok': True, 'value': example.value}, 21)}")
    return "\n".join(lines) + "\n"


def _literal(value: Json, column: int) -> str:
    """A Python literal whose further lines begin at that column."""
    text = pformat(value, width=118 - column, sort_dicts=False)
    return text.replace("\n", "\n" + " " * column) if "\n" in text else text


def _docstring(text: str) -> str:
    return f'"""{text}"""' if not set('\\"') & set(text) else string(text)

"""The source of a server and of its tests, compiled from its contract.

Each tool becomes a function that a reader can follow beside the policy. The source is the contract in other words, so
proving it equal to the contract shows that this compiler is right, and nothing about the contract.
"""

from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import Guard, Tool
from skillweave.schema.record import Json
from skillweave.world.canonical import minted_by
from synth.offline.coding.scope import FetchedRow, FetchedValue, PythonCondition, Scope, stem_of
from synth.offline.coding.translator import Translator
from synth.offline.services import OfflineQuestion
from synth.servers.skeleton import BODY_WIDTH, LINE_WIDTH, booleans, function_head, registry, string
from synth.servers.sql_text import bound, call, queried_test, refusal, tokens_of
from synth.servers.suite import CallExample

Line = str | FetchedRow | FetchedValue
"""A line of source. Fetching lines are written last, when their columns are known."""
DEFAULT_NOW = "2025-01-20 09:00:00"
TEST_HEAD = '''"""Tests of the server {name}: each tool succeeds, and each rule that it holds refuses what breaks it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from {name} import server  # noqa: E402


def call(tool, arguments, caller=None, patch=()):
    """Call a tool in a session of its own, on the world's database with these rows changed."""
    return server.session(caller=caller, patch=patch).call(tool, arguments)
'''


def answer_server(question: OfflineQuestion) -> str:
    """Answer the question for a server."""
    return write_server(question.get("blueprint", Blueprint), question.get("now", str))


def answer_server_tests(question: OfflineQuestion) -> str:
    """Answer the question for a server's tests, one for each example."""
    return write_tests(question.get("blueprint", Blueprint), question.many("examples", CallExample))


def write_server(blueprint: Blueprint, now: str = DEFAULT_NOW) -> str:
    """The Python source of a server. `now` is the clock of a session that is opened without a task."""
    functions = ["\n".join(_function_lines(blueprint, tool)) for tool in blueprint.tools]
    return "\n\n\n".join([_head(blueprint, now, "\n".join(functions)), *functions, _tail()]) + "\n"


def _head(blueprint: Blueprint, now: str, functions: str) -> str:
    title = blueprint.title.replace("\\", "").replace('"', "'")
    typed = [name for name in ("Annotated", "Any", "Literal") if f"{name}[" in functions or f"{name}]" in functions]
    used = [name for name in ("Date", "Moment", "Refused", "Row") if name in functions]
    imports = [f"from typing import {', '.join(typed)}\n"] if typed else []
    imported = [*used, "Server", "ServerSession"]
    if isinstance(blueprint, FusedBlueprint):
        imported = sorted([*imported, "Member", "People"])
    lines = [
        f'"""The tools of {title}, as an MCP server.',
        "",
        "A tool refuses what breaks its rules; rules that a docstring names as left to the agent are not checked here.",
        '"""',
        "",
        *imports,
        f"from _runtime import {', '.join(imported)}",
        "",
        *registry(blueprint, now),
    ]
    return "\n".join(lines)


def _tail() -> str:
    return 'if __name__ == "__main__":\n    server.run()'


def _function_lines(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The lines of the tool's function, decorator first."""
    body = [line for text in _body(blueprint, tool) for line in ([text] if isinstance(text, str) else text.statement())]
    return [*function_head(blueprint, tool), *(f"    {line}".rstrip() for line in body)]


def _body(blueprint: Blueprint, tool: Tool) -> list[Line]:
    scope = Scope(blueprint, tool)
    lines: list[Line] = []
    for guard in tool.guards:
        if guard.enforced_by == "tool":
            lines += _guard_lines(guard, scope)
    minted = minted_by(tool, blueprint)
    if lines and (minted or tool.effects):
        lines.append("")
    lines += [f'{binding} = db.new_id("{entity.table}")' for binding, entity in minted.items()]
    for effect in tool.effects:
        lines += call("db.run(", effect.sql, bound(tokens_of(effect.sql)), ")")
    return [*lines, *_result(blueprint, tool, scope)]


def _result(blueprint: Blueprint, tool: Tool, scope: Scope) -> list[str]:
    select = tool.returns.select
    flags = booleans(blueprint, tool)
    arguments = [*([f"[{', '.join(string(flag) for flag in flags)}]"] if flags else []), *bound(tokens_of(select))]
    if tool.kind != "auth":
        return call("return db.only(" if tool.returns.rows == "one" else "return db.all(", select, arguments, ")")
    role = blueprint.role(tool.name)
    person = scope.name(stem_of(role.own))
    signed_in = f'db.sign_in({person}["{role.key}"])'
    return [*call(f"{person} = db.only(", select, arguments, ")"), signed_in, f"return {person}"]


def _guard_lines(guard: Guard, scope: Scope) -> list[Line]:
    """The statements that refuse a call which breaks the guard."""
    scope.pending.clear()
    before = scope.mark()
    condition = Translator(scope).condition(guard.holds)
    test = _refusal_test(condition)
    if test is None:
        scope.undo(before)
        test = queried_test(guard.holds)
    else:
        scope.facts |= condition.facts
    return [*scope.pending, *test, *refusal(guard.error, guard.says, guard.rule)]


def _refusal_test(condition: PythonCondition) -> list[str] | None:
    """The `if` of a broken guard; None if it would not read well."""
    word = "or" if condition.joined == "and" else "and"
    flat = f"if {f' {word} '.join(condition.broken)}:"
    if len(flat) <= BODY_WIDTH:
        return [flat]
    if any(len(part) > BODY_WIDTH - 12 for part in condition.broken) or condition.broken[-1].endswith(")"):
        return None
    first, *others = condition.broken
    return ["if (", f"    {first}", *(f"    {word} {part}" for part in others), "):"]


def write_tests(blueprint: Blueprint, examples: Sequence[CallExample]) -> str:
    """The source of a server's tests: one function of plain pytest for each example."""
    names: dict[str, int] = {}
    parts = [TEST_HEAD.format(name=blueprint.server)]
    for example in examples:
        stem = f"test_{example.tool}_{f'refuses_{example.error.code}' if example.error else 'succeeds'}"
        names[stem] = names.get(stem, 0) + 1
        parts.append(_test(example, stem if names[stem] == 1 else f"{stem}_{names[stem]}"))
    return "\n\n".join(parts)


def _test(example: CallExample, name: str) -> str:
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
    if len(flat) <= LINE_WIDTH and "\n" not in flat:
        lines.append(flat)
    else:
        lines += ["    result = call(", *(f"        {argument}," for argument in arguments), "    )"]
    lines.append(f"    assert result == {_literal(expected, 4, 17)}")
    return "\n".join(lines) + "\n"


def _literal(value: Json, indent: int, taken: int = 0) -> str:
    """A Python literal: on one line if it fits after `indent` and `taken` columns, else one item on each line."""
    flat = _flat(value)
    if len(flat) + indent + taken < LINE_WIDTH or not isinstance(value, list | dict) or not value:
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

"""The static check of a generated server: what its source shows without being run.

It keeps honest authors from common mistakes and names the line and the remedy. It does not protect against malicious
code: the sandbox does.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from skillweave.base.code import parse_python
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool

MODULES = frozenset(
    {"collections", "dataclasses", "datetime", "decimal", "fractions", "functools", "itertools", "math", "re", "typing"}
)
RUNTIME = "_runtime"
FORBIDDEN = frozenset({"__import__", "breakpoint", "compile", "delattr", "eval", "exec", "getattr", "globals"})
FORBIDDEN |= {"input", "locals", "open", "print", "setattr", "vars"}
CLOCKS = frozenset({"now", "utcnow", "today", "fromtimestamp"})
INTERNALS = frozenset({"connection", "_run", "_call", "_prefixes", "_last", "_digits", "_people", "_member"})
INTERNALS |= {"_planted", "fault"}
SESSION = {"one": 1, "value": 1, "exists": 1, "true": 1, "run": 1, "only": 2, "all": 2, "new_id": 1, "sign_in": 1}
"""Methods of the session, and how many arguments they take without a name."""
FACTS = ("now", "caller", "person")
"""What else the session has."""
SQL_CLOCK = re.compile(r"'(now|localtime)'|\bcurrent_(time|date|timestamp)\b|\brandom(blob)?\s*\(", re.IGNORECASE)
LONGEST = 400_000
MOST = 12
"""Causes that are reported."""


def static_faults(source: str, blueprint: Blueprint) -> list[str]:
    """Check a server's source. Returns what is wrong, in words for its author; empty if nothing is."""
    tree = _parsed(source)
    if isinstance(tree, str):
        return [tree]
    faults = [*_unsafe(tree), *_server(tree, blueprint.rules), *_tools(tree, blueprint.tools), *_sessions(tree)]
    return _by_cause(faults)[:MOST]


def own_test_faults(source: str, blueprint: Blueprint) -> list[str]:
    """Check the source of a server's tests. Returns what is wrong, in words for its author."""
    tree = _parsed(source)
    if isinstance(tree, str):
        return [tree]
    named = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    tests = [name for name in named if name.startswith("test_")]
    faults = [] if tests else ["it defines no function whose name begins with test_"]
    missing = [tool.name for tool in blueprint.tools if tool.name not in source]
    return faults + [f"no test calls the tool {name!r}" for name in missing]


def _by_cause(faults: Sequence[str]) -> list[str]:
    """Each fault once: its first line, with the number of other lines that have it."""
    groups: dict[str, list[str]] = {}
    for fault in faults:
        where, _, what = fault.partition(": ")
        lines = groups.setdefault(what if where.startswith("line ") else fault, [])
        lines.extend([fault] if fault not in lines else [])
    return [lines[0] + (f" (and {len(lines) - 1} more)" if lines[1:] else "") for lines in groups.values()]


def _parsed(source: str) -> ast.Module | str:
    if len(source) > LONGEST:
        return f"the file has {len(source)} characters; at most {LONGEST} are allowed"
    try:
        return parse_python(source)
    except SyntaxError as error:
        return f"line {error.lineno}: syntax error: {error.msg}"
    except (RecursionError, MemoryError, ValueError) as error:
        return f"the file cannot be parsed: {error}"


def _unsafe(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for module in _imported(node):
            if module.partition(".")[0] not in MODULES | {RUNTIME}:
                allowed = ", ".join(sorted(MODULES))
                yield f"line {line}: imports {module!r}; allowed are {RUNTIME} and {allowed}"
        if isinstance(node, ast.Name) and node.id in FORBIDDEN:
            yield f"line {line}: uses {node.id!r}, which a server may not"
        if isinstance(node, ast.Attribute):
            yield from _attribute(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            clock = SQL_CLOCK.search(node.value)
            if clock:
                yield f"line {line}: {clock.group()!r} reads the outside; use :now, and ids from db.new_id(table)"
        if isinstance(node, ast.Global | ast.Nonlocal | ast.AsyncFunctionDef | ast.While):
            yield f"line {line}: {type(node).__name__} is not allowed; a tool is a plain function without state"


def _attribute(node: ast.Attribute) -> Iterator[str]:
    if node.attr.startswith("__"):
        yield f"line {node.lineno}: uses {node.attr!r}, which a server may not"
    if node.attr in INTERNALS:
        yield f"line {node.lineno}: uses {node.attr!r} of the runtime; use the methods of db that it documents"
    if node.attr in CLOCKS and not (isinstance(node.value, ast.Name) and node.value.id == "db"):
        yield f"line {node.lineno}: {node.attr!r} reads the wall clock; the clock is db.now"


def _imported(node: ast.AST) -> Sequence[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or "."] if isinstance(node, ast.ImportFrom) else []


def _server(tree: ast.Module, rules: Sequence[str]) -> Iterator[str]:
    assigned = [node for node in tree.body if isinstance(node, ast.Assign) and _names(node) == ["server"]]
    if not assigned:
        yield "there is no `server = Server(...)` at the top level"
        return
    given = assigned[0].value.keywords if isinstance(assigned[0].value, ast.Call) else []
    if [ast.unparse(keyword.value) for keyword in given if keyword.arg == "rules"] != [repr(list(rules))]:
        wanted = ", ".join(f'"{rule}"' for rule in rules)
        line = assigned[0].lineno
        yield f"line {line}: `Server(...)` must be given the rules' numbers in this order: rules=[{wanted}]"


def _tools(tree: ast.Module, tools: Sequence[Tool]) -> Iterator[str]:
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for tool in tools:
        function = functions.get(tool.name)
        if function is None or not function.decorator_list:
            yield f"there is no function {tool.name!r} with the decorator @server.tool({tool.kind!r})"
            continue
        names = [argument.arg for argument in [*function.args.args[1:], *function.args.kwonlyargs]]
        wanted = [parameter.name for parameter in tool.parameters]
        if names != wanted:
            yield f"line {function.lineno}: {tool.name!r} takes {names} behind the session; it must take {wanted}"


def _sessions(tree: ast.Module) -> Iterator[str]:
    """Uses of a session's methods and values that it does not have."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            taken = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            names = {parameter.arg for parameter in taken if _is_session(parameter.annotation)}
            for node in ast.walk(function):
                yield from _misused(node, names)


def _is_session(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "ServerSession"


def _misused(node: ast.AST, sessions: set[str]) -> Iterator[str]:
    called = node.func if isinstance(node, ast.Call) else node
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return
    db, method = called.value.id, called.attr
    if db not in sessions:
        return
    if isinstance(node, ast.Attribute):
        if method not in SESSION and method not in FACTS:
            has = f"the methods {', '.join(SESSION)} and the values {', '.join(FACTS)}"
            yield f"line {node.lineno}: a session has no {method!r}; it has {has}"
    elif isinstance(node, ast.Call) and method in SESSION and len(node.args) > SESSION[method]:
        takes = "its SQL, then `booleans`," if SESSION[method] > 1 else "one argument,"
        yield f"line {node.lineno}: {db}.{method} takes {takes} and bindings by name: {db}.{method}(..., key=key)"


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]

"""The skeleton of a server's source, which its contract fixes, and the static check of a generated server.

The skeleton is the registry and the head of each tool's function. Models copy it; the offline author writes it itself.

The static check finds common mistakes without running the source, and names the line and the remedy. It does not
protect against malicious code: the sandbox does.
"""

import ast
import json
import re
import textwrap
from collections.abc import Iterator, Sequence

from skillweave.base.code import parse_python
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.world import database
from skillweave.world.canonical import minted_by, prefix_of
from skillweave.world.lineage import ColumnLineage
from skillweave.world.sql import parse
from skillweave.world.tools import parameters_schema

BODY_WIDTH = 116
"""Characters of a line inside a function, which is indented by four."""


def string(text: str) -> str:
    """`text` as a string literal on one line, in double quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def strings(text: str, width: int) -> list[str]:
    """`text` as string literals that Python joins, one for each line of `width` characters."""
    if len(string(text)) < width:
        return [string(text)]
    pieces = textwrap.wrap(text, width - 8, drop_whitespace=False, break_on_hyphens=False, break_long_words=False)
    whole = "".join(pieces) == text and all(json.dumps(piece)[1:-1].isprintable() for piece in pieces)
    return [string(piece) for piece in pieces] if whole and len(pieces) > 1 else [string(text)]


LINE_WIDTH = 120
"""Characters of a line at the top level."""
PYTHON = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "date": "Date",
    "datetime": "Moment",
    "array": "list[Any]",
    "object": "dict[str, Any]",
}


def registry(blueprint: Blueprint, now: str) -> list[str]:
    """The lines of `server = Server(...)`. `now` is the clock of a session that is opened without a task."""
    minted = {
        entity.table: prefix_of(entity) for tool in blueprint.tools for entity in minted_by(tool, blueprint).values()
    }
    ids = [f"{string(table)}: {string(prefix)}" for table, prefix in sorted(minted.items())]
    rules = _rules(blueprint.rules)
    return [
        "server = Server(",
        f"    {string(blueprint.server)},",
        f"    now={string(now)},",
        *_wrapped("ids={", ids, "},", 4),
        *rules,
        *(_people(blueprint) if isinstance(blueprint, FusedBlueprint) else []),
        ")" if len(rules) == 1 else ")  # fmt: skip",
    ]


def _rules(numbers: list[str]) -> list[str]:
    """The rules' numbers, as many on each line as fit."""
    flat = f"    rules=[{', '.join(map(string, numbers))}],"
    if len(flat) <= LINE_WIDTH:
        return [flat]
    rows = textwrap.wrap(" ".join(f"{string(number)}," for number in numbers), LINE_WIDTH - 8)
    return ["    rules=[", *(f"        {row}" for row in rows), "    ],"]


def _wrapped(opening: str, parts: list[str], closing: str, indent: int) -> list[str]:
    """A literal on one line if it fits, else one part on each line."""
    margin = " " * indent
    flat = f"{margin}{opening}{', '.join(parts)}{closing}"
    return (
        [flat]
        if len(flat) <= LINE_WIDTH
        else [margin + opening, *(f"{margin}    {part}," for part in parts), margin + closing]
    )


def _people(fused: FusedBlueprint) -> list[str]:
    """The persons whom the domains share, with each domain's account, table and view of them."""
    lines = ["    people=People(", f"        {string(fused.core.table)},", f"        key={string(fused.core.key)},"]
    lines.append("        members={")
    for member, view in zip(fused.members, fused.people, strict=True):
        named = {"account": member.account, "table": view.own, "view": view.entity.table}
        columns = [string(attribute.name) for attribute in view.entity.attributes]
        lines += [
            f"            {string(member.namespace)}: Member(",
            f"{' ' * 16}{string(member.title)},",
            *(f"{' ' * 16}{name}={string(value)}," for name, value in named.items()),
            *_wrapped("columns=[", columns, "],", 16),
            "            ),",
        ]
    return [*lines, "        },", "    ),"]


def function_head(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The lines of a tool's decorator, signature and docstring. Its body is indented by four."""
    is_docstring = _fits_docstring(tool.description)
    given = [string(tool.kind), *([] if is_docstring else [string(tool.description)]), *_member(blueprint, tool)]
    decorator = f"@server.tool({', '.join(given)})"
    return [decorator, *_signature(tool), *(f"    {line}".rstrip() for line in _docstring(tool, is_docstring))]


def booleans(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The result columns that are returned as true or false, by the names that SQLite gives them."""
    flags = ColumnLineage(blueprint).booleans(tool.returns.select, tool)
    if not any(flags):
        return []
    connection = database.create(blueprint)
    try:
        cursor = connection.execute(tool.returns.select, dict.fromkeys(parse(tool.returns.select).bindings))
        return [column[0] for column, flag in zip(cursor.description, flags, strict=True) if flag]
    finally:
        connection.close()


def _member(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The argument that names the tool's domain, in a world of several."""
    if not isinstance(blueprint, FusedBlueprint):
        return []
    return [f"member={string(blueprint.member_of(tool.name).namespace)}"]


def _signature(tool: Tool) -> list[str]:
    result = "Row" if tool.returns.rows == "one" else "list[Row]"
    if not tool.parameters:
        return [f"def {tool.name}(db: ServerSession) -> {result}:"]
    lines = [line for parameter in tool.parameters for line in _parameter(tool, parameter)]
    return [f"def {tool.name}(", "    db: ServerSession,", "    *,", *lines, f") -> {result}:"]


def _parameter(tool: Tool, parameter: Parameter) -> list[str]:
    schema = parameters_schema(tool)["properties"]
    property_ = schema[parameter.name] if isinstance(schema, dict) else None
    description = str(property_["description"]) if isinstance(property_, dict) else ""
    kind = PYTHON[parameter.type]
    if parameter.enum is not None:
        kind = f"Literal[{', '.join(string(value) for value in parameter.enum)}]"
    kind, default = (kind, "") if parameter.required else (f"{kind} | None", " = None")
    flat = f"    {parameter.name}: Annotated[{kind}, {string(description)}]{default},"
    if len(flat) <= BODY_WIDTH + 4:
        return [flat]
    lines = [f"        {line}" for line in strings(description, BODY_WIDTH)]
    return [f"    {parameter.name}: Annotated[", f"        {kind},", *lines[:-1], f"{lines[-1]},", f"    ]{default},"]


def _fits_docstring(description: str) -> bool:
    """Whether a docstring can hold the description unchanged."""
    return (
        " ".join(description.split()) == description and not set('\\"') & set(description) and description.isprintable()
    )


def _docstring(tool: Tool, is_docstring: bool) -> list[str]:
    left = {guard.rule: guard.says for guard in tool.guards if guard.enforced_by == "agent"}
    text = tool.description if is_docstring else f"The tool {tool.name}."
    lines = textwrap.wrap(text, BODY_WIDTH - 6, break_on_hyphens=False)
    if left:
        lines += ["", "Left to the agent, and carried out all the same:"]
        for rule, says in left.items():
            safe = says.replace("\\", "\\\\").replace('"""', "'''")
            lines += textwrap.wrap(f"- {rule}: {safe}", BODY_WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    if len(lines) == 1:
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']


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
"""Other attributes of the session."""
SQL_CLOCK = re.compile(r"'(now|localtime)'|\bcurrent_(time|date|timestamp)\b|\brandom(blob)?\s*\(", re.IGNORECASE)
LONGEST = 400_000
MOST = 12
"""Most causes to report."""


def static_faults(source: str, blueprint: Blueprint) -> list[str]:
    """Check a server's source. Returns its faults, in words for the author; empty if there are none."""
    tree = _parsed(source)
    if isinstance(tree, str):
        return [tree]
    faults = [*_unsafe(tree), *_server(tree, blueprint.rules), *_tools(tree, blueprint.tools), *_sessions(tree)]
    return _by_cause(faults)[:MOST]


def own_test_faults(source: str, blueprint: Blueprint) -> list[str]:
    """Check the source of a server's tests. Returns its faults, in words for the author."""
    tree = _parsed(source)
    if isinstance(tree, str):
        return [tree]
    named = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    tests = [name for name in named if name.startswith("test_")]
    faults = [] if tests else ["it defines no function whose name begins with test_"]
    missing = [tool.name for tool in blueprint.tools if tool.name not in source]
    return faults + [f"no test calls the tool {name!r}" for name in missing]


def _by_cause(faults: Sequence[str]) -> list[str]:
    """Each fault once, with its first line and the number of other lines with the same fault."""
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

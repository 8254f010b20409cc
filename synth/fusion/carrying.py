"""The server of a fused world, carried over from the proven servers of its domains.

Each tool keeps the function that its domain's author wrote; only names of tables, tools, rules and of what the module
defines become those of the fused world, and bridge rules are refused between a tool's own refusals and its effects.
The result is parsed again and held against the domains' own: with names mapped, all functions are the same syntax
trees, and each statement is proven like those of the contract (`RewriteProver`).
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple, TypeVar, cast

from skillweave.base.code import parse_python
from skillweave.base.errors import ArtifactError, WorldError
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.world.interpreter import guard_query
from skillweave.world.sql import parse
from synth.artifacts import BLUEPRINTS, KEY_CALLS, SERVERS
from synth.engine.context import Context
from synth.engine.step import Params
from synth.fusion.blueprint import DomainStatements, joined
from synth.fusion.rewriting import ContractStatement, RewriteProver
from synth.servers.skeleton import FACTS, LINE_WIDTH, RUNTIME, SESSION, function_head, registry, string
from synth.servers.sql_text import (
    Definition,
    SourceForm,
    TextEdit,
    call,
    edited,
    is_session_call,
    queried_test,
    refusal,
    sessions_in,
)
from synth.servers.writing import CarriedSource

TYPING = ("Annotated", "Any", "Literal")
RUNTIME_NAMES = ("Date", "Member", "Moment", "People", "Refused", "Row", "Server", "ServerSession")
REGISTRY = {"Member", "People", "Server"}
HEAD_IMPORTS = {f"from {RUNTIME} import {name}" for name in RUNTIME_NAMES}
HEAD_IMPORTS |= {f"from typing import {name}" for name in TYPING}
"""What the heads of tools and the registry import."""
P = TypeVar("P", bound=Params)
HEAD = '''"""The tools of {title}, as an MCP server.

A tool refuses what breaks its rules; rules that a docstring names as left to the agent are not checked here.
"""
'''
ACTS = frozenset({"run", "new_id", "sign_in"})
"""Methods of a session that do more than look."""


class CarriedServer(NamedTuple):
    """The server of a fused world, or why it cannot be carried over."""

    source: str
    """Empty if there is a fault."""
    fault: str


async def carried_source(ctx: Context[P], fused: FusedBlueprint) -> CarriedSource:
    """The server of the item's fused world. Reads BLUEPRINTS, SERVERS and KEY_CALLS of its domains."""
    names = [member.server for member in fused.members]
    try:
        servers = [(ctx.read(BLUEPRINTS, name), ctx.read(SERVERS, name)) for name in names]
    except ArtifactError:
        missing = ", ".join(name for name in names if name not in ctx.keys(SERVERS))
        ctx.log(f"the server is written anew: there is none of {missing}")
        return CarriedSource("", {})
    source, fault = await ctx.offload(carried_server, fused, servers, ctx.now)
    ctx.log(f"the server is {f'written anew: {fault}' if fault else 'carried over'}")
    return CarriedSource(source, {name: ctx.read(KEY_CALLS, name) for name in names})


def carried_server(fused: FusedBlueprint, servers: Sequence[tuple[Blueprint, str]], now: str) -> CarriedServer:
    """Carry the servers of the domains over into a fused world.

    Args:
        fused: The contract of the fused world, with its bridge rules.
        servers: The domains' contracts, each with its server, which equals it.
        now: The clock of a session that is opened without a task.
    """
    prover = RewriteProver([blueprint for blueprint, _ in servers], fused)
    try:
        domains = [CarriedDomain(fused, blueprint, source) for blueprint, source in servers]
        functions = "\n\n\n".join(chain.from_iterable(domain.definitions() for domain in domains))
        title = fused.title.replace("\\", "").replace('"', "'")
        head = [HEAD.format(title=title), *_imports(domains, functions), "", *registry(fused, now)]
        source = "\n".join(head) + f'\n\n\n{functions}\n\n\nif __name__ == "__main__":\n    server.run()\n'
        carried = _definitions(parse_python(source))
        for domain in domains:
            domain.prove(carried, prover)
        return CarriedServer(source, "")
    except (WorldError, SyntaxError) as fault:
        return CarriedServer("", str(fault))
    finally:
        prover.close()


def _imports(domains: Sequence["CarriedDomain"], functions: str) -> list[str]:
    """The lines that import what the functions use."""
    used = {node.id for node in ast.walk(parse_python(functions)) if isinstance(node, ast.Name)}
    lines: dict[str, str] = {}
    for name, line in chain.from_iterable(domain.imports.items() for domain in domains):
        if lines.setdefault(name, line) != line:
            raise WorldError(f"{name!r} is imported from several places")
    others = sorted({line for name, line in lines.items() if name in used and line not in HEAD_IMPORTS})
    typing, runtime = ([name for name in names if name in used | REGISTRY] for names in (TYPING, RUNTIME_NAMES))
    typed = [f"from typing import {', '.join(typing)}"] if typing else []
    return [*others, *typed, *[""][: len(others + typed)], f"from {RUNTIME} import {', '.join(runtime)}"]


def _definitions(tree: ast.Module) -> dict[str, Definition]:
    """What a server's file defines, by name, but for its registry. WorldError if it holds anything else."""
    found: dict[str, Definition] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        name = node.name if isinstance(node, ast.FunctionDef) else getattr(targets[0], "id", "")
        if isinstance(node, ast.FunctionDef | ast.Assign | ast.AnnAssign) and name and len(targets) == 1:
            found[name] = node
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.If | ast.Expr):
            raise WorldError(f"line {node.lineno}: a {type(node).__name__} at the top level")
    found.pop("server", None)
    return found


class CarriedDomain:
    """One domain's server in the names of the fused world."""

    def __init__(self, fused: FusedBlueprint, blueprint: Blueprint, source: str) -> None:
        """Find what the server defines. WorldError if it holds what cannot be carried."""
        self._fused = fused
        self._blueprint = blueprint
        self._member = fused.member(blueprint.server)
        self._source = source
        self._lines = source.split("\n")
        self._line_starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._tree = parse_python(source)
        self._defined = _definitions(self._tree)
        self._names = {name: self._new_name(name) for name in self._defined}
        self._places: dict[str, int] = {}
        """Tool -> the place of its bridge rules among the statements of its function."""

    @property
    def imports(self) -> dict[str, str]:
        """Each name that the file imports, with the line that imports it alone."""
        found: dict[str, str] = {}
        for node in self._tree.body:
            if isinstance(node, ast.Import):
                found |= {alias.asname or alias.name: ast.unparse(ast.Import([alias])) for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                aliases = {alias.asname or alias.name: ast.ImportFrom(node.module, [alias], 0) for alias in node.names}
                found |= {name: ast.unparse(line) for name, line in aliases.items()}
        return found

    def definitions(self) -> Iterator[str]:
        """The functions and constants, in order. WorldError if one cannot be carried."""
        statements = DomainStatements(self._blueprint, self._member)
        try:
            for name, node in self._defined.items():
                self._require_plain(name, node)
                first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
                edits = [*self._edits(name, node, statements)]
                start, end = self._offset(first, 0), self._end(node)
                moved = [TextEdit(edit.start - start, edit.end - start, edit.text) for edit in edits]
                yield edited(self._source[start:end], moved)
        finally:
            statements.close()

    def prove(self, carried: Mapping[str, ast.AST], prover: RewriteProver) -> None:
        """Prove that the definitions in the finished file are the domain's own. WorldError if they are not."""
        for name, node in self._defined.items():
            own = SourceForm(self._names, self._member.tables, self._member.rules)
            there = SourceForm({}, {}, {})
            twin = cast(Definition, carried[self._names[name]])
            is_tool = name in self._member.tools
            bridges = parse_python("\n".join(self._bridge_lines(name))).body
            place = self._places.get(name, 0)
            if own.of(node, is_tool) != there.of(twin, is_tool, range(place, place + len(bridges))):
                raise WorldError(f"{name} is not carried over as it is")
            for author, fused in zip(own.statements, there.statements, strict=True):
                prover.rewrite(self._member, _statement(name, *author), _statement(name, *fused))

    def _new_name(self, name: str) -> str:
        """The name of a definition in the fused world's file."""
        bare = name.lstrip("_")
        space = self._member.namespace
        private = name[: len(name) - len(bare)] + joined(space.upper() if bare.isupper() else space, bare)
        return self._member.tools.get(name, private)

    def _offset(self, line: int, column: int) -> int:
        """The place in the text of a line and a column, which `ast` counts in bytes."""
        before = self._lines[line - 1].encode()[:column].decode()
        return self._line_starts[line - 1] + len(before)

    def _start(self, node: ast.stmt | ast.expr) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: ast.stmt | ast.expr) -> int:
        return self._offset(node.end_lineno or 0, node.end_col_offset or 0)

    def _text(self, node: ast.stmt | ast.expr) -> str:
        return self._source[self._start(node) : self._end(node)]

    def _require_plain(self, name: str, node: Definition) -> None:
        """Raise WorldError unless names mean the same everywhere in a definition, and sessions are used plainly."""
        nodes = [inner for inner in ast.walk(node) if inner is not node]
        written = {inner.id for inner in nodes if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)}
        written -= {name} if not isinstance(node, ast.FunctionDef) else set()
        given = {inner.arg for inner in nodes if isinstance(inner, ast.arg)}
        sessions = sessions_in(node)
        if any(isinstance(inner, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom) for inner in nodes):
            raise WorldError(f"{name} defines or imports something of its own")
        if (written | given) & {*self._names, *sessions - given}:
            raise WorldError(f"{name} gives a name of its module another meaning")
        if written & given and self._bridge_lines(name):
            raise WorldError(f"{name} changes an argument that a bridge rule may read")
        plain = {id(inner.value) for inner in nodes if isinstance(inner, ast.Attribute) and inner.attr in FACTS[:2]}
        plain |= {id(cast(ast.Attribute, cast(ast.Call, c).func).value) for c in nodes if is_session_call(c, sessions)}
        plain |= {id(each) for inner in nodes for each in self._sessions_handed_on(inner)}
        odd = [n for n in nodes if isinstance(n, ast.Name) and n.id in sessions and id(n) not in plain]
        if odd:
            raise WorldError(f"line {odd[0].lineno}: the session is used in a way of its own")

    def _sessions_handed_on(self, node: ast.AST) -> list[ast.expr]:
        """The arguments of a call of the file's own functions that these take as sessions."""
        target = self._defined.get(getattr(node.func, "id", "")) if isinstance(node, ast.Call) else None
        if not isinstance(target, ast.FunctionDef):
            return []
        sessions = sessions_in(target)
        pairs = zip(cast(ast.Call, node).args, target.args.args, strict=False)
        return [given for given, taken in pairs if taken.arg in sessions]

    def _edits(self, name: str, node: Definition, statements: DomainStatements) -> Iterator[TextEdit]:
        parts: Sequence[ast.AST] = [node]
        if isinstance(node, ast.FunctionDef) and name in self._member.tools:
            parts = node.body[1:]
            yield self._head(node)
            lines = self._bridge_lines(name)
            if lines:
                self._places[name] = self._place_of_bridges(node)
                end = self._end(node.body[self._places[name] - 1])
                yield TextEdit(end, end, "".join(f"\n    {line}".rstrip(" ") for line in lines))
        elif isinstance(node, ast.FunctionDef):
            start = self._start(node) + len("def ")
            yield TextEdit(start, start + len(name), self._names[name])
        sessions = sessions_in(node)
        for inner in chain.from_iterable(map(ast.walk, parts)):
            if isinstance(inner, ast.Name) and inner.id in self._names:
                yield TextEdit(self._start(inner), self._end(inner), self._names[inner.id])
            elif is_session_call(inner, sessions):
                yield from self._call_edits(cast(ast.Call, inner), statements)
            elif isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == "Refused":
                yield from self._rule_edits(inner)

    def _head(self, node: ast.FunctionDef) -> TextEdit:
        """Decorator, signature and docstring of a tool, as the fused contract has them."""
        if ast.get_docstring(node) is None:
            raise WorldError(f"{node.name} has no docstring")
        lines = function_head(self._fused, self._fused.tool(self._names[node.name]))
        start = min(self._start(decorator) - 1 for decorator in node.decorator_list)
        return TextEdit(start, self._end(node.body[0]), "\n".join(lines))

    def _bridge_lines(self, name: str) -> list[str]:
        """The lines that refuse by the bridge rules that a tool enforces."""
        guards = self._fused.tool(self._names[name]).guards if name in self._member.tools else []
        bridges = self._fused.bridge_rules
        held = [guard for guard in guards if guard.rule in bridges and guard.enforced_by == "tool"]
        each = ([*queried_test(guard.holds), *refusal(guard.error, guard.says, guard.rule)] for guard in held)
        return [*chain.from_iterable(each)]

    def _place_of_bridges(self, node: ast.FunctionDef) -> int:
        """The place in a function behind all its refusals and before all that it does. WorldError if there is none."""
        does = [self._may(_acts, part) or any(isinstance(p, ast.Return) for p in ast.walk(part)) for part in node.body]
        place = does.index(True) if True in does else len(does)
        if any(self._may(_refuses, part) for part in node.body[place:]):
            raise WorldError(f"{node.name} may refuse a call after it has acted, so its bridge rules have no place")
        return place

    def _may(self, what: Callable[[ast.AST], bool], node: ast.AST, known: frozenset[str] = frozenset()) -> bool:
        """Whether a part of a function, or a function that it uses, holds such a node."""
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} & self._defined.keys() - known
        return any(map(what, ast.walk(node))) or any(
            self._may(what, self._defined[name], known | used) for name in sorted(used)
        )

    def _call_edits(self, node: ast.Call, statements: DomainStatements) -> Iterator[TextEdit]:
        """The edits of a call of the session's methods."""
        method = cast(ast.Attribute, node.func).attr
        given = node.args[0] if node.args else None
        if method not in SESSION or method == "sign_in":
            return
        if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
            raise WorldError(f"line {node.lineno}: the first argument of {method} is no constant text")
        if method == "new_id":
            table = self._member.tables.get(given.value, given.value)
            yield TextEdit(self._start(given), self._end(given), string(table))
            return
        if "person" in parse(given.value).bindings:
            raise WorldError(f"line {node.lineno}: :person is somebody else in a world of several domains")
        sql = statements.condition(given.value) if method == "true" else statements.statement(given.value)
        if sql != given.value:
            yield self._statement_edit(node, given, given.value, sql)

    def _statement_edit(self, node: ast.Call, given: ast.Constant, old: str, sql: str) -> TextEdit:
        """Another statement in the place of a call's: in the same lines if they do not become too long."""
        start, end, literal = self._start(given), self._end(given), self._text(given)
        quotes = literal[: (len(literal) - len(old)) // 2]
        line_start = self._offset(node.lineno, 0)
        line_end = line_start + len("\n".join(self._lines[node.lineno - 1 : node.end_lineno]))
        lines = f"{self._source[line_start:start]}{quotes}{sql}{quotes}{self._source[end:line_end]}".split("\n")
        others = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        renamed = {n.id for other in others for n in ast.walk(other) if isinstance(n, ast.Name)} & self._names.keys()
        is_plain = literal == quotes + old + quotes
        if is_plain and (renamed or max(map(len, lines)) <= LINE_WIDTH):
            return TextEdit(start, end, quotes + sql + quotes)
        margin = " " * (len(lines[0]) - len(lines[0].lstrip()))
        before = self._source[line_start + len(margin) : self._start(node)]
        after = self._source[self._end(node) : line_end]
        texts = [self._text(value) for value in node.args[1:]]
        texts += [f"{k.arg}={self._text(k.value)}" if k.arg else f"**{self._text(k.value)}" for k in node.keywords]
        laid = f"\n{margin}".join(call(f"{before}{self._text(node.func)}(", sql, texts, f"){after}"))
        return TextEdit(self._start(node), self._end(node), laid.removeprefix(before).removesuffix(after))

    def _rule_edits(self, node: ast.Call) -> Iterator[TextEdit]:
        """The edits of a refusal, whose rule has another number."""
        for value in [*node.args[2:], *(keyword.value for keyword in node.keywords if keyword.arg == "rule")]:
            if not isinstance(value, ast.Constant):
                raise WorldError(f"line {node.lineno}: the rule of a refusal is no constant")
            if value.value is not None:
                number = self._member.rules.get(str(value.value), str(value.value))
                yield TextEdit(self._start(value), self._end(value), string(number))


def _acts(node: ast.AST) -> bool:
    func = node.func if isinstance(node, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr in ACTS


def _refuses(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise | ast.Assert)


def _statement(where: str, method: str, text: str) -> ContractStatement:
    return ContractStatement(where, text, guard_query(text) if method == "true" else text)

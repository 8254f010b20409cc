"""Digests of Python code: which project modules a step depends on, and a digest of each syntax tree without docstrings.

Modules are parsed and never imported, so late imports count too. Imports for type checkers only do not count.
"""

import ast
import importlib.metadata
import importlib.util
import json
import sqlite3
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from skillweave.base.store import digest_text

KEPT_LIBRARIES = ("faker", "jinja2", "networkx", "sqlglot")
"""Libraries that determine bytes of artifacts; another version may write other bytes."""

_PARSING = threading.Lock()
"""CPython 3.11 counts the depth of the tree that it builds in one place for all threads, and fails at random when two
threads build trees at once. So all parsing goes through this lock."""
_TRIES = 5
"""A library may parse at the same time, without the lock: pydantic reads docstrings so."""


class ModuleSource(NamedTuple):
    """What is known of a module."""

    digest: str
    """Of its syntax tree without docstrings."""
    imports: tuple[str, ...]
    """Names of the modules that it may import, sorted."""


_KNOWN: dict[tuple[str, str], tuple[str, ModuleSource]] = {}
"""Path of a file, and its size and time of change -> the module's name and source. All indexes of a process share."""


class CodeIndex:
    """The project's modules, each parsed once. A file keeps the result for later runs, by size and time of change."""

    def __init__(self, roots: Iterable[str], cache_file: Path | None = None) -> None:
        """Start an index.

        Args:
            roots: Top-level packages of the project.
            cache_file: Where results are kept; None: nowhere. A missing or damaged file is ignored.
        """
        self._roots = tuple(roots)
        self._cache_file = cache_file
        self._cached = _load(cache_file)
        self._sources: dict[str, ModuleSource | None] = {}
        self._dirty = False

    def closure(self, module: str) -> dict[str, str]:
        """Project modules that a module depends on, itself included: name -> digest, sorted by name."""
        return {name: source.digest for name in self._reach(module) if (source := self._source(name))}

    def libraries(self, module: str) -> dict[str, str]:
        """Those of `KEPT_LIBRARIES` that the closure of a module imports, SQLite and Python: name -> version."""
        tops = {
            name.partition(".")[0]
            for reached in self._reach(module)
            for name in (self._source(reached) or ModuleSource("", ())).imports
        }
        return {name: version for name, version in library_versions().items() if name in tops or name == "python"}

    def save(self) -> None:
        """Write the results to the cache file. Failing to do so costs the next run time and nothing else."""
        if self._cache_file is None or not self._dirty:
            return
        found = {name: (stamp, *source) for (_, stamp), (name, source) in _KNOWN.items() if self._is_own(name)}
        text = json.dumps(dict(sorted((self._cached | found).items())))
        temporary = self._cache_file.with_suffix(".tmp")
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
            temporary.write_text(text, "utf-8")
            temporary.replace(self._cache_file)
        self._dirty = False

    def _reach(self, module: str) -> list[str]:
        reached: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            if name in reached or self._source(name) is None:
                continue
            reached.add(name)
            source = self._source(name)
            assert source is not None
            waiting.extend(self._project(source.imports))
            waiting.extend(_parents(name))
        return sorted(reached)

    def _project(self, imports: Iterable[str]) -> Iterator[str]:
        for name in imports:
            if self._is_own(name):
                yield name
                yield from _parents(name)

    def _is_own(self, name: str) -> bool:
        return name.partition(".")[0] in self._roots

    def _source(self, name: str) -> ModuleSource | None:
        if name not in self._sources:
            self._sources[name] = self._parse(name)
        return self._sources[name]

    def _parse(self, name: str) -> ModuleSource | None:
        path = _file_of(name)
        if path is None:
            return None
        status = path.stat()
        stamp = f"{status.st_size}:{status.st_mtime_ns}"
        cached, place = self._cached.get(name), (str(path), stamp)
        if cached and cached[0] == stamp:
            _KNOWN[place] = name, ModuleSource(cached[1], tuple(cached[2]))
        else:
            self._dirty = True
            if place not in _KNOWN:
                text = path.read_text("utf-8")
                _KNOWN[place] = name, parse_source(text, name, is_package=path.name == "__init__.py")
        return _KNOWN[place][1]


@cache
def library_versions() -> dict[str, str]:
    """The versions of `KEPT_LIBRARIES`, of SQLite and of Python that this process has."""
    versions = {name: importlib.metadata.version(name) for name in KEPT_LIBRARIES}
    return versions | {"sqlite3": sqlite3.sqlite_version, "python": f"{sys.version_info[0]}.{sys.version_info[1]}"}


def parse_python(source: str, filename: str = "<source>") -> ast.Module:
    """The syntax tree of a module. Threads may call it at once.

    Args:
        source: The module's text.
        filename: Its name in errors.

    Raises:
        SyntaxError: The text is no Python.
        ValueError: The text holds a NUL character.
        RecursionError: The text is nested too deeply.
    """
    for _ in range(_TRIES):
        with _PARSING, suppress(SystemError):
            return ast.parse(source, filename)
    return ast.parse(source, filename)


def parse_source(text: str, name: str, *, is_package: bool) -> ModuleSource:
    """The digest and the imports of a module.

    Args:
        text: Its source.
        name: Its dotted name.
        is_package: Whether it is the `__init__` of a package; relative imports depend on that.
    """
    tree = parse_python(text)
    imports = sorted(set(_imports(tree, name if is_package else name.rpartition(".")[0])))
    parts: list[str] = []
    _write(tree, parts)
    return ModuleSource(digest_text("".join(parts)), tuple(imports))


def _write(value: object, parts: list[str]) -> None:
    """Write a node, or the value of its field, as text without docstrings. Equal texts have equal trees."""
    if isinstance(value, ast.AST):
        parts.append(f"{type(value).__name__}(")
        for name in value._fields:
            _write(getattr(value, name, None), parts)
        parts.append(")")
    elif isinstance(value, list):
        parts.append("[")
        for one in value:
            if not _is_docstring(one):
                _write(one, parts)
        parts.append("]")
    else:
        parts.append(f"{value!r},")


def _is_docstring(node: object) -> bool:
    """Whether a node is a statement that is only a string. It has no effect, wherever it stands."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Names of the modules that a tree may import: `from a import b` may mean the module `a.b`."""
    for node in _statements(tree):
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            for statement in node.orelse:
                yield from _imports(ast.Module([statement], []), package)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        else:
            yield from _imports(node, package)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements in a node, and the parts of it that have statements."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        yield from getattr(tree, name, ())


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


@cache
def _file_of(name: str) -> Path | None:
    """The source file of a module; None if there is no such module. Files do not move during a run."""
    top, *rest = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is not None and spec.submodule_search_locations is None and not rest:
        # A module that is a single file, as a plug-in may be.
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in (spec.submodule_search_locations or []) if spec else []:
        place = Path(folder).joinpath(*rest)
        if place.is_dir() and (place / "__init__.py").is_file():
            return place / "__init__.py"
        if rest and place.with_name(f"{place.name}.py").is_file():
            return place.with_name(f"{place.name}.py")
    return None


def _load(cache_file: Path | None) -> dict[str, tuple[str, str, list[str]]]:
    """Results of earlier runs; none if the file is missing or damaged."""
    try:
        raw = json.loads(cache_file.read_text("utf-8")) if cache_file and cache_file.is_file() else {}
        return {str(name): (str(stamp), str(digest), list(imports)) for name, (stamp, digest, imports) in raw.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}

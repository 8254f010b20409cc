"""Registries of named parts, and plug-ins: modules of one's own that add parts to them.

A plug-in is a module. The configuration names it (`plugins: [my_module]`), or an installed package offers it as an
entry point of the group `skillweave.plugins`. Importing it registers its parts:

    from evaluator.checks import CHECKS, Check

    CHECKS.register("polite", Check(score_politeness))

Registries and the list of loaded plug-ins belong to the process: every process that works on a run loads them anew.
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from skillweave.base.errors import ConfigError, SkillweaveError

GROUP = "skillweave.plugins"
"""The group of entry points whose modules are loaded wherever their package is installed."""

T = TypeVar("T")
R = TypeVar("R")

_NAME = re.compile(r"[a-z][a-z0-9_]*")
"""What the name of a part may be: it becomes a key of records."""

_loaded: dict[str, None] = {}
"""Names of the modules that were loaded, in order. Global because importing is: a module runs once a process."""


class PluginError(SkillweaveError):
    """A part of a plug-in raised an error, or gave what it may not give."""


class Registry(Generic[T]):
    """Named parts of one noun: the built-in ones in their order, then those of plug-ins."""

    def __init__(self, noun: str, builtin: Mapping[str, T]) -> None:
        """Begin with the built-in parts.

        Args:
            noun: What a part is called in messages, for example `gate`.
            builtin: The project's own parts by name; their order is kept.
        """
        self._noun = noun
        self._parts = dict(builtin)
        self._modules: dict[str, str] = {}
        # What all parts are: the root of the first one's classes.
        self._kind = next((type(part).__mro__[-2] for part in builtin.values()), None)

    def register(self, name: str, part: T) -> T:
        """Add a part under a new name.

        Returns:
            The part, so that the call can stand in an assignment.

        Raises:
            ConfigError: The name is taken by another module's part.
        """
        module = str(sys._getframe(1).f_globals.get("__name__"))
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigError(
                f"{module!r} registers the {self._noun} {name!r}; a name is lower case: letters, digits, _"
            )
        if self._kind is not None and not isinstance(part, self._kind):
            wanted = self._kind.__name__
            raise ConfigError(f"the {self._noun} {name!r} of {module!r} is {part!r}; it must be a {wanted}")
        if name in self._parts and self._modules.get(name) != module:
            raise ConfigError(f"the {self._noun} {name!r} of {module!r} exists already; give it another name")
        self._parts[name] = part
        self._modules[name] = module
        return part

    def call(
        self, name: str, function: Callable[..., R], *arguments: object, passing: tuple[type[Exception], ...] = ()
    ) -> R:
        """Call a function of a part.

        Args:
            name: The part; built-in parts are called as they are.
            passing: Exceptions that are results of the function.

        Raises:
            PluginError: The part is a plug-in's and raised an error; the message names both.
        """
        if name not in self._modules:
            return function(*arguments)
        expected: tuple[type[Exception], ...] = (SkillweaveError, *passing)
        try:
            return function(*arguments)
        except expected:
            raise
        except (Exception, SystemExit) as error:  # a module of the user's own may raise anything
            raise self.fault(name, f"failed: {type(error).__name__}: {error}") from error

    def fault(self, name: str, what: str) -> PluginError:
        """An error that names a plug-in's part, and the module that registered it."""
        return PluginError(f"the {self._noun} {name!r} of {self._modules.get(name)!r} {what}")

    @property
    def own(self) -> Mapping[str, str]:
        """The parts of plug-ins: name -> module."""
        return dict(sorted(self._modules.items()))

    def items(self) -> Iterable[tuple[str, T]]:
        """Names and parts, in order."""
        return self._parts.items()

    def values(self) -> Iterable[T]:
        """The parts, in order."""
        return self._parts.values()

    def get(self, name: str) -> T | None:
        """The part of a name; None where there is none."""
        return self._parts.get(name)

    def __getitem__(self, name: str) -> T:
        """The part of a name. Raises ConfigError where there is none."""
        try:
            return self._parts[name]
        except KeyError:
            known = ", ".join(self._parts)
            raise ConfigError(
                f"unknown {self._noun} {name!r}; there are {known}; name the module that adds others in `plugins`"
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def load_plugins(modules: Iterable[str] = ()) -> None:
    """Import plug-ins, those of installed packages first. A module is imported once a process.

    Args:
        modules: Names of modules, found as Python finds them: installed, or in the folder of the command.

    Raises:
        ConfigError: A module cannot be imported.
    """
    offered = sorted(entry.value for entry in entry_points(group=GROUP))
    for module in dict.fromkeys([*offered, *modules]):
        if module in _loaded:
            continue
        try:
            importlib.import_module(module)
        except ConfigError:
            raise
        except (Exception, SystemExit) as error:  # a module of the user's own may raise anything
            raise ConfigError(
                f"plugins: {module!r} cannot be loaded: {type(error).__name__}: {error}; name an installed module, "
                "or one that lies in the folder of the command or of PYTHONPATH, without a path and without .py"
            ) from error
        _loaded[module] = None


def loaded_plugins() -> tuple[str, ...]:
    """Names of the plug-ins that this process has loaded, for the processes that it starts."""
    return tuple(_loaded)

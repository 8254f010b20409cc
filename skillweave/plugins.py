"""Registries of named parts, and plug-ins: modules of one's own that add parts to them.

A plug-in is a module. The configuration names it (`plugins: [my_module]`), or an installed package offers it as an
entry point of the group `skillweave.plugins`. Importing it registers its parts:

    from evaluator.checks import CHECKS, Check

    CHECKS.register("polite", Check(score_politeness))

Registries and the list of loaded plug-ins belong to the process: every process that works on a run loads them anew.
"""

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from skillweave.base.errors import ConfigError

GROUP = "skillweave.plugins"
"""The group of entry points whose modules are loaded wherever their package is installed."""

T = TypeVar("T")

_loaded: dict[str, None] = {}
"""Names of the modules that were loaded, in order. Global because importing is: a module runs once a process."""


class Registry(Generic[T]):
    """Named parts of one noun: the built-in ones in their order, then those of plug-ins."""

    def __init__(self, noun: str, builtin: Mapping[str, T]) -> None:
        """Args:
        noun: What a part is called in messages, for example `gate`.
        builtin: The project's own parts by name; their order is kept.
        """
        self._noun = noun
        self._parts = dict(builtin)
        self._modules: dict[str, str] = {}

    def register(self, name: str, part: T) -> T:
        """Add a part under a new name.

        Returns:
            The part, so that the call can stand in an assignment.

        Raises:
            ConfigError: The name is taken by another module's part.
        """
        module = str(sys._getframe(1).f_globals.get("__name__"))
        if name in self._parts and self._modules.get(name) != module:
            raise ConfigError(f"the {self._noun} {name!r} of {module!r} exists already; give it another name")
        self._parts[name] = part
        self._modules[name] = module
        return part

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
        except Exception as error:  # a module of the user's own may raise anything
            raise ConfigError(f"plugins: {module!r} cannot be loaded: {type(error).__name__}: {error}") from error
        _loaded[module] = None


def loaded_plugins() -> tuple[str, ...]:
    """Names of the plug-ins that this process has loaded, for the processes that it starts."""
    return tuple(_loaded)

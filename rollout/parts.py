"""Parts: the classes that `rollout.parts` in the configuration names.

A name is a built-in one, an entry point of the group `skillweave.rollout.<kind>`, or `module:Class`.
"""

import importlib
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from skillweave.base.errors import ConfigError, SkillweaveError
from skillweave.base.foreign import FOREIGN_ERRORS, error_in_words, is_interrupt
from skillweave.config.load import nearest
from skillweave.config.sections import Config
from skillweave.llm.backends.backend import Backend

OURS: dict[str, dict[str, str]] = {
    "runner": {"default": "rollout.dispatcher:AgentRunner"},
    "dispatcher": {
        "pipelined": "rollout.dispatcher:PipelinedDispatcher",
        "batch": "rollout.dispatcher:BatchDispatcher",
    },
    "trajectory": {"default": "rollout.trajectory:Trajectory"},
    "agent": {"native": "rollout.agent:Agent", "react": "rollout.react.agent:ReactAgent"},
    "backend": {},
    "tasks": {"world": "rollout.world.source:world_tasks", "react": "rollout.react.task:react_tasks"},
}
"""Kind of part -> built-in name -> `module:attribute`."""


@dataclass(frozen=True)
class SourceContext:
    """The argument of a task source's factory, which returns a `TaskSource`."""

    config: Config
    outputs: Path
    """The outputs folder of the dataset."""
    user: Backend
    """The backend that plays the user."""

    @property
    def options(self) -> dict[str, Any]:
        """`rollout.parts.options`."""
        return self.config.rollout.parts.options


def part(kind: str, name: str) -> Any:
    """Load a part.

    Args:
        kind: The kind of part, a key of `OURS`.
        name: A built-in name, an entry point's name, or `module:Class`.

    Returns:
        The class or function.

    Raises:
        ConfigError: The name is unknown or cannot be loaded.
    """
    place = OURS[kind].get(name) or _installed(kind, name) or (name if ":" in name else None)
    if place is None:
        raise ConfigError(f"unknown rollout.parts.{kind} {name!r}; {nearest(name, list(OURS[kind]))}, or module:Class")
    module, _, attribute = place.partition(":")
    if not module or not attribute:
        raise ConfigError(f"rollout.parts.{kind} {name!r} names no class; write MODULE:CLASS")
    try:
        loaded = getattr(importlib.import_module(module), attribute)
    except FOREIGN_ERRORS as error:  # of a user's own module
        if is_interrupt(error):
            raise
        raise ConfigError(f"rollout.parts.{kind} {name!r} cannot be loaded: {said(error)}") from error
    if not callable(loaded):
        raise ConfigError(f"rollout.parts.{kind} {name!r} is no class, but {type(loaded).__name__}; write MODULE:CLASS")
    return loaded


def made(kind: str, name: str, *given: Any, **named: Any) -> Any:
    """Load a part and call it with the other arguments.

    Raises:
        ConfigError: The part cannot be loaded, or it fails.
    """
    make = part(kind, name)
    with blamed(kind, name):
        return make(*given, **named)


@contextmanager
def blamed(kind: str, name: str) -> Iterator[None]:
    """Turn an exception of a user's own part into an error that names the part and the line.

    Raises:
        ConfigError: The part raised an exception that is not a SkillweaveError.
    """
    try:
        yield
    except SkillweaveError:
        raise
    except FOREIGN_ERRORS as error:
        if is_interrupt(error):
            raise
        raise ConfigError(f"rollout.parts.{kind} {name!r} failed: {said(error)}") from error


def said(error: BaseException) -> str:
    """The type, message and place of an exception."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{error_in_words(error)}{place}"


def _installed(kind: str, name: str) -> str | None:
    """`module:attribute` of an installed entry point; None if there is none."""
    entries = entry_points(group=f"skillweave.rollout.{kind}", name=name)
    return next((entry.value for entry in entries), None)

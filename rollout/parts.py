"""Parts: the classes that a configuration names, be they ours, an installed package's or the user's own.

A name is one of ours, that of an entry point of the group `skillweave.rollout.<kind>`, or `module:Class`.
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
"""Kind of part -> name -> where it is."""


@dataclass(frozen=True)
class SourceContext:
    """What a task source is made from; it is called with this and gives a `TaskSource`."""

    config: Config
    outputs: Path
    user: Backend
    """Who plays the user, ready to be asked."""

    @property
    def options(self) -> dict[str, Any]:
        """`rollout.parts.options`."""
        return self.config.rollout.parts.options


def part(kind: str, name: str) -> Any:
    """The class or function of that name. Raises ConfigError."""
    place = OURS[kind].get(name) or _installed(kind, name) or (name if ":" in name else None)
    if place is None:
        raise ConfigError(f"unknown rollout.parts.{kind} {name!r}; {nearest(name, list(OURS[kind]))}, or module:Class")
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:  # of a user's own module
        raise ConfigError(f"rollout.parts.{kind} {name!r} cannot be loaded: {said(error)}") from error


def made(kind: str, name: str, *given: Any, **named: Any) -> Any:
    """What the part of that name gives for these arguments. Raises ConfigError."""
    make = part(kind, name)
    with blamed(kind, name):
        return make(*given, **named)


@contextmanager
def blamed(kind: str, name: str) -> Iterator[None]:
    """What a user's own part raises is a ConfigError that says which part, and where in it."""
    try:
        yield
    except SkillweaveError:
        raise
    except Exception as error:
        raise ConfigError(f"rollout.parts.{kind} {name!r} failed: {said(error)}") from error


def said(error: Exception) -> str:
    """What was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _installed(kind: str, name: str) -> str | None:
    """Where the entry point of that name is, if a package has one."""
    found = entry_points(group=f"skillweave.rollout.{kind}", name=name)
    return next((entry.value for entry in found), None)

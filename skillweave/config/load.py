"""Load a configuration: a YAML file, then overrides, then checks.

Every error is a ConfigError of one line that names the key, the value and what is allowed.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from skillweave.base.command import command_line
from skillweave.base.errors import ConfigError
from skillweave.base.text import UnreadableTextError, hide_secrets, read_user_text
from skillweave.config.sections import Config

M = TypeVar("M", bound=BaseModel)
C = TypeVar("C", bound=Config)
Raw = dict[str, Any]
PACKAGED_CONFIG = Path(str(resources.files(__package__)), "default.yaml")
"""The configuration of the default run: what `config.yaml` of the repository holds."""
NAMED = ("llm.prices", "llm.endpoints")
"""Sections whose keys are names of models or addresses of endpoints, which may contain dots."""
OF_LEARN = ("skill", "evolve")
"""Sections that only `learn` reads; they may stand in the file that all programs share."""


CONFIG = Path("config.yaml")
"""The configuration that is read where none is named, if there is one."""


class ConfigKeyError(ConfigError):
    """A key of a configuration is unknown, or its value is wrong."""

    def __init__(self, source: str, key: str, complaint: str) -> None:
        """Args:
        source: Where the key stands: a file's name, or `config`.
        key: Its dotted path.
        complaint: What is wrong, with the key.
        """
        super().__init__(f"{source}: {complaint}")
        self.key = key
        self.complaint = complaint


class _Loader(yaml.SafeLoader):
    """A YAML loader that refuses a key that is given twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


def named_config(path: Path | None) -> Path | None:
    """The file to read: the one that is named, which has to be there; else `config.yaml`, or None if there is none."""
    return path or (CONFIG if CONFIG.is_file() else None)


def load_config(path: Path | None, overrides: Sequence[str] = (), options: Mapping[str, Any] | None = None) -> Config:
    """Load a configuration, as `load_section` does."""
    return load_section(Config, path, overrides, options)


def load_section(
    model: type[C], path: Path | None, overrides: Sequence[str] = (), options: Mapping[str, Any] | None = None
) -> C:
    """Load a configuration that may have sections of its own beside the common ones.

    Args:
        model: The class of the configuration.
        path: The YAML file; None: the defaults.
        overrides: `dotted.path=YAML value`, as `--set` takes them.
        options: Dotted path -> value; applied last.

    Raises:
        ConfigError: The file cannot be read, or something in it is wrong.
    """
    raw = _read(path) if path is not None else {}
    if path is not None and isinstance(raw.get("catalogue"), list):
        # Folders that a file names lie beside it; those of `--set` lie where the command is given.
        raw["catalogue"] = [str(path.parent / name) if isinstance(name, str) else name for name in raw["catalogue"]]
    for name in OF_LEARN:
        if name not in model.model_fields:
            raw.pop(name, None)
    apply_overrides(raw, overrides)
    for dotted, value in (options or {}).items():
        _set(raw, dotted, value)
    return check_section(model, raw, where="", source=path.name if path is not None else "configuration")


def apply_overrides(raw: Raw, overrides: Iterable[str]) -> None:
    """Set each `dotted.path=YAML value` in a raw configuration. Raises ConfigError if one has another form."""
    for override in overrides:
        dotted, separator, text = override.partition("=")
        if not separator or not dotted.strip():
            raise ConfigError(
                f"--set {_short(override)} is no dotted.path=value; for example --set execution.workers=4"
            )
        try:
            value = yaml.load(text, _Loader)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise ConfigError(f"--set {_short(override)}: the value is no YAML: {_one_line(error)}") from error
        try:
            _set(raw, dotted.strip(), value)
        except ConfigError as error:
            raise ConfigError(f"--set {_short(override)}: {error}") from error


def path_of_override(override: str) -> str:
    """The dotted path of a `dotted.path=YAML value`."""
    return override.partition("=")[0].strip()


def check_section(model: type[M], raw: Mapping[str, Any], *, where: str, source: str) -> M:
    """Check a section against its model.

    Args:
        model: The section's model.
        raw: Its keys and values.
        where: The section's own dotted path; empty for the whole configuration.
        source: What the message calls the configuration: the file's name.

    Raises:
        ConfigKeyError: The first thing that is wrong.
    """
    try:
        return model.model_validate(dict(raw))
    except ValidationError as error:
        first = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
        raise ConfigKeyError(source, _path(dict(first), where), _complaint(model, dict(first), where)) from error


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: `did you mean 'x'?`, or all known names if none is similar."""
    choices = sorted(known)
    matches = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    return f"did you mean {matches[0]!r}?" if matches else f"known are {', '.join(choices)}"


def _read(path: Path) -> Raw:
    if not path.exists():
        raise ConfigError(
            f"configuration {str(path)!r} does not exist; write one with: {command_line('synth', 'init-config', path)}"
        )
    try:
        text = read_user_text(path)
    except UnreadableTextError as error:
        raise ConfigError(f"configuration {str(path)!r} cannot be read: {error}") from error
    try:
        raw = yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"configuration {str(path)!r} is no YAML: {_one_line(error)}") from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ConfigError(f"configuration {str(path)!r} must be a mapping of keys, not {type(raw).__name__}")
    return raw


def _set(raw: Raw, dotted: str, value: Any) -> None:
    *parents, last = _parts(dotted, value)
    section = raw
    for depth, name in enumerate(parents):
        inner = section.setdefault(name, {})
        if inner is None:
            inner = section[name] = {}
        if not isinstance(inner, dict):
            path = ".".join(parents[: depth + 1])
            raise ConfigError(f"cannot set {dotted!r}: {path!r} is {_short(inner)}, no section")
        section = inner
    section[last] = value


def _parts(dotted: str, value: Any) -> list[str]:
    """The keys of a dotted path. In a section of `NAMED` the next key may contain dots; one field may follow it."""
    for section in NAMED:
        if dotted.startswith(f"{section}."):
            name = dotted.removeprefix(f"{section}.")
            inner = [] if isinstance(value, dict) else name.rsplit(".", 1)[1:]
            return [*section.split("."), name.rsplit(".", 1)[0] if inner else name, *inner]
    return dotted.split(".")


def _location(error: dict[str, Any]) -> list[str | int]:
    return [part for part in error["loc"] if not str(part).startswith(("function-", "is-instance", "[key]"))]


def _path(error: dict[str, Any], where: str) -> str:
    return ".".join(str(part) for part in [*filter(None, [where]), *_location(error)])


def _complaint(model: type[BaseModel], error: dict[str, Any], where: str) -> str:
    location, path = _location(error), _path(error, where)
    if error["type"] == "extra_forbidden":
        return f"unknown key {path!r}; {nearest(str(location[-1]), _fields(model, location[:-1]))}"
    if error["type"] == "missing":
        return f"key {path!r} is missing"
    allowed = re.sub(r"^(Value error,|\w+(?= should)) ", "", error["msg"])
    return f"{path or 'configuration'} is {_short(error['input'])}; it {allowed}"


def _fields(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Names of the fields that the section at a location has."""
    for part in location:
        field = model.model_fields.get(str(part))
        if field is not None:
            annotation = field.annotation
            candidates = [annotation, *get_args(annotation)]
            model = next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), model)
    return list(model.model_fields)


def _short(value: object) -> str:
    """A value as messages show it, cut; a number with too many digits and a list that is too deep have no text."""
    try:
        text = hide_secrets(repr(value))
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= 80 else text[:77] + "..."


def _one_line(error: Exception) -> str:
    return hide_secrets(" ".join(str(error).split()))[:300]

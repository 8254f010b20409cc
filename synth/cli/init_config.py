"""`init-config`: the configuration file with every default, commented from the models' own docstrings."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from skillweave.base.errors import ConfigError
from skillweave.config.sections import Config
from synth.cli.options import PipelineSource
from synth.engine.pipeline import load_pipeline


def write_config(place: PipelineSource, path: Path) -> None:
    """Write it. Raises ConfigError where the file is there already."""
    text = config_text(place.package)
    if str(path) == "-":
        sys.stdout.write(text)
        return
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise ConfigError(f"{str(path)!r} is there already; remove it, or name another file") from error
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    print(f"wrote {path}; next: python -m synth run --config {path}")


def config_text(package: str = "synth.steps") -> str:
    """The file's text."""
    lines = ["# Every key, with its default. What is left out has the same value.", ""]
    for name, field in Config.model_fields.items():
        if name == "steps":
            lines.extend(_steps(package))
        else:
            lines.extend(_field(name, field, getattr(Config(), name), ""))
    return "\n".join(lines) + "\n"


def _steps(package: str) -> Iterator[str]:
    yield "# Parameters of steps; `llm: {textual: provider/model}` in one overrides its author."
    yield "steps:"
    for step in load_pipeline(package).steps:
        yield f"  {step.name}:"
        yield from _section(step.params, step.params(), "    ")


def _section(model: type[BaseModel], values: BaseModel, indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield from _field(name, field, getattr(values, name), indent)


def _field(name: str, field: FieldInfo, value: Any, indent: str) -> Iterator[str]:
    if field.description:
        yield from (f"{indent}# {line}" for line in field.description.splitlines())
    if isinstance(value, BaseModel):
        yield f"{indent}{name}:"
        yield from _section(type(value), value, indent + "  ")
    else:
        yield f"{indent}{name}: {_yaml(value)}"


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=100_000).removesuffix("...\n").strip()

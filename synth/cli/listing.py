"""What there is to choose from: the steps (`list-steps`), the offline author's services (`list-services`) and every key
of the configuration with its default (`init-config`), commented from the models' own docstrings.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from skillweave.base.errors import ConfigError
from skillweave.config.sections import Config, TaskMode
from synth.cli.options import PipelineSource
from synth.cli.text import show_table
from synth.engine.artifact import Every
from synth.engine.pipeline import load_pipeline
from synth.offline.services import catalogue


def show_steps(source: PipelineSource, mode: TaskMode) -> None:
    """Print each step of a task mode with what it reads and writes."""
    for step in load_pipeline(source.package).restricted(mode).steps:
        reads = [read.artifact if isinstance(read, Every) else read for read in step.reads]
        patterns = dict.fromkeys(artifact.pattern for artifact in [*step.listed, *reads])
        print(f"{step.name}: {step.title}")
        print(f"    reads  {', '.join(patterns) or 'domains.seeds'}")
        print(f"    writes {', '.join(artifact.pattern for artifact in (*step.writes, *step.join_writes))}")


def show_services() -> None:
    """Print the services that the offline author knows, each with seed domains that stand for it."""
    rows = [
        [name, ", ".join(setting.topic for setting in service.header.settings)] for name, service in catalogue().items()
    ]
    show_table(["service", "seed domains"], rows)
    print("for other services name a model in llm.textual; next: python -m synth preview 'SEED DOMAIN'")


def write_config(source: PipelineSource, path: Path) -> None:
    """Write the configuration with every default; `-` is standard output. Raises ConfigError if the file exists."""
    text = config_text(source.package)
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
    """The text of the configuration with every default."""
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

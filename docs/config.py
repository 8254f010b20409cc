"""`config.md`: every key of the configuration, from the models that check it."""

import ast
from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel

from docs.reference import Described, code, constants, fields_of, readable, summary_of, table
from skillweave.config import llm as authors
from skillweave.config import sections as models
from skillweave.config.llm import AuthorConfig, ConfigSection, PriceConfig, RoleConfig, SpeakerConfig
from skillweave.config.sections import Config

INTRO = """\
# Configuration

Made by `python -m docs.generate` from `skillweave/config/`; change it there.

`config.yaml` holds what differs from the defaults below; `python -m synth init-config -` prints a file with every key.
Any key can be overridden on the command line: `--set execution.workers=4`, `--set 'domains.seeds=[hotel, airline]'`.
An unknown key, or a value of the wrong type, is an error that names the nearest key or what is allowed (exit 2).
Keys of providers come only from the environment variable that `api_key_env` names; they are never written anywhere.
"""

STEPS = """\
`steps.<name of the step>` holds the step's parameters, which [pipeline.md](pipeline.md) lists. `llm` in it overrides
the authors of that step alone:

```yaml
steps:
  s06_database_generation:
    llm: {coding: openai/gpt-5}
```
"""

ABOUT: dict[type[BaseModel], str] = {
    SpeakerConfig: "All keys of an author, below, and:",
    RoleConfig: "`llm.judge` has no default: where it is left out, nothing is judged.",
}
SHORT = "`textual: offline/author` is short for `textual: {model: offline/author}`.\n"


def page() -> str:
    """The page's text."""
    parts = [INTRO, "## Top level\n", _table(Config, "")]
    for path, model in _sections(Config):
        about = summary_of(model)
        about += ABOUT.get(model, "")
        heading = "and".join(f" {code(name)} " for name in path.split(" and ")).strip()
        parts += [f"## {heading}\n", f"{about}\n" if about else "", _table(model, f"{path.partition(' and ')[0]}.")]
    parts += ["## `steps`\n", STEPS, _authors(), f"## A price: `llm.prices`\n\n{_table(PriceConfig, '')}"]
    return "\n".join(part for part in parts if part)


def _authors() -> str:
    paths = [
        code(f"{path}.{name}")
        for path, model in _sections(Config)
        for name, field in model.model_fields.items()
        if field.annotation is AuthorConfig
    ]
    return f"## An author: {', '.join(paths)}\n\n{SHORT}\n{_table(AuthorConfig, '')}"


def _table(model: type[BaseModel], prefix: str) -> str:
    rows = [_row(field, prefix) for field in fields_of(model) if not _has_own_heading(model, field.name)]
    return table(["key", "type", "default", "meaning"], rows)


def _row(field: Described, prefix: str) -> tuple[str, str, str, str]:
    default = "" if field.default == "AuthorConfig()" else field.default
    aliases = [*constants(models.__name__), *constants(authors.__name__)]
    kinds = {alias.name: readable(ast.unparse(alias.value)) for alias in aliases if alias.value}
    return code(prefix + field.name), code(kinds.get(field.type, field.type)), code(default), field.meaning


def _sections(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Path and model of each section, parents first; one that stands twice is told once, with both paths."""
    fields = [(name, _section_in(field.annotation)) for name, field in model.model_fields.items()]
    for kind in dict.fromkeys(kind for _, kind in fields if kind is not None):
        path = " and ".join(f"{above}{name}" for name, found in fields if found is kind)
        yield path, kind
        yield from _sections(kind, f"{path.partition(' and ')[0]}.")


def _section_in(annotation: object) -> type[BaseModel] | None:
    """The section that a field holds, or may hold; authors have a table of their own."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, ConfigSection) and kind is not AuthorConfig:
            return kind
    return None


def _has_own_heading(model: type[BaseModel], name: str) -> bool:
    if issubclass(model, SpeakerConfig) and name in AuthorConfig.model_fields:
        return True
    return (model is Config and name == "steps") or _section_in(model.model_fields[name].annotation) is not None

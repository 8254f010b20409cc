"""The formats by name. A format's module is imported when the format is asked for."""

from collections.abc import Mapping
from importlib import import_module

from interop.export.format import ExportFormat
from skillweave.base.errors import ConfigError
from skillweave.config.load import nearest

FORMATS: Mapping[str, str] = {
    "openai": "openai:FORMAT",
    "trl-sft": "trl_sft:FORMAT",
    "sharegpt": "sharegpt:FORMAT",
    "ms-swift": "ms_swift:FORMAT",
    "agenttraj": "agentgym:AGENTTRAJ",
    "agenteval": "agentgym:AGENTEVAL",
    "dpo": "dpo:FORMAT",
    "steps": "steps:FORMAT",
    "verl": "verl:FORMAT",
    "skyrl": "skyrl:FORMAT",
    "fleet": "fleet:FORMAT",
    "hub": "hub:FORMAT",
}
"""Name -> module in `interop.export.formats`, and the name of the format in it."""


def format_of(name: str) -> ExportFormat:
    """The format of a name. Raises ConfigError if it is unknown."""
    if name not in FORMATS:
        raise ConfigError(f"unknown format {name!r}; {nearest(name, FORMATS)}")
    module, _, variable = FORMATS[name].partition(":")
    found = getattr(import_module(f"interop.export.formats.{module}"), variable)
    assert isinstance(found, ExportFormat)
    return found


def module_of(name: str) -> str:
    """The full name of a format's module."""
    return f"interop.export.formats.{FORMATS[name].partition(':')[0]}"

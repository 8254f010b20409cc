"""Registries of parts, and what a plug-in that misbehaves comes to."""

from pathlib import Path

import pytest

from skillweave.base.errors import ConfigError
from skillweave.plugins import PluginError, Registry, load_plugins


class Part:
    """A part of the registry under test."""


def registry() -> Registry[Part]:
    """A registry with one built-in part."""
    return Registry("part", {"built_in": Part()})


@pytest.mark.parametrize("name", ["", "A", "a b", "../a", 7])
def test_a_name_that_is_no_key_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="a name is lower case"):
        registry().register(name, Part())


def test_what_is_no_part_is_refused() -> None:
    with pytest.raises(ConfigError, match="it must be a Part"):
        registry().register("own", lambda: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(0)])
def test_what_a_part_raises_names_the_part_and_its_module(error: BaseException) -> None:
    def fail() -> None:
        raise error

    parts = registry()
    parts.register("own", Part())
    with pytest.raises(PluginError, match=rf"the part 'own' of '{__name__}' failed: {type(error).__name__}"):
        parts.call("own", fail)


@pytest.mark.parametrize("content", ["raise SystemExit(0)", "1 / 0", "def"])
def test_a_module_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    name = f"spoilt_{len(content)}"
    (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=f"plugins: '{name}' cannot be loaded"):
        load_plugins([name])

"""SkillOpt's settings: its flat names for the keys of the sections, and its way to read a value from a command line.

Runs of SkillOpt write their settings flat, under names that differ from those of its configuration files in a few
places. Our own configuration refuses unknown keys; here they are left out, as SkillOpt leaves them out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from skillweave.base.errors import ConfigError

_SAME = {
    "train": "num_epochs train_size steps_per_epoch batch_size accumulation seed",
    "gradient": "minibatch_size merge_batch_size analyst_workers failure_only",
    "optimizer": "lr_scheduler lr_control_mode skill_update_mode use_slow_update slow_update_samples "
    "slow_update_gate_with_selection longitudinal_pair_policy use_meta_skill use_skill_aware_reflection "
    "skill_aware_appendix_source skill_aware_consolidate_threshold",
    "evaluation": "use_gate gate_metric gate_mixed_weight use_semantic_density semantic_density_weight leading_words "
    "sel_env_num test_env_num eval_test",
    "env": "skill_init out_root",
    "model": "",
}
"""Section -> keys whose flat name is the same."""
_RENAMED = {
    "model": {"backend": "model_backend", "optimizer": "optimizer_model", "target": "target_model"},
    "optimizer": {
        "learning_rate": "edit_budget",
        "min_learning_rate": "min_edit_budget",
        "meta_learning_rate": "meta_edit_budget",
    },
    "env": {"name": "env"},
}
_OPEN = ("env", "model")
"""Sections whose other keys keep their names."""
_ALIASES = {
    "codex_path": "codex_exec_path",
    "codex_cli_bin": "codex_exec_path",
    "codex_bin": "codex_exec_path",
    "sandbox": "codex_exec_sandbox",
    "codex_sandbox": "codex_exec_sandbox",
}
"""Older names -> names; the first of several that are given counts."""


def cast(text: str) -> bool | int | float | str:
    """A value of a command line: true, false, yes, no, a number, else the text itself."""
    if text.lower() in ("true", "yes", "false", "no"):
        return text.lower() in ("true", "yes")
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def flat_name(section: str, key: str) -> str | None:
    """The flat name of a section's key; None if the key is unknown."""
    renamed = _RENAMED.get(section, {}).get(key)
    is_same = section in _OPEN or key in _SAME[section].split()
    return renamed or (key if is_same else None)


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in sections, as flat ones. Flat settings stay as they are.

    Args:
        settings: Section -> key -> value. What stands beside the sections is flat, and gives way to their keys.
    """
    flat = {key: value for key, value in _named(settings).items() if key not in _SAME or not isinstance(value, Mapping)}
    if len(flat) == len(settings):
        return flat
    flat = {key: value for key, value in flat.items() if key not in _SAME}
    for section in _SAME:
        keys = settings.get(section)
        for key, value in (_named(keys) if isinstance(keys, Mapping) else {}).items():
            name = flat_name(section, key)
            if name is not None:
                flat[name] = value
    return flat


def in_sections(flat: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Flat settings by section and key; those that no section has are left out."""
    sections: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        place = _of_flat(name)
        if len(place) == 2:
            sections.setdefault(place[0], {})[place[1]] = value
    return sections


def _named(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under their present names."""
    named = {key: value for key, value in settings.items() if key not in _ALIASES}
    for alias, name in _ALIASES.items():
        if alias in settings:
            named.setdefault(name, settings[alias])
    return named


def layered(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Settings over others: sections are joined, other values replaced."""
    joined = dict(base)
    for key, value in over.items():
        below = joined.get(key)
        is_section = isinstance(below, Mapping) and isinstance(value, Mapping)
        joined[key] = layered(below, value) if is_section else value  # type: ignore[arg-type]
    return joined


def overridden(settings: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Settings with `section.key=value` or `key=value` put in; each goes where settings of this form have it.

    Raises:
        ConfigError: An override has no equals sign.
    """
    has_sections = any(key in _SAME and isinstance(value, Mapping) for key, value in settings.items())
    changed = dict(settings)
    for override in overrides:
        dotted, separator, text = override.partition("=")
        if not separator:
            raise ConfigError(f"override {override!r} should have the form key=value")
        path = _place(dotted, has_sections)
        changed = layered(changed, {path[0]: {path[1]: cast(text)}} if len(path) > 1 else {path[0]: cast(text)})
    return changed


def _place(dotted: str, has_sections: bool) -> list[str]:
    """Where a setting stands, by its name with or without a section."""
    section, _, key = dotted.rpartition(".")
    if not has_sections and section in _SAME:
        return [flat_name(section, key) or key]
    if not section and has_sections:
        return _of_flat(_ALIASES.get(key, key))
    return [section, _ALIASES.get(key, key) if section == "model" else key] if section else [_ALIASES.get(key, key)]


def _of_flat(name: str) -> list[str]:
    """The section and key of a flat name; the name itself if no section has it."""
    for section, keys in _RENAMED.items():
        for key, flat in keys.items():
            if flat == name:
                return [section, key]
    for section, same in _SAME.items():
        if name in same.split():
            return [section, name]
    return [name]

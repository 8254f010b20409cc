"""How the command line names items and states."""

from typing import Any

from synth.step import ALL, JOIN, Step


def item_label(step: Step[Any], key: str) -> str:
    """`policies/DentalClinic`, `entities.json[DentalClinic]`: an item by the first thing that it makes."""
    artifacts = step.join_writes if key == JOIN else step.writes
    if not artifacts:
        return key
    first = artifacts[0]
    if key in (ALL, JOIN):
        return first.pattern.replace("{key}", "*")
    if first.kind == "joined":
        return first.label(key)
    return first.path(key).rpartition(".")[0]


def counted(count: int, noun: str) -> str:
    """`1 item`, `3 items`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"

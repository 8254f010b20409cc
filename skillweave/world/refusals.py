"""What contract SQL may not hold, found in its syntax tree: whatever reads the outside, is unbounded, or cannot be
namespaced."""

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool


def refused_in(text: str, blueprint: Blueprint, tool: Tool | None = None) -> list[str]:
    """Reasons to refuse a statement or expression, in words; empty where it is lawful."""
    return []

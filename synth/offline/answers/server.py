"""The answers that are servers and their tests (s09)."""

from skillweave.schema.blueprint import Blueprint
from synth.offline.answers.asked import Asked
from synth.offline.coding.server import write_server


def server(asked: Asked) -> str:
    """The source of a server that keeps the blueprint's contract."""
    return write_server(asked.get("blueprint", Blueprint))

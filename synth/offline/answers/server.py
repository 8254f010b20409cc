"""The answers that are servers and their tests (s09)."""

from skillweave.schema.blueprint import Blueprint
from synth.codegen.example import Example
from synth.offline.answers.asked import Asked
from synth.offline.coding.server import write_server
from synth.offline.coding.tests import write_tests


def server(asked: Asked) -> str:
    """The source of a server that keeps the blueprint's contract."""
    return write_server(asked.get("blueprint", Blueprint), asked.get("now", str))


def tests(asked: Asked) -> str:
    """Tests of that server: the examples that the question gives, each as a function of plain pytest."""
    return write_tests(asked.get("blueprint", Blueprint), asked.many("examples", Example))

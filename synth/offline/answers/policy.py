"""Answers about policies: the manual, and a rule's sentence (s07)."""

from skillweave.schema.blueprint import Blueprint
from synth.offline.answers.asked import Asked
from synth.offline.manual.writer import Writer


def write(asked: Asked) -> str:
    """The manual of a company."""
    return Writer(asked.get("blueprint", Blueprint), asked.random).text()


def reword(asked: Asked) -> str:
    """The sentence as it is: the catalogue has no other."""
    return asked.get("sentence", str)

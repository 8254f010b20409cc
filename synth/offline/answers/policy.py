"""Answers about policies: the manual, and what a rule's sentence says of a case (s07)."""

from skillweave.schema.blueprint import Blueprint
from synth.offline.answers.asked import Asked
from synth.offline.manual.writer import Writer


def write(asked: Asked) -> str:
    """The manual of a company."""
    return Writer(asked.get("blueprint", Blueprint), asked.random).text()


def decide(asked: Asked) -> list[dict[str, object]]:
    """Nothing is decided without reading."""
    return [{"holds": None, "why": "not read"} for _ in asked.get("cases", list)]

"""Answers about policies: the manual, and what a rule's sentence says of cases (s07)."""

from skillweave.schema.blueprint import Blueprint
from synth.offline.answers.asked import Asked
from synth.offline.judge.decide import Decision
from synth.offline.judge.decide import decide as decided
from synth.offline.manual.writer import Writer


def write(asked: Asked) -> str:
    """The manual of a company."""
    return Writer(asked.get("blueprint", Blueprint), asked.random).text()


def decide(asked: Asked) -> list[Decision]:
    """Each case, decided by the words of the sentence."""
    return decided(asked.get("sentence", str), asked.many("cases", str))


def reword(asked: Asked) -> str:
    """The sentence as it is: the catalogue has no other."""
    return asked.get("sentence", str)

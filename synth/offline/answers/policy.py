"""Answers about policies: the sentences of rules (s04), and the manual (s07)."""

from skillweave.schema.blueprint import Blueprint
from synth.offline.answers.asked import Asked
from synth.offline.manual.writer import Writer
from synth.policy.parts import ManualParts
from synth.policy.review import Faulty, Reworded, Sentences


def write(asked: Asked) -> ManualParts:
    """The manual of a company."""
    return Writer(asked.get("blueprint", Blueprint), asked.random).parts()


def reword(asked: Asked) -> Sentences:
    """The sentences as they are: the catalogue has no others."""
    return Sentences(sentences=[Reworded(rule=rule.rule, says=rule.sentence) for rule in asked.many("rules", Faulty)])

"""The answer that is a generator script (s06)."""

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.entity import Entity
from synth.offline.answers.asked import Asked
from synth.trial.generator import write_generator


def generator(asked: Asked) -> str:
    """The script that draws the rows of the tables that no tool fills."""
    blueprint = asked.get("blueprint", Blueprint)
    return write_generator(blueprint.server, blueprint.core_entity, asked.many("filled", Entity), blueprint.tables)

"""The answer that tells tasks in words (s17)."""

from random import Random

from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.telling import Telling
from synth.offline.answers.asked import Asked
from synth.offline.language.companies import Companies, talk_of_all
from synth.offline.language.teller import Teller
from synth.offline.service import Talk
from synth.tasks.batches import Untold, numbered


def tell(asked: Asked) -> list[Telling]:
    """Each task in its persona's words, which it draws by itself: whatever else is told in the same question."""
    talk, companies = _words(asked)
    return [
        Teller(task.request, talk, _random(asked, task), companies, number).tell()
        for number, task in numbered(asked.many("tasks", Untold)).items()
    ]


def _random(asked: Asked, task: Untold) -> Random:
    return Random(f"{asked.seed}/{asked.question}/{task.combination.id}")


def _words(asked: Asked) -> tuple[Talk, Companies]:
    blueprint = asked.variables.get("blueprint")
    if not isinstance(blueprint, FusedBlueprint):
        return asked.variant(asked.get("server", str)).rendered.talk, Companies()
    return talk_of_all(blueprint, {one.server: asked.variant(one.server).rendered.talk for one in blueprint.members})

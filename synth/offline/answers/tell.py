"""The answer that tells a task in words (s17)."""

from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.telling import Request, Telling
from synth.offline.answers.asked import Asked
from synth.offline.language.companies import Companies, talk_of_all
from synth.offline.language.teller import Teller
from synth.offline.service import Talk


def tell(asked: Asked) -> Telling:
    """A task in the persona's words."""
    talk, companies = _words(asked)
    return Teller(asked.get("request", Request), talk, asked.random, companies).tell()


def _words(asked: Asked) -> tuple[Talk, Companies]:
    blueprint = asked.variables.get("blueprint")
    if not isinstance(blueprint, FusedBlueprint):
        return asked.variant(asked.get("server", str)).rendered.talk, Companies()
    return talk_of_all(blueprint, {one.server: asked.variant(one.server).rendered.talk for one in blueprint.members})

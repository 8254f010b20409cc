"""A provisional task: the record as it will be, in bare words, before an author has told it.

What is tried on it holds for the told one: the id, the golden calls and the criteria are the same.
"""

from functools import lru_cache
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.domain import Domain
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.task import Criteria, Gates, Task
from skillweave.schema.telling import FactWords, Known, Request, Telling
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.tasks.assemble import Assembly
from synth.tasks.persona import persona_of
from synth.tasks.request import request_of

KEPT = 8
"""Worlds whose state's digest is remembered."""
LONGEST = 200
"""Characters of one value's words."""
MOST = 12
"""Facts that the first message says; the rest stands in the scenario."""


def provisional(
    world: World, combination: Combination, template: TaskTemplate, criteria: Criteria, gates: Gates
) -> Task:
    """The task with bare words. The same combination gives the same task."""
    assembly = _assembly(world)
    random = Random(f"{combination.id}/provisional")
    persona = persona_of(assembly.person(combination.caller), combination.now, random)
    request = request_of(world.blueprint, template, combination, persona, random)
    validated = ValidatedTask(combination=combination, criteria=criteria, gates=gates)
    return assembly.task(validated, request, _telling(request), "train")


def _telling(request: Request) -> Telling:
    """What is known, thing by thing; what is given only when asked for is left out of the first message."""
    facts = [
        FactWords(id=thing.id, text=_words(thing), tell="asked" if thing.withheld else "first")
        for thing in request.known
        if not thing.secret
    ]
    said = " ".join([fact.text for fact in facts if fact.tell == "first"][:MOST])
    goal = request.title or "Something is to be done."
    return Telling(id="1", reason=request.reason, first_message=f"{goal}. {said}".strip(), goal=goal, facts=facts)


def _words(thing: Known) -> str:
    return f"{thing.about}: {thing.words[:LONGEST]}."


@lru_cache(maxsize=KEPT)
def _assembly(world: World) -> Assembly:
    return Assembly(world, _domains(world.blueprint))


def _domains(blueprint: Blueprint) -> list[Domain]:
    """The domains as the contract knows them."""
    if isinstance(blueprint, FusedBlueprint):
        named = [(member.server, member.domain) for member in blueprint.members]
    else:
        named = [(blueprint.server, blueprint.domain)]
    person = blueprint.core.name
    return [Domain(name=server, topic=topic, summary=topic, person=person, seed=topic) for server, topic in named]

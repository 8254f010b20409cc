"""Who has an instance of a template on the data as they are, so that compounds are made of what somebody has."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from skillweave.config.sections import SplitsConfig
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.tasks.combinations import combination_for
from synth.tasks.forms import templates_from
from synth.tasks.kinds import NoInstance, TemplateSource
from synth.tasks.splits import splits_of


def templates_on_data(
    goals: Sequence[TaskTemplate], source: TemplateSource, database: Path, now: str, splits: SplitsConfig, seed: str
) -> list[TaskTemplate]:
    """The goals of a world of one domain with the templates that follow from them; see `templates_from`.

    Args:
        splits: How templates are put into splits; no compound is in two.
        seed: The run's seed.
    """
    world = World(source.blueprint, database, now=now)
    with world.sharing():
        split_of = partial(splits_of, domains=[source.blueprint.server], splits=splits, seed=seed)
        able = AblePersons(world, f"{seed}/combinations")
        templates = templates_from(goals, source._replace(able=able, split_of=split_of))
    world.close()
    return templates


MOST_PERSONS = 40
"""Persons who are asked about."""
MOST_VAIN = 5
"""What none of so many persons has, nobody is asked about any more."""


class AblePersons:
    """Says which persons have an instance of a template, each template sought once for a person."""

    def __init__(self, world: World, seed: str) -> None:
        self._world = world
        self._seed = seed
        self._known: dict[tuple[str, str], bool] = {}
        self._vain: Counter[str] = Counter()

    @property
    def persons(self) -> Sequence[str]:
        """Keys of the persons who may be asked about, the most active first."""
        return self._world.callers[:MOST_PERSONS]

    def __call__(self, template: TaskTemplate, among: Collection[str]) -> frozenset[str]:
        """Those of some persons who have one."""
        for person in among:
            if (template.id, person) not in self._known:
                is_able = self._vain[template.id] < MOST_VAIN and self._is_able(template, person)
                self._known[template.id, person] = is_able
                self._vain[template.id] += -MOST_PERSONS if is_able else 1
        return frozenset(person for person in among if self._known[template.id, person])

    def _is_able(self, template: TaskTemplate, caller: str) -> bool:
        try:
            combination_for(self._world, template, caller, "session", self._seed, number=0)
        except NoInstance:
            return False
        return True

"""Verification of a card and of the report that it tells from: both are made anew from the files, and have to be equal.

What the card says of evaluations is left out: these may be made, and made anew, after it.
"""

import re
from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from skillweave.base.errors import SkillweaveError
from skillweave.schema.reports import Diversity, DuplicateCounts
from skillweave.world.dataset import Dataset
from synth.reports.card import CARD, card_of
from synth.reports.diversity import diversity_of

REPORT, REMOVED = "report/diversity.json", "report/duplicates.json"
_LICENSE = re.compile(r"^license: (\S+)$", re.MULTILINE)
_OF_EVALUATIONS = ("## Floors", "## Scripted agents")
"""Sections."""
_MEASURED = ("| false pass, second set", "| false fail, second set")
"""Rows of a table."""
_REMOVED: TypeAdapter[dict[str, DuplicateCounts]] = TypeAdapter(dict[str, DuplicateCounts])


def card_faults(dataset: Dataset) -> list[str]:
    """What of the card is not so; nothing where there is no card."""
    try:
        if not dataset.store.exists(CARD):
            return []
        told = dataset.store.read(CARD).decode("utf-8", "replace")
        license = _LICENSE.search(told)
        made = card_of(dataset, license[1] if license else "")
    except SkillweaveError as error:
        return [f"{CARD}: {error}"]
    if list(_lasting(told)) == list(_lasting(made)):
        return []
    return [f"{CARD}: does not tell what the files hold; if all else is right, make it anew with: python -m synth card"]


def report_faults(dataset: Dataset) -> list[str]:
    """What of the report on diversity is not so; nothing where there is none."""
    try:
        if not dataset.store.exists(REPORT):
            return []
        told = Diversity.model_validate_json(dataset.store.read(REPORT))
        removed = _REMOVED.validate_json(dataset.store.read(REMOVED)) if dataset.store.exists(REMOVED) else {}
        worlds = dataset.tasks.worlds
        made = diversity_of(
            {world: list(dataset.tasks.of(world)) for world in worlds},
            {world: dataset.blueprint(world) for world in worlds},
            removed,
            told.holdout_domains,
        )
    except (SkillweaveError, ValidationError) as error:
        return [f"{REPORT}: {str(error).splitlines()[0]}"]
    return [] if made == told else [f"{REPORT}: is not what the tasks give"]


def _lasting(card: str) -> Iterator[str]:
    """Lines that tell of the dataset itself."""
    is_evaluated = False
    for line in card.splitlines():
        if line.startswith("## "):
            is_evaluated = line in _OF_EVALUATIONS
        if not is_evaluated and not line.startswith(_MEASURED):
            yield line

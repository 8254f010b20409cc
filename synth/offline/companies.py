"""What makes another company of a setting its own: names, prices, its lists, and the rules that it does without."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.schema.record import Row

LEVELS = (0.78, 0.85, 0.92, 1.06, 1.14, 1.24, 1.35)
"""Price levels of companies; a first company's is 1."""
ROUNDINGS = (100, 50, 10, 5)
"""What prices may be multiples of, in cents: a price stays a multiple of what the first company's is."""


@cache
def pools() -> dict[str, list[list[str]]]:
    """Pool -> lists of words; a name is one word of each list."""
    text = files("synth.offline").joinpath("phrases/names.yaml").read_text("utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def drawn_names(names: Mapping[str, Sequence[str]], random: Random) -> dict[str, str]:
    """Name of a first company -> another name of its pool. No two names become one.

    Args:
        names: Pool -> names.
        random: Draws the new names.
    """
    renamed: dict[str, str] = {}
    for pool, own in sorted(names.items()):
        first, *more = pools()[pool]
        words = [random.sample(first, len(own)), *(random.choices(part, k=len(own)) for part in more)]
        renamed |= dict(zip(own, map(" ".join, zip(*words, strict=True)), strict=True))
    return renamed


def with_names(text: str, names: Mapping[str, str]) -> str:
    """The text with names replaced, all at once and longer ones first."""
    if not names:
        return text
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")
    return pattern.sub(lambda match: names[match[0]], text)


def own_rows(entities: Sequence[Entity], shortened: Mapping[str, int], random: Random) -> list[Entity]:
    """The entities, their listed rows at the company's own prices and some of them left out.

    Args:
        entities: The first company's.
        shortened: Entity -> the most rows to leave out.
        random: Draws price level, prices and rows.
    """
    level = random.choice(LEVELS)
    changed = []
    for entity in entities:
        if entity.rows is None or not entity.rows.literal:
            changed.append(entity)
            continue
        rows = _shortened(entity, random.randint(0, shortened.get(entity.name, 0)), random)
        money = [attribute.name for attribute in entity.attributes if attribute.unit == "cents"]
        priced = [
            {**row, **{name: _price(row[name], level, random) for name in money if row.get(name)}} for row in rows
        ]
        changed.append(entity.model_copy(update={"rows": entity.rows.model_copy(update={"literal": priced})}))
    return changed


def without_rules(tools: Sequence[Tool], dispensable: Sequence[str], random: Random) -> list[Tool]:
    """The tools without a fifth to a half of the rules that a company may do without."""
    known = sorted({guard.rule for tool in tools for guard in tool.guards} & set(dispensable))
    gone = set(random.sample(known, random.randint(len(known) // 5, len(known) // 2)))
    return [tool.model_copy(update={"guards": [g for g in tool.guards if g.rule not in gone]}) for tool in tools]


def _price(price: Any, level: float, random: Random) -> int:
    """A price at a level, give or take 6 %, as round as before."""
    rounding = next((step for step in ROUNDINGS if price % step == 0), 1)
    return int(max(rounding, round(price * level * random.uniform(0.94, 1.06) / rounding) * rounding))


def _shortened(entity: Entity, fewer: int, random: Random) -> list[Row]:
    """The listed rows without `fewer` of them, each of a sort that other rows are of too."""
    assert entity.rows is not None
    rows = list(entity.rows.literal or [])
    sorts = [a.name for a in entity.attributes if a.enum or a.type == "boolean"]
    for _ in range(fewer):
        kinds = [tuple(row.get(name) for name in sorts) for row in rows]
        spare = [place for place, kind in enumerate(kinds) if kinds.count(kind) > 1]
        if spare:
            del rows[random.choice(spare)]
    return rows

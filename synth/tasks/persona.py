"""Personas: who calls. The name and age are the person's own in the data; the manner is drawn."""

from datetime import date
from random import Random

from skillweave.schema.record import Row
from skillweave.schema.task import Persona
from skillweave.user_prompt import draw_style, draw_traits


def persona_of(row: Row, now: str, random: Random) -> Persona:
    """The persona of a person in the data."""
    style, patience = draw_style(random)
    return Persona(
        name=str(row.get("full_name") or "the caller"),
        age=_age(str(row.get("date_of_birth") or ""), now, Random(f"{sorted(map(str, row.values()))}")),
        style=style,
        patience=patience,
        traits=draw_traits(style, random),
    )


def _age(born: str, now: str, random: Random) -> int:
    try:
        birth, today = date.fromisoformat(born), date.fromisoformat(now[:10])
    except ValueError:
        return random.randint(21, 79)
    return today.year - birth.year - ((today.month, today.day) < (birth.month, birth.day))

"""The shared population: the same persons in every world, drawn once a run, keyed by seed and rank.

A world takes a seeded subset. The lowest ranks are in every world and are the most active everywhere, so that worlds
can later be joined on people who have something to do in each of them.
"""

from datetime import date, timedelta
from random import Random

from skillweave.schema.record import Row

SIZE = 60
"""Persons of one kind in a run."""
SHARED = {
    "full_name": "string",
    "date_of_birth": "date",
    "email": "string",
    "phone": "string",
    "postcode": "string",
    "city": "string",
}
"""What worlds may share of a person, with the type that they must give it."""
CORE = 0.75
"""Share of a world's persons who are in every world."""


def population(seed: int, person: str, today: date, size: int = SIZE) -> list[Row]:
    """All persons of a kind by rank, with every attribute that worlds may share."""
    return [_person(seed, person, rank, today) for rank in range(1, size + 1)]


def members(seed: int, person: str, world: str, count: int, size: int = SIZE) -> list[int]:
    """Ranks of the persons whom a world knows, ascending: the first ranks, and some of the others."""
    count = min(count, size)
    everywhere = round(count * CORE)
    others = Random(f"{seed}/members/{person}/{world}").sample(range(everywhere + 1, size + 1), count - everywhere)
    return [*range(1, everywhere + 1), *sorted(others)]


def activity(rank: int) -> float:
    """How often a person of that rank gets in touch, relative to others."""
    return 1.0 / (1.0 + rank / 12)


def _person(seed: int, person: str, rank: int, today: date) -> Row:
    from faker import Faker

    faker = Faker("en_GB")
    faker.seed_instance(f"{seed}/{person}/{rank}")
    random = Random(f"{seed}/population/{person}/{rank}")
    first, last = faker.first_name(), faker.last_name()
    handle = f"{first}.{last}".lower().replace("'", "").replace(" ", "")
    birth = today - timedelta(days=round(random.triangular(19, 84, 41) * 365.25))
    return {
        "person_id": f"{person.upper()[:3]}-P{rank:03d}",
        "full_name": f"{first} {last}",
        "date_of_birth": birth.isoformat(),
        "email": f"{handle}{random.choice(['', '.', '_'])}{rank:02d}@example.{random.choice(['com', 'net', 'org'])}",
        "phone": f"+44 7700 9{random.randrange(100):02d}{rank:03d}",
        "postcode": faker.postcode(),
        "city": faker.city(),
    }

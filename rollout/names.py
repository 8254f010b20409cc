"""Names of records in a world: what a user who does not own them would have to invent."""

from skillweave.world.world import World


def names_of(world: World) -> frozenset[str]:
    """Values of the columns that name a record, of all tables."""
    return frozenset()

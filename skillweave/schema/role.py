"""A role: what a world's person is in one of its domains."""

from typing import NamedTuple

from skillweave.schema.entity import Entity


class Role(NamedTuple):
    title: str
    """The company's name."""
    own: Entity
    """The person's own record in that domain; other records reference its key."""
    entity: Entity
    """Persons as that domain's contract reads them: with what all domains share."""
    account: str
    """The column of the core entity that holds the own key; of a single domain it is the core entity's key."""

    @property
    def key(self) -> str:
        """What that domain calls its own key."""
        return self.own.key

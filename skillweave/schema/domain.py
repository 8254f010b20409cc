"""A domain: a service area that one world is made for."""

from pydantic import Field

from skillweave.schema.names import Name
from skillweave.schema.record import Record


class Domain(Record):
    name: Name
    """Unique in a run, PascalCase; the server that it grows into has the same name: `DentalClinic`."""
    topic: str
    """The service area in a few words: `dental clinic appointments`."""
    summary: str
    """One or two sentences: who is served, with what."""
    person: Name
    """The kind of person it serves, a shared entity: `Patient`."""
    seed: str
    """The seed domain that it was expanded from."""
    keywords: list[str] = Field(default_factory=list)
    """Terms that belong to the area, for near-duplicate detection and wording."""

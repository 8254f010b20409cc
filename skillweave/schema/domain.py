"""A domain: a service area that one world is made for."""

from pydantic import Field

from skillweave.schema.bounds import Label, Sentence
from skillweave.schema.names import Name
from skillweave.schema.record import Record


class Domain(Record):
    name: Name
    """Unique in a run, PascalCase; the server that it grows into has the same name: `DentalClinic`."""
    topic: Label
    """The service area in a few words: `dental clinic appointments`."""
    summary: Sentence
    """One or two sentences: who is served, with what."""
    person: Name
    """The kind of person it serves, a shared entity: `Patient`."""
    seed: Label
    """The seed domain that it was expanded from."""
    keywords: list[Label] = Field(default_factory=list, max_length=64)
    """Terms that belong to the area, for near-duplicate detection and wording."""

"""`ladder.json`: how far the scripted agents get in the dataset, as `python -m rollout ladder` has written it."""

from pydantic import ValidationError

from skillweave.errors import ArtifactError
from skillweave.schema.ladder import Ladder
from skillweave.store import Store

LADDER = "ladder.json"


def read_ladder(store: Store, path: str = LADDER) -> Ladder | None:
    """The ladder that stands in the folder; None where there is none, or none that can be read."""
    try:
        return Ladder.model_validate_json(store.read(path)) if store.exists(path) else None
    except (ArtifactError, ValidationError):
        return None


def write_ladder(store: Store, ladder: Ladder, path: str = LADDER) -> None:
    """Put it there."""
    store.write(path, ladder.model_dump_json(indent=2).encode() + b"\n")

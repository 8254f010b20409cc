"""Rows that came to nothing: cancelled, rejected, run out. By their status, as people and companies call it."""

from collections.abc import Mapping

from skillweave.schema.record import Json

WORDS = frozenset(
    {
        *("abandoned", "annulled", "cancelled", "canceled", "closed", "declined", "denied", "discontinued", "dropped"),
        *("ended", "expired", "failed", "forfeited", "inactive", "lapsed", "missed", "no_show", "refused", "rejected"),
        *("removed", "revoked", "stopped", "superseded", "terminated", "uncollected", "void", "voided", "withdrawn"),
    }
)


def is_undone(row: Mapping[str, Json]) -> bool:
    """Whether a status of the row says that nothing comes of it any more."""
    return any(column.split("_")[-1] == "status" and value in WORDS for column, value in row.items() if value)

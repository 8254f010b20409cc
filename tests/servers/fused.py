"""Two libraries in one world, with a bridge rule of each kind."""

from pathlib import Path

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.record import Json, Row
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from synth.fusion.persons import fused_rows
from synth.simulation.generation import state_of
from tests.fusion.libraries import NOW, databases, library, people
from tests.servers.served import serve_from

NAME = "North__South"
BOTH = "PER-P003"
"""Somebody whom both libraries know, and who has fines with neither."""
FINED = "PER-P002"
"""Somebody whom both libraries have fined."""
ONLY_NORTH = "PER-P004"
"""Somebody whom the first library alone knows."""

BRIDGES = [
    BridgeRule(
        rule="B1",
        tool="north__renew_loan",
        concern="eligibility",
        holds="NOT EXISTS (SELECT 1 FROM South__Fine AS f JOIN Person AS p ON p.South = f.reader_id "
        "WHERE p.person_id = :person AND f.amount_cents > 150)",
        error="fined_in_the_south",
        says="A loan is not renewed for somebody with a fine above 1.50 in the South.",
    ),
    BridgeRule(
        rule="B2",
        tool="south__mark_copy",
        concern="eligibility",
        holds="EXISTS (SELECT 1 FROM North__Loan AS l JOIN Person AS p ON p.North = l.member_id "
        "WHERE p.person_id = :person AND l.due_on > date(:now))",
        error="no_loan_in_the_north",
        says="A copy is marked only for somebody who has a loan in the North.",
        enforced_by="agent",
    ),
]


def two_libraries() -> tuple[FusedBlueprint, World]:
    """The contract with its bridge rules, and its world."""
    libraries = [
        library("North"),
        library("South", core="Reader", key="reader_id", statuses=("lent", "here", "lost")),
    ]
    fused = fuse(libraries).with_bridges(BRIDGES)
    rows = {
        table: [_with_other_keys(row) for row in found] if table.startswith("South__") else found
        for table, found in fused_rows(fused, databases(libraries), people(libraries)).items()
    }
    rows["Person"] = [{**row, "South": row["South"] and f"REA{str(row['South'])[3:]}"} for row in rows["Person"]]
    return fused, World(fused, state_of(rows, fused), now=NOW)


def _with_other_keys(row: Row) -> Row:
    """A row of the South, whose readers' keys shall not be those of the North's members."""
    return {
        name: f"REA{value[3:]}" if isinstance(value, str) and value.startswith("MEM-") else value
        for name, value in row.items()
    }


def serve_libraries(folder: Path, tasks: tuple[Json, ...] = ()) -> Path:
    """Their outputs folder; the path of their server."""
    return serve_from(folder, two_libraries()[1], tasks)

import pytest

from skillweave.base.errors import WorldError
from skillweave.world.contract.statements import StatementPreparer
from tests.world.clinic import a_blueprint


def test_a_statement_tells_which_columns_it_reads_and_writes() -> None:
    access = StatementPreparer(a_blueprint()).of(
        "UPDATE slot SET is_free = 1 WHERE slot_id = (SELECT slot_id FROM appointment WHERE status = :s)"
    )
    assert access.updates == {"slot": {"is_free"}}
    assert access.reads == {"slot": {"slot_id"}, "appointment": {"slot_id", "status"}}


def test_a_foreign_key_adds_no_reads() -> None:
    access = StatementPreparer(a_blueprint()).of(
        "INSERT INTO reminder (reminder_id, appointment_id, channel) VALUES (:a, :b, :c)"
    )
    assert (access.inserts, access.reads) == ({"reminder"}, {})


@pytest.mark.parametrize(
    "sql", ["SELECT nothing FROM slot", "SELECT hex(slot_id) FROM slot", "SELECT name FROM sqlite_schema"]
)
def test_what_does_not_prepare_says_why(sql: str) -> None:
    with pytest.raises(WorldError, match="does not prepare"):
        StatementPreparer(a_blueprint()).of(sql)

import pytest

from skillweave.world.lineage import ColumnLineage
from tests.world.clinic import a_blueprint

TOOL = a_blueprint().tool("set_reminders")


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("SELECT is_free, slot_id FROM slot", (True, False)),
        ("SELECT s.is_free AS free FROM slot s", (True,)),
        ("SELECT * FROM fee", (False, False, False, False, True)),
        ("SELECT f.*, f.amount_cents > 5 AS big FROM fee f", (False, False, False, False, True, True)),
        ("SELECT d.x FROM (SELECT is_free AS x FROM slot) d", (True,)),
        ("WITH c (y, z) AS (SELECT price_cents, is_free FROM slot) SELECT y, z FROM c", (False, True)),
        ("SELECT EXISTS (SELECT 1 FROM fee) AS e, count(*) AS n, :wanted AS w, NOT 1 AS b", (True, False, True, True)),
        ("SELECT (SELECT is_paid FROM fee WHERE fee_id = a.note) AS p FROM appointment a", (True,)),
        ("SELECT is_free + 0 AS n FROM slot", (False,)),
        ("SELECT price_cents AS is_free FROM slot", (False,)),
        ("SELECT is_paid FROM fee JOIN slot ON 1", (True,)),
        ("SELECT is_paid AS x FROM fee UNION ALL SELECT is_free FROM slot", (True,)),
        ("SELECT is_paid AS x FROM fee UNION SELECT NULL UNION SELECT 1 = 1", (True,)),
        ("SELECT is_paid AS x FROM fee UNION ALL SELECT price_cents FROM slot", (False,)),
        ("SELECT price_cents AS x, is_free AS y FROM slot UNION SELECT amount_cents, is_paid FROM fee", (False, True)),
        ("SELECT u.x FROM (SELECT is_paid AS x FROM fee UNION SELECT is_free FROM slot) u", (True,)),
        ("SELECT u.x FROM (SELECT is_paid AS x FROM fee UNION SELECT 1) u", (False,)),
        ("WITH c AS (SELECT is_paid AS x FROM fee UNION SELECT 2 > 1) SELECT x, NOT x AS y FROM c", (True, True)),
        ("SELECT d.big FROM (SELECT price_cents > 5000 AS big FROM slot) d", (True,)),
        ("SELECT (SELECT is_paid FROM fee UNION SELECT is_free FROM slot) AS x", (True,)),
        ("SELECT CASE WHEN is_free THEN is_free WHEN 1 THEN price_cents > 0 END AS x FROM slot", (True,)),
        ("SELECT CASE price_cents WHEN 1 THEN is_free ELSE 0 END AS x FROM slot", (False,)),
        ("SELECT iif(price_cents > 1, is_free, NULL) AS x, coalesce(is_free, 1 = 0) AS y FROM slot", (True, True)),
        ("SELECT coalesce(is_free, 0) AS x, NULL AS y FROM slot", (False, False)),
    ],
)
def test_booleans_are_known_by_their_making(select: str, expected: tuple[bool, ...]) -> None:
    assert ColumnLineage(a_blueprint()).booleans(select, TOOL) == expected


def test_result_columns_have_the_names_that_sqlite_gives_them() -> None:
    select = "SELECT f.*, s.slot_id, count(*) AS n FROM fee f JOIN slot s"
    expected = ("fee_id", "patient_id", "appointment_id", "amount_cents", "is_paid", "slot_id", "n")
    assert ColumnLineage(a_blueprint()).columns(select) == expected

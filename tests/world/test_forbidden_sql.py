import pytest

from skillweave.world.forbidden_sql import refused_in
from skillweave.world.lineage import ColumnLineage
from tests.world.clinic import a_blueprint

TEXTS = frozenset({"x"})
CLOCK = [
    "date(substr('nowadays', 1, 3)) > '2025-01-01'",
    "date(CAST('now' AS TEXT)) > '2025-01-01'",
    "julianday('now') > 1",
    "date('NOW ') > 1",
    "datetime(:x) > 1",
    "date(:now, 'localtime') > 1",
    "date(:now, 'utc') > 1",
    "julianday() > 1",
    "unixepoch() > 1",
    "strftime('%s') > 1",
    "CURRENT_TIMESTAMP > 1",
    "current_date > 1",
    "current_time > 1",
    "date('n' || 'ow') > 1",
    "date(lower('NOW')) > 1",
    "date(trim('now ')) > 1",
    "datetime(char(110, 111, 119)) > 1",
    "datetime(substr('xnow', 2)) > 1",
    "datetime(iif(1, 'now', :now)) > 1",
    "datetime(nullif('now', '')) > 1",
    "datetime(CASE WHEN 1 THEN 'now' END) > 1",
    "datetime((SELECT 'now')) > 1",
    "datetime((SELECT starts_at FROM slot UNION SELECT 'now')) > 1",
    "EXISTS (SELECT 1 FROM (SELECT lower('NOW') AS d) q WHERE date(q.d) > 1)",
    "EXISTS (WITH c (d) AS (SELECT lower('NOW')) SELECT 1 FROM c WHERE date(c.d) > 1)",
    "EXISTS (SELECT 1 FROM patient WHERE date(full_name) > 1)",
    "EXISTS (SELECT 1 FROM (SELECT full_name AS d FROM patient) q WHERE date(q.d) > 1)",
    "julianday(max(:x, '2')) > 1",
]
OUTSIDE = [
    "random() > 1",
    "last_insert_rowid() > 1",
    "changes() > 1",
    "total_changes() > 1",
    "load_extension('x')",
    "foo(1)",
    "EXISTS (SELECT 1 FROM sqlite_master)",
    "EXISTS (SELECT 1 FROM pragma_table_info('slot'))",
    "EXISTS (SELECT 1 FROM json_each(:x))",
    "EXISTS (SELECT 1 FROM temp.touched__rows)",
    "EXISTS (SELECT 1 FROM main.slot)",
    "EXISTS (SELECT 1 FROM slot WHERE main.slot.is_free)",
    "EXISTS (SELECT 1 FROM slot INDEXED BY one)",
    "EXISTS (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT * FROM c)",
    "'SLO-0001' IN slot",
    "x'00' = 1",
    "? = 1",
    "?1 = 1",
    "@a = 1",
    "$a = 1",
    "1; DROP TABLE slot",
    "SELECT 1",
    "PRAGMA user_version",
    "ATTACH 'x' AS y",
    "",
    'EXISTS (SELECT 1 FROM appointment WHERE status = "scheduled")',
]
LAWFUL = [
    "date(:now, (CAST(substr(:x, -4) AS INTEGER) * 37) % 330 - 60 || ' days') > '2025-01-01'",
    "date(:now, printf('%+d days', CAST(substr(:x, -4) AS INTEGER))) > '2025-01-01'",
    "datetime(date(:now) || ' 09:' || printf('%02d', 30) || ':00') > '2025-01-01'",
    "(SELECT is_free FROM slot WHERE slot_id = :x)",
    "date(:now, '+' || :n || ' days') > '2025-01-01'",
    "datetime((SELECT starts_at FROM slot WHERE slot_id = :x), '-24 hours') >= :now",
    "EXISTS (SELECT 1 FROM slot s WHERE strftime('%w', s.starts_at) IN ('0', '6'))",
    "julianday(coalesce((SELECT starts_at FROM slot), :now)) - julianday(:now) >= 1",
    "EXISTS (WITH late AS (SELECT starts_at AS at FROM slot) SELECT 1 FROM late WHERE date(late.at) = date(:now))",
    "date(:now, CASE WHEN :x = 'now' THEN '+1 days' ELSE '+2 days' END) > '2025-01-01'",
    "EXISTS (SELECT 1 FROM (SELECT 45 AS late UNION SELECT 90) s WHERE datetime(:now, s.late || ' minutes') > :now)",
    ":x = 'now' AND :x <> 'PRAGMA; random()'",
    "time(:now) BETWEEN '09:00' AND '17:00'",
]


@pytest.mark.parametrize("holds", CLOCK + OUTSIDE)
def test_what_reads_the_outside_is_refused(holds: str) -> None:
    assert refused_in(holds, "expression", ColumnLineage(a_blueprint()), TEXTS)


@pytest.mark.parametrize("holds", LAWFUL)
def test_what_follows_from_its_bindings_and_rows_is_not(holds: str) -> None:
    assert refused_in(holds, "expression", ColumnLineage(a_blueprint()), TEXTS) == []


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM reminder",
        "UPDATE slot SET is_free = 1",
        "INSERT OR REPLACE INTO reminder (reminder_id, appointment_id, channel) VALUES ('a', 'b', 'c')",
        "INSERT OR IGNORE INTO reminder (reminder_id, appointment_id, channel) VALUES ('a', 'b', 'c')",
        "REPLACE INTO reminder VALUES ('a', 'b', 'c')",
        "UPDATE OR IGNORE slot SET is_free = 1 WHERE slot_id = :x",
        "INSERT INTO reminder (reminder_id) VALUES (:x) ON CONFLICT DO NOTHING",
        "DELETE FROM reminder WHERE reminder_id = :x RETURNING reminder_id",
        "INSERT INTO reminder DEFAULT VALUES",
        "UPDATE sqlite_master SET sql = '' WHERE 1",
        "INSERT INTO temp.touched__rows VALUES (1, 2)",
        "CREATE TABLE other (x)",
        "DROP TABLE slot",
        "VACUUM",
        "BEGIN",
        "SELECT 1",
    ],
)
def test_an_effect_is_one_plain_insert_update_or_delete(sql: str) -> None:
    assert refused_in(sql, "change", ColumnLineage(a_blueprint()), TEXTS)


def test_an_effect_may_begin_with_a_table_expression() -> None:
    sql = "WITH c AS (SELECT slot_id AS one FROM slot) DELETE FROM reminder WHERE reminder_id IN (SELECT one FROM c)"
    assert refused_in(sql, "change", ColumnLineage(a_blueprint())) == []

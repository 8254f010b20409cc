import re
from collections import Counter
from collections.abc import Iterator

import pytest

from skillweave.schema.blueprint import Blueprint
from synth.policy.audit import Rule, audit, audit_rule, common_words, rules_of
from synth.policy.wording import stems
from tests.policy.contracts import DOMAINS, a_contract, a_rule

_LITERAL = re.compile(r"'(?P<text>[^']*)'|(?<![\w.:])(?P<number>\d+(?:\.\d+)?)(?![\w.])")


def faults_of(rule: Rule) -> list[str]:
    contract = a_contract()
    return audit_rule(rule, contract, common_words(contract))


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_catalogue_s_sentences_say_what_its_sql_says(domain: str) -> None:
    assert audit(a_contract(domain)) == []


@pytest.mark.parametrize(
    ("says", "sql"),
    [
        ("At least 24 hours must be left.", "(SELECT starts_at FROM slot) >= datetime(:now, '+1 days')"),
        ("Only amounts of at least 15.00 can be paid.", "(SELECT amount_cents FROM invoice) >= 1500"),
        ("The fee is a quarter of the price.", "UPDATE invoice SET amount_cents = ROUND(amount_cents * 0.25)"),
        ("The price falls by 20 %.", "UPDATE invoice SET amount_cents = ROUND(amount_cents * 0.8)"),
        ("The fee is 15 % of it.", "UPDATE invoice SET amount_cents = amount_cents * 15 / 100"),
        ("An appointment is moved at most twice.", "(SELECT moves FROM appointment) < 2"),
        ("A no-show cannot book.", "NOT EXISTS (SELECT 1 FROM appointment WHERE status = 'no_show')"),
        ("A unit is 45 minutes of the slot.", "(SELECT minutes FROM slot) / 45 <= :units"),
        ("Each 45 minutes count as one unit.", "UPDATE slot SET units = (SELECT minutes FROM slot) / 45"),
        (
            "A reservation neither begins nor ends on a Sunday.",
            "strftime('%w', :starts_on) <> '0' AND strftime('%w', :ends_on) <> '0'",
        ),
        (
            "The rate is 85 % of 90 % of the price.",
            "UPDATE invoice SET amount_cents = ROUND(amount_cents * 85 * 90 / 10000.0)",
        ),
        (
            "The company keeps 20 % of a visit, 10 % of a call.",
            "UPDATE invoice SET amount_cents = (SELECT amount_cents * x.kept / 100 FROM (SELECT CASE kind WHEN 'visit' "
            "THEN 20 WHEN 'call' THEN 10 END AS kept FROM slot) x)",
        ),
        ("It is for noon of that day: 12:00.", "UPDATE slot SET starts_at = :starts_on || ' 12:00:00'"),
        ("Only on weekdays.", "CAST(strftime('%w', :starts_on) AS INTEGER) BETWEEN 1 AND 5"),
        ("It lies at most three hours apart.", "(julianday(:now) - julianday('2025-01-01')) * 24 <= 3"),
    ],
)
def test_the_same_in_other_words_is_no_fault(says: str, sql: str) -> None:
    faults = faults_of(a_rule(says, sql))
    assert [fault for fault in faults if "01-01" not in fault] == []


@pytest.mark.parametrize(
    ("says", "sql", "fault"),
    [
        ("48 hours must be left.", "(SELECT starts_at FROM slot) >= datetime(:now, '+24 hours')", "SQL says 1 days"),
        ("At least 50.00.", "(SELECT amount_cents FROM invoice) >= 50", "SQL says 0.50"),
        ("At most 2 moves, 3 for members.", "(SELECT moves FROM appointment) <= 2", "sentence says 3"),
        ("Only open slots.", "EXISTS (SELECT 1 FROM slot WHERE status = 'booked')", "SQL says 'booked'"),
        (
            "Only a booked or open slot.",
            "EXISTS (SELECT 1 FROM slot WHERE status = 'open')",
            "sentence says 'booked'",
        ),
        (
            "A visit costs 5.00 on the essential and 3.00 on the complete plan.",
            "(SELECT CASE care_plan WHEN 'essential' THEN 300 WHEN 'complete' THEN 500 END FROM patient) > :paid_cents",
            "do not stand beside them",
        ),
    ],
)
def test_what_only_one_of_the_two_says_is_named(says: str, sql: str, fault: str) -> None:
    assert any(fault in found for found in faults_of(a_rule(says, sql))), faults_of(a_rule(says, sql))


def test_what_only_makes_the_sql_work_need_not_be_said() -> None:
    sql = (
        "INSERT INTO invoice (invoice_id, amount_cents, paid_cents, status) SELECT :new_id, "
        "COALESCE((SELECT MAX(0, amount_cents) FROM invoice LIMIT 1), 0), 0, 'open' FROM patient "
        "WHERE EXISTS (SELECT 1 FROM slot)"
    )
    assert faults_of(a_rule("The invoice is open.", sql)) == []


def test_a_value_that_is_also_a_word_for_what_records_hold_counts_only_in_a_list_of_values() -> None:
    contract = a_contract()
    common = common_words(contract) | {*stems("open")}
    sql = "EXISTS (SELECT 1 FROM slot WHERE status = 'booked')"
    assert audit_rule(a_rule("Only a booked open slot.", sql), contract, common) == []
    assert audit_rule(a_rule("Only a booked or open slot.", sql), contract, common) != []


def test_booleans_ratios_and_what_is_counted_are_told_as_people_tell_them() -> None:
    half = "(SELECT paid_cents * 100 >= amount_cents * 50 FROM invoice)"
    assert faults_of(a_rule("At least 50 % of the invoice has to be paid.", half)) == []
    assert faults_of(a_rule("At least 60 % of the invoice has to be paid.", half))
    few = "(SELECT COUNT(*) FROM appointment WHERE status = 'no_show') < 3"
    assert faults_of(a_rule("There have to be fewer than 3 others.", few)) == []
    assert faults_of(a_rule("There have to be fewer than 3 cancelled ones.", few))


def test_guards_that_share_a_number_are_one_rule_and_told_in_one_way() -> None:
    once = a_rule("At most 2 or 3.", "(SELECT moves FROM appointment) < 2", "(SELECT moves FROM appointment) < 3")
    assert faults_of(once) == []
    once.add("At most 2 or 3, says another.", "1")
    assert "told in 2 ways" in faults_of(once)[0]


@pytest.mark.parametrize("domain", ["DentalClinic", "CityHotel", "HealthPlan"])
def test_planted_differences_are_caught(domain: str) -> None:
    contract = a_contract(domain)
    common = common_words(contract)
    conditions = {guard.rule for tool in contract.tools for guard in tool.guards}
    tally: dict[bool, Counter[bool]] = {True: Counter(), False: Counter()}
    for rule in rules_of(contract):
        for sql in planted(rule.sql[0], contract):
            found = bool(audit_rule(Rule(rule.number, rule.says, [sql]), contract, common))
            tally[rule.number in conditions][found] += 1
    # What an effect keeps need not be told in its own sentence, nor what is only counted.
    for is_condition, least in ((True, 0.93), (False, 0.7)):
        assert tally[is_condition][True] / tally[is_condition].total() > least
    assert sum(each.total() for each in tally.values()) > 100


def planted(sql: str, contract: Blueprint) -> Iterator[str]:
    """The SQL with each number, duration and enum value replaced by another."""
    for literal in _LITERAL.finditer(sql):
        if not sql[: literal.start()].endswith("EXISTS (SELECT "):
            for other in others(literal, contract):
                yield sql[: literal.start()] + other + sql[literal.end() :]


def others(literal: re.Match[str], contract: Blueprint) -> list[str]:
    if literal["number"]:
        number = float(literal["number"])
        return [f"{number + 1:g}", f"{number * 2 + 3:g}"] if number.is_integer() else [f"{number / 2:g}"]
    span = re.fullmatch(r"([+-]?)(\d+) (\w+)", literal["text"])
    if span:
        return [f"'{span[1]}{int(span[2]) + 1} {span[3]}'", f"'{span[1]}{int(span[2]) * 2} {span[3]}'"]
    enums = [a.enum for entity in contract.tables for a in entity.attributes if a.enum and literal["text"] in a.enum]
    return [f"'{value}'" for value in (enums[0] if enums else []) if value != literal["text"]]

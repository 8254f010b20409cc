import pytest

from synth.policy.cases import CasesOfRule, cases_of
from tests.policy.contracts import DOMAINS, NOW, a_contract, a_guarded_contract

STARTS = (
    "(SELECT s.starts_at FROM appointment v JOIN slot s ON s.slot_id = v.slot_id "
    "WHERE v.appointment_id = :appointment_id)"
)
MINE = "FROM appointment WHERE patient_id = :caller"


def made(holds: str) -> CasesOfRule:
    (found,) = cases_of(a_guarded_contract(holds, "A rule."), NOW)
    return found


def told(holds: str) -> dict[str, bool]:
    return {case.text: case.holds for case in made(holds).cases}


def test_a_deadline_is_told_on_both_of_its_sides() -> None:
    assert told(f"{STARTS} >= datetime(:now, '+24 hours')") == {
        'The slot\'s "starts at" is 24 hours from now.': True,
        'The slot\'s "starts at" is 23 hours from now.': False,
    }


def test_whether_the_limit_itself_counts_is_the_sql_s_word() -> None:
    assert told(f"{STARTS} > datetime(:now, '+24 hours')") == {
        'The slot\'s "starts at" is 25 hours from now.': True,
        'The slot\'s "starts at" is 24 hours from now.': False,
    }


def test_a_state_is_told_with_the_nearest_other_one() -> None:
    found = told("EXISTS (SELECT 1 FROM appointment WHERE appointment_id = :appointment_id AND status = 'scheduled')")
    assert found == {
        'The chosen appointment\'s "status" is scheduled.': True,
        'The chosen appointment\'s "status" is completed.': False,
    }


def test_a_count_tells_what_is_counted() -> None:
    found = told(
        f"(SELECT COUNT(*) {MINE} AND status = 'cancelled' AND cancelled_at >= datetime(:now, '-30 days')) < 2"
    )
    counted = 'The appointment\'s "status" is cancelled; the appointment\'s "cancelled at" is 30 days ago; '
    assert found[counted + "the number of such appointment records is 1."] is True
    assert found[counted + "the number of such appointment records is 2."] is False
    assert found[counted.replace("30 days", "31 days") + "the number of such appointment records is 2."] is True


def test_each_thing_that_decides_has_its_pair() -> None:
    found = told(f"(:reason <> 'travel' OR {STARTS} >= datetime(:now, '+2 days'))")
    assert found['The given "reason" is travel; the slot\'s "starts at" is 2 days from now.'] is True
    assert found['The given "reason" is travel; the slot\'s "starts at" is 1 day from now.'] is False
    assert any(holds and '"reason" is work' in text for text, holds in found.items())


@pytest.mark.parametrize(
    ("holds", "why"),
    [
        ("(SELECT deposit_cents FROM appointment) < (SELECT amount_cents FROM invoice)", "two figures"),
        ("(SELECT SUM(amount_cents) FROM invoice) < 5000", "no"),
        ("EXISTS (SELECT 1 FROM slot s JOIN dentist d ON d.dentist_id = s.dentist_id)", "belong together"),
    ],
)
def test_what_cannot_be_told_by_itself_has_no_case_and_a_reason(holds: str, why: str) -> None:
    found = made(holds)
    assert found.cases == ()
    assert why in found.why_none


@pytest.mark.parametrize("domain", DOMAINS)
def test_most_rules_of_a_contract_have_cases_that_meet_and_break_them(domain: str) -> None:
    found = cases_of(a_contract(domain), NOW)
    with_cases = [rule for rule in found if rule.cases]
    assert len(with_cases) / len(found) > 0.7
    assert all({case.holds for case in rule.cases} == {True, False} for rule in with_cases)


def test_the_cases_are_the_same_each_time() -> None:
    assert cases_of(a_contract("CityHotel"), NOW) == cases_of(a_contract("CityHotel"), NOW)

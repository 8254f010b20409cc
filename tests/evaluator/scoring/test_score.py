from typing import Any

import pytest

from evaluator import score
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message
from skillweave.world.replay import replay
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

WORLD = a_world()
BOOK = GoldenCall(tool="book_appointment", arguments={"slot_id": "SLO-0004", "note": "first visit"})
DROP = GoldenCall(tool="drop_reminder", arguments={"appointment_id": "APT-0001"})
FEE = {
    "fact": "fee",
    "noun": "cancellation fee",
    "values": [1250],
    "type": "integer",
    "unit": "cents",
    "rivals": [3000],
}


def a_booking(**criteria: Any) -> Task:
    golden = [BOOK, DROP]
    state = replay(WORLD, a_task(golden=golden)).changes
    return a_task(golden=golden, criteria={"state": state, "reward_basis": ["state"], **criteria})


def test_the_golden_calls_pass_in_any_order_with_failures_and_reads_between() -> None:
    task = a_booking()
    with WORLD.session(task) as session:
        session.call("drop_reminder", {"appointment_id": "APT-0001"})
        session.call("book_appointment", {"slot_id": "SLO-0002"})
        session.call("list_fees", {})
        session.call("book_appointment", {"slot_id": "SLO-0004", "note": "in other words"})
        found = score(task, session)
    assert found.checks.state is not None
    assert (found.passed, found.reward, found.checks.state.score) == (True, 1.0, 1.0)
    assert found.checks.communicate is None


def test_doing_nothing_fails_and_says_what_is_missing() -> None:
    task = a_booking()
    with WORLD.session(task) as session:
        found = score(task, session)
    assert (found.passed, found.reward) == (False, 0.0)
    assert found.checks.state is not None
    assert found.checks.state.missing == task.criteria.state


def test_an_extra_write_fails_and_is_named() -> None:
    task = a_booking()
    with WORLD.session(task) as session:
        for call in task.golden:
            session.call(call.tool, call.arguments)
        session.call("set_reminders", {"wanted": False})
        found = score(task, session)
    assert found.passed is False
    assert found.checks.state is not None
    assert [change.table for change in found.checks.state.unexpected] == ["patient"]


def test_another_lawful_end_state_passes() -> None:
    other = replay(WORLD, a_task(golden=[DROP])).changes
    task = a_booking(any_of=[other])
    with WORLD.session(task) as session:
        session.call("drop_reminder", {"appointment_id": "APT-0001"})
        assert score(task, session).passed


def test_a_broken_rule_fails_where_the_task_asks_for_rules() -> None:
    again = GoldenCall(tool="book_appointment", arguments={"slot_id": "SLO-0006"})
    state = replay(WORLD, a_task(golden=[BOOK, again])).changes
    for basis, passed in ((["state", "policy"], False), (["state"], True)):
        task = a_task(criteria={"state": state, "reward_basis": basis})
        with WORLD.session(task) as session:
            for call in (BOOK, again):
                session.call(call.tool, call.arguments)
            found = score(task, session)
        assert found.passed is passed
        assert found.checks.policy is not None
        assert found.checks.policy.violations == ["R6 in call 1 (book_appointment)"]


def test_what_needs_words_is_unknown_without_messages() -> None:
    task = a_booking(communicate=[FEE], reward_basis=["state", "communicate"])
    with WORLD.session(task) as session:
        for call in task.golden:
            session.call(call.tool, call.arguments)
        assert (score(task, session).passed, score(task, session).reward) == (None, None)
        told = [Message(role="assistant", content="The cancellation fee is 12.50.")]
        assert score(task, session, told).reward == 0.0
        session.call("list_fees", {})
        assert score(task, session, told).passed is True
        assert score(task, session, []).reward == 0.0


def test_rows_that_were_removed_and_should_not_have_been_fail_and_are_named() -> None:
    task = a_task(
        golden=[BOOK], criteria={"state": replay(WORLD, a_task(golden=[BOOK])).changes, "reward_basis": ["state"]}
    )
    with WORLD.session(task) as session:
        session.call(BOOK.tool, BOOK.arguments)
        assert score(task, session).passed is True
        session.call(DROP.tool, DROP.arguments)
        found = score(task, session)
    assert found.passed is False
    assert found.checks.state is not None
    assert found.checks.state.missing == []
    removed = [(change.table, change.op, change.key) for change in found.checks.state.unexpected]
    assert removed == [("reminder", "delete", {"reminder_id": "REM-0001"})]


@pytest.mark.parametrize("text", ["$new", '{"$new": 1}', '{"$any": true}', "{1}", "*", "null", "APT-0009"])
def test_a_column_whose_values_look_like_placeholders_hides_nothing(text: str) -> None:
    """Names of a patient are data, whatever they look like; only ids that the session minted are renamed."""
    change = {"table": "patient", "op": "update", "key": {"patient_id": "PAT-0001"}}
    demanded = [{**change, "before": {"full_name": "Ana Lopez"}, "after": {"full_name": "Ana Lopez-Diaz"}}]
    task = a_task(criteria={"state": demanded, "reward_basis": ["state"]})
    for name, passes in ((text, False), ("Ana Lopez-Diaz", True)):
        with WORLD.session(task) as session:
            session.execute("UPDATE patient SET full_name = :name WHERE patient_id = 'PAT-0001'", {"name": name})
            found = score(task, session)
            assert found.passed is passes
            assert found.checks.state is not None
            assert [row.after for row in found.checks.state.unexpected] == ([] if passes else [{"full_name": text}])

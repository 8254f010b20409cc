"""The search for plans, on the small clinic: lengths known by hand, bounds that are met, and what must make no odds."""

from collections.abc import Mapping

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json
from skillweave.world.session import ContractSession
from synth.planner.distance import Distance
from synth.planner.plan import Planner, PlanSearchResult
from synth.planner.problem import PlannerBounds, problem_of
from synth.planner.solutions import sign_in
from synth.tasks.criteria import criteria_of
from synth.tasks.replay import run_golden
from tests.gates.clinic_tasks import (
    APPOINTMENTS,
    MOVE,
    OWN_APPOINTMENT,
    SLOT_4,
    SLOTS,
    WORLD,
    a_combination,
    a_move,
    call,
    said,
    value,
)

CANCEL = call(
    "cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"), reason=("illness", "user")
)
FEES = call("list_fees")
PAY = call("pay_fee", fee_id=("FEE-0010", "call 2 [1].fee_id"), amount_cents=(3000, "call 1 fee_cents"))
QUIET = call("set_reminders", wanted=(False, "user"))


def criteria(combination: Combination) -> Criteria:
    """What the golden calls of a combination come to."""
    return criteria_of(WORLD, combination, run_golden(WORLD, combination))


def a_paid_cancellation() -> Combination:
    """Ana cancels, and pays the fee that this costs her: the second write needs what the first makes."""
    minted = run_golden(WORLD, a_combination([APPOINTMENTS, CANCEL])).results[1].minted[0]
    pay = PAY.model_copy(update={"arguments": {"fee_id": minted, "amount_cents": 3000}})
    golden = [APPOINTMENTS, CANCEL, FEES, pay]
    return a_combination(golden, rows=[OWN_APPOINTMENT], values=[value(1, "reason", "illness")])


def a_quiet_move() -> Combination:
    """Ana moves her appointment and wants no reminders any more: two writes that know nothing of each other."""
    return a_move(golden=[APPOINTMENTS, SLOTS, MOVE, QUIET], values=[value(3, "wanted", False)])


def searched(
    combination: Combination,
    bounds: PlannerBounds = PlannerBounds(),  # noqa: B008
    *,
    memo: bool = True,
) -> PlanSearchResult:
    """What the search comes to for what the combination's golden calls reach."""
    problem = problem_of(WORLD, combination, criteria(combination))
    with problem.open() as session:
        sign_in(session, problem)
        before = session.digest(), len(session.results)
        found = Planner(problem, session, bounds, memo=memo).search()
        assert (session.digest(), len(session.results)) == before
        return found


@pytest.mark.parametrize(("combination", "writes"), [(a_move(), 1), (a_quiet_move(), 2), (a_paid_cancellation(), 2)])
def test_the_shortest_plan_has_as_many_writes_as_it_takes_by_hand(combination: Combination, writes: int) -> None:
    found = searched(combination)
    assert (found.status, found.depth, len(found.distinct)) == ("proved", writes, 1)
    kinds = {call.tool: WORLD.blueprint.tool(call.tool).kind for call in combination.golden}
    assert sorted(move.tool for move in found.plans[0]) == sorted(tool for tool in kinds if kinds[tool] == "write")


def test_writes_that_commute_are_one_solution_in_two_orders() -> None:
    found = searched(a_quiet_move())
    assert (len(found.plans), len(found.distinct)) == (2, 1)
    assert len(searched(a_paid_cancellation()).plans) == 1


def test_the_bound_on_expansions_leaves_it_undecided_and_never_unsolvable() -> None:
    whole = searched(a_quiet_move()).expansions
    for most in (0, 1, whole // 2, whole - 1):
        found = searched(a_quiet_move(), PlannerBounds(expansions=most))
        assert (found.status, found.plans) == ("undecided", [])
        assert found.expansions == most
    assert searched(a_quiet_move(), PlannerBounds(expansions=whole)).status == "proved"


def test_a_plan_longer_than_the_bound_on_calls_is_not_reached() -> None:
    assert searched(a_quiet_move(), PlannerBounds(calls=1)).status == "not_reached"


@pytest.mark.parametrize("combination", [a_move(), a_quiet_move(), a_paid_cancellation()])
def test_the_memo_and_the_time_of_day_make_no_odds(combination: Combination) -> None:
    one, again, without = searched(combination), searched(combination), searched(combination, memo=False)
    assert one == again
    assert (one.plans, one.status, one.depth) == (without.plans, without.status, without.depth)


@pytest.mark.parametrize("combination", [a_move(), a_quiet_move(), a_paid_cancellation()])
def test_last_calls_that_no_end_has_are_dead_ends_without_being_made(
    combination: Combination, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []
    may_end = Distance.may_end

    def counted(distance: Distance, tool: str, arguments: Mapping[str, Json], session: ContractSession) -> bool:
        may = may_end(distance, tool, arguments, session)
        refused.extend([] if may else [tool])
        return may

    monkeypatch.setattr(Distance, "may_end", counted)
    found = searched(combination)
    monkeypatch.setattr(Distance, "may_end", lambda *_: True)
    assert searched(combination) == found
    assert "move_appointment" in refused or combination != a_move()


def test_the_problem_is_the_same_whatever_the_golden_calls_are() -> None:
    whole = a_quiet_move()
    nonsense = whole.model_copy(update={"golden": [FEES], "steps": [0]})
    wanted = criteria(whole)
    one, other = (problem_of(WORLD, combination, wanted) for combination in (whole, nonsense))
    assert one == other


def test_what_nobody_says_and_no_read_shows_is_in_no_plan() -> None:
    unsaid = a_paid_cancellation().model_copy(update={"hidden": ["list_fees"]})
    wanted = criteria(a_paid_cancellation())
    problem = problem_of(WORLD, unsaid, wanted)
    with problem.open() as session:
        assert Planner(problem, session, PlannerBounds(calls=3)).search().status == "not_reached"


def test_an_unlawful_plan_is_none() -> None:
    soon = said(1, "slot_id", "Slot", "SLO-0001", "find_slots", starts_at="2025-01-20 11:30:00")
    slots = [
        call("book_appointment", slot_id=(f"SLO-000{number}", f"call 0 [{row}].slot_id"))
        for row, number in enumerate((1, 3))
    ]
    twice = a_combination([SLOTS, *slots], rows=[soon, SLOT_4])
    made = run_golden(WORLD, twice)
    assert made.succeeded
    assert not made.lawful
    assert searched(twice, PlannerBounds(calls=2)).status == "not_reached"

"""Step-level truth: the best next calls and the cost to go, along the golden calls and off the shortest way."""

from synth.planner.problem import PlannerBounds
from synth.planner.solutions import step_truth
from tests.gates.clinic_tasks import APPOINTMENTS, MOVE, SLOTS, WORLD, a_combination, a_move
from tests.planner.test_plan import FEES, QUIET, a_paid_cancellation, a_quiet_move, criteria


def test_the_cost_falls_by_one_with_each_golden_call_and_ends_at_nothing() -> None:
    for combination in (a_move(), a_quiet_move(), a_paid_cancellation()):
        truth = step_truth(WORLD, combination, criteria(combination), "x")
        assert truth is not None
        assert [step.cost_to_go for step in truth.steps] == [*reversed(range(len(combination.golden) + 1))]
        assert truth.steps[-1].optimal == []
        for step, made in zip(truth.steps, combination.golden, strict=False):
            assert (made.tool, made.arguments) in [(call.tool, call.arguments) for call in step.optimal]


def test_a_call_that_does_not_help_is_not_optimal_and_saves_nothing() -> None:
    detour = a_move(golden=[APPOINTMENTS, SLOTS, FEES, MOVE])
    truth = step_truth(WORLD, detour, criteria(a_move()), "x")
    assert truth is not None
    assert [step.cost_to_go for step in truth.steps] == [3, 2, 1, 1, 0]
    assert "list_fees" not in {call.tool for call in truth.steps[2].optimal}


def test_either_of_two_independent_writes_may_come_first() -> None:
    truth = step_truth(WORLD, a_quiet_move(), criteria(a_quiet_move()), "x")
    assert truth is not None
    assert {call.tool for call in truth.steps[2].optimal} == {MOVE.tool, QUIET.tool}


def test_an_undecided_step_tells_nothing() -> None:
    truth = step_truth(WORLD, a_move(), criteria(a_move()), "x", PlannerBounds(expansions=1))
    assert truth is not None
    assert {(step.status, step.cost_to_go, len(step.optimal)) for step in truth.steps[:3]} == {("undecided", None, 0)}


def test_kinds_without_an_end_state_have_no_truth() -> None:
    assert step_truth(WORLD, a_combination([], kind="refuse", steps=[]), criteria(a_move()), "x") is None

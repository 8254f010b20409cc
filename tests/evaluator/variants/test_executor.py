from evaluator.variants.executor import VariantExecutor
from skillweave.schema.criteria import GoldenCall
from tests.evaluator.trials import a_golden, a_task_of
from tests.world.clinic import a_world

WORLD = a_world()
GOLDEN = [
    a_golden("book_appointment", slot_id="SLO-0004"),
    GoldenCall(
        tool="find_slots",
        arguments={"date": "2025-01-22"},
        grounding={"date": "computed date(call 0 starts_at)"},
    ),
    GoldenCall(
        tool="move_appointment",
        arguments={"appointment_id": "APT-0009", "slot_id": "SLO-0006"},
        grounding={"appointment_id": "call 0 appointment_id", "slot_id": "call 1 [0].slot_id"},
    ),
]


def test_a_call_depends_on_those_whose_results_it_takes_values_or_days_from() -> None:
    executor = VariantExecutor(WORLD, a_task_of(WORLD, *GOLDEN[:2]))
    assert (executor.depends_on(0), executor.depends_on(1)) == (set(), {0})


def test_a_day_that_comes_from_a_call_left_out_keeps_its_value_and_a_minted_id_does_not() -> None:
    executor = VariantExecutor(WORLD, a_task_of(WORLD, *GOLDEN))
    left = executor.execute(executor.calls[1:])
    assert [made.call.tool for made in left.steps] == ["find_slots"]
    assert left.steps[0].arguments == {"date": "2025-01-22"}
    assert left.unexecuted == [2]

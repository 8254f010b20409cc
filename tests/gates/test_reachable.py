"""The planner as a gate: its figures, what it rejects, and what it says of requests that must not be met."""

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.criteria import Criteria, FactToTell
from skillweave.schema.record import Json
from synth.gates.reachable import bounds_in, check_reachable
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds
from synth.tasks.replay import Rejected
from tests.gates.clinic_tasks import (
    APPOINTMENTS,
    MOVE,
    OWN_APPOINTMENT,
    SLOTS,
    WORLD,
    a_combination,
    a_move,
    call,
    judged,
)
from tests.planner.test_plan import FEES, QUIET, a_paid_cancellation, a_quiet_move, criteria

EMAIL, BORN = "ana@example.com", "1981-03-01"
IDENTIFY = call("identify_patient", email=(EMAIL, "user"), date_of_birth=(BORN, "user"))


@pytest.mark.parametrize(("combination", "calls"), [(a_move(), 3), (a_quiet_move(), 4), (a_paid_cancellation(), 4)])
def test_the_shortest_solution_counts_the_reads_that_it_needs(combination: Combination, calls: int) -> None:
    figure = check_reachable(WORLD, combination, criteria(combination))
    assert (figure["status"], figure["calls"], figure["solutions"]) == ("proved", calls, 1)
    assert "longer_because" not in figure
    assert figure["bounds"] == {"calls": DEFAULT_BOUNDS.calls, "expansions": DEFAULT_BOUNDS.expansions}


def test_tools_that_no_shortest_solution_calls_are_irrelevant() -> None:
    figure = check_reachable(WORLD, a_move(), criteria(a_move()))
    used = {"find_slots", "list_appointments", "move_appointment", "identify_patient"}
    assert figure["irrelevant_tools"] == [tool.name for tool in WORLD.blueprint.tools if tool.name not in used]


def test_signing_in_is_a_call_of_the_solution() -> None:
    moved = MOVE.model_copy(
        update={"grounding": {"appointment_id": "call 1 [0].appointment_id", "slot_id": "call 2 [2].slot_id"}}
    )
    rows = [row.model_copy(update={"call": 3}) for row in a_move().rows]
    credentials = {"email": EMAIL, "date_of_birth": BORN}
    golden = [IDENTIFY, APPOINTMENTS, SLOTS, moved]
    unknown = a_move(golden=golden, rows=rows, login="conversation", credentials=credentials)
    assert check_reachable(WORLD, unknown, criteria(unknown))["calls"] == 4


def test_golden_writes_that_one_write_can_do_are_rejected() -> None:
    first = MOVE.model_copy(update={"arguments": {"appointment_id": "APT-0001", "slot_id": "SLO-0003"}})
    first = first.model_copy(update={"grounding": {"appointment_id": "call 0 [0].appointment_id"}})
    detour = a_move(golden=[APPOINTMENTS, SLOTS, first, MOVE])
    with pytest.raises(Rejected, match="longer than need be"):
        check_reachable(WORLD, detour, criteria(detour))


def test_golden_reads_that_are_not_needed_are_explained() -> None:
    again = a_move(golden=[APPOINTMENTS, SLOTS, QUIET, APPOINTMENTS, MOVE])
    assert "reads again" in str(check_reachable(WORLD, again, criteria(again))["longer_because"])


def test_what_is_to_be_told_has_to_be_found() -> None:
    fee = FactToTell(fact="told_1", noun="fee", values=[1250], type="integer", unit="cents")
    asked = a_combination([FEES], kind="inform", communicate=[fee])
    wanted = Criteria(state=[], communicate=[fee], reward_basis=["communicate"])
    figure = check_reachable(WORLD, asked, wanted)
    assert (figure["status"], figure["writes"], figure["calls"]) == ("proved", 0, 1)
    blind = asked.model_copy(update={"hidden": ["list_fees"]})
    assert check_reachable(WORLD, blind, wanted)["status"] == "not_reached"


def test_what_is_not_reached_says_why() -> None:
    figure = check_reachable(WORLD, a_move(hidden=["find_slots"]), criteria(a_move()))
    assert figure["status"] == "not_reached"
    assert "find_slots" in str(figure["why"])
    undecided = check_reachable(WORLD, a_move(), criteria(a_move()), PlannerBounds(expansions=3))
    assert (undecided["status"], undecided["expansions"]) == ("undecided", 3)


def test_a_forbidden_change_is_lawfully_out_of_reach_and_a_permitted_one_is_rejected() -> None:
    slot = call("book_appointment", slot_id=("SLO-0003", "call 0 [1].slot_id"))
    looked = [SLOTS, call("book_appointment", slot_id=("SLO-0001", "call 0 [0].slot_id"))]
    refusal = {"kind": "refuse", "rows": [OWN_APPOINTMENT], "forbidden": ["R6"]}
    second = slot.model_copy(update={"grounding": {"slot_id": "call 0 [1].slot_id"}})
    wanted = Criteria(state=[], reward_basis=["state"])
    allowed = a_combination([SLOTS], asked=looked[1], **refusal)
    with pytest.raises(Rejected, match="forbidden and lawful"):
        check_reachable(WORLD, allowed, wanted)
    late = call("cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"))
    over = a_combination([APPOINTMENTS], asked=late, now="2025-01-21 09:00:00", **{**refusal, "forbidden": ["R10"]})
    assert check_reachable(WORLD, over, wanted)["status"] == "never"
    taken = second.model_copy(update={"arguments": {"slot_id": "SLO-0002"}, "grounding": {"slot_id": "user"}})
    assert check_reachable(WORLD, a_combination([SLOTS], asked=taken, **refusal), wanted)["status"] == "skipped"


def test_what_no_tool_does_is_shown_by_effects() -> None:
    nothing = Criteria(state=[], reward_basis=["state"])
    assert check_reachable(WORLD, a_combination([], kind="unavailable", steps=[]), nothing) == {"status": "by effects"}


def test_the_gates_record_the_figure_and_its_bounds() -> None:
    figure = judged(a_move()).gates.planner
    assert figure["status"] == "proved"
    assert bounds_in(figure) == DEFAULT_BOUNDS
    assert bounds_in({}) == DEFAULT_BOUNDS


@pytest.mark.parametrize("number", [10**12, 0, -1, True, 1.5, "9", None])
def test_bounds_on_record_that_no_configuration_allows_are_refused(number: Json) -> None:
    with pytest.raises(Rejected, match="bounds of the planner"):
        bounds_in({"bounds": {"calls": 2, "expansions": number}})

"""Which rules tasks exercise, found by replay."""

from typing import Any

from skillweave.schema.reports import RuleCoverage, TemplateWithoutTasks
from skillweave.schema.task import Task
from skillweave.world.world import World
from synth.reports.rule_coverage import coverage_faults, rules_covered
from tests.evaluator.tasks import a_task
from tests.gates.clinic_tasks import APPOINTMENTS, MOVE, SLOTS, WORLD, a_template, call
from tests.gates.services import PAID_FIRST, world

CANCEL = call("cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"))
OF_THE_AGENT = PAID_FIRST.model_copy(update={"enforced_by": "agent"})
BAN: dict[str, Any] = {"rule": "R10", "table": "appointment", "why": "Appointments can be cancelled up to 24 hours."}


def a_move(**changes: Any) -> Task:
    return a_task(**{"id": "moved", "golden": [APPOINTMENTS, SLOTS, MOVE], **changes})


def a_refusal(**changes: Any) -> Task:
    criteria = {"state": [], "must_not": [BAN], "reward_basis": ["state", "policy"]}
    return a_task(**{"id": "refused", "kind": "refuse", "golden": [APPOINTMENTS], "criteria": criteria, **changes})


def covered(*tasks: Task, **more: Any) -> dict[str, RuleCoverage]:
    return {one.rule: one for one in rules_covered(WORLD, tasks, **more)}


def test_guards_of_a_call_that_went_through_are_kept() -> None:
    rules = covered(a_move())
    assert rules["R2"].kept_by == ["moved"]
    assert "move_appointment" in rules["R2"].tools
    assert rules["R10"].kept == 0


def test_an_effect_is_kept_where_it_changed_a_row() -> None:
    early = {"CURRENT_DATE": "2025-01-10", "LOGGED_IN_USER": "PAT-0001", "LOGGED_IN_NAME": "Ana Lopez"}
    cancelled = a_task(id="cancelled", golden=[APPOINTMENTS, CANCEL], now="2025-01-10 09:00:00", env_variables=early)
    rules = covered(cancelled)
    assert rules["R12"].kept_by == ["cancelled"]
    # So early there is no fee.
    assert (rules["R13"].kept, rules["R13"].held_by) == (0, "effect")
    assert rules["R13"].why is not None
    assert "no call of cancel_appointment changes a row by it" in rules["R13"].why


def test_a_refusal_breaks_its_rule_and_keeps_none() -> None:
    rules = covered(a_refusal())
    assert rules["R10"].broken_by == ["refused"]
    assert sum(one.kept for one in rules.values()) == 0


def test_leaving_out_a_demanded_call_breaks_the_rule_that_demands_it() -> None:
    gates = {**a_move().gates.model_dump(), "interlock": {"demanded": {"R3": [2]}, "crossings": [{"rule": "R4"}]}}
    rules = covered(a_move(gates=gates))
    assert (rules["R3"].broken, rules["R4"].broken, rules["R5"].broken) == (1, 1, 0)


def test_what_is_not_exercised_has_its_reason() -> None:
    template = a_template(id="SmallClinic/refuse_cancel_appointment_R10", kind="refuse", forbidden="R10")
    lacking = [TemplateWithoutTasks(template=template.id, reason="cannot be known")]
    rules = covered(a_move(), templates=[template], lacking=lacking)
    assert all(one.why for one in rules.values() if not (one.kept and one.broken))
    assert rules["R10"].why == "not kept: no task carries out cancel_appointment; not broken: cannot be known"
    assert covered(a_move(), templates=[template])["R10"].why != rules["R10"].why


def test_the_record_is_proven_again_from_the_tasks() -> None:
    tasks = [a_move(), a_refusal()]
    recorded = rules_covered(WORLD, tasks)
    assert coverage_faults(WORLD, tasks, recorded) == []
    assert coverage_faults(WORLD, [a_move()], recorded) == ["rule R10 is not kept and broken by the tasks on record"]
    unsaid = [one.model_copy(update={"why": None}) for one in recorded]
    assert any("nothing says why" in fault for fault in coverage_faults(WORLD, tasks, unsaid))
    assert coverage_faults(WORLD, tasks, recorded[1:]) == [f"rule {recorded[0].rule} is not on record"]


ALONE = "no task has a call that it alone demands"


def why(joined: World, **more: Any) -> str | None:
    """Why the bridge rule of a joined world is not exercised by its tasks: there are none."""
    return {one.rule: one for one in rules_covered(joined, [], **more)}["B1"].why


def not_broken(reason: str) -> str:
    return f"not kept: no task carries out insurer__claim_back; not broken: {ALONE}, {reason}"


def test_a_bridge_rule_of_a_tool_is_not_broken_since_the_tool_declines() -> None:
    assert why(world("Clinic", "Insurer", bridges=[PAID_FIRST])) == not_broken("the tool declines what it forbids")


def test_a_bridge_rule_that_leaves_a_domain_out_is_not_broken_for_that() -> None:
    joined = world("Clinic", "Courier", "Insurer", bridges=[OF_THE_AGENT])
    assert why(joined) == not_broken("it does not join all companies")


def test_a_bridge_rule_whose_requests_were_lacking_is_not_broken_for_the_same_reason() -> None:
    joined = world("Clinic", "Insurer", bridges=[OF_THE_AGENT])
    tried = [a_template(id=f"refuse_{number}", kind="refuse", forbidden="B1") for number in range(2)]
    lacking = [TemplateWithoutTasks(template=one.id, reason="lawful after another call") for one in tried]
    assert why(joined, templates=tried, lacking=lacking) == not_broken("lawful after another call")
    lacking[1] = TemplateWithoutTasks(template=tried[1].id, reason="nobody is in all domains")
    both = not_broken("lawful after another call, nobody is in all domains")
    assert why(joined, templates=tried, lacking=lacking) == both
    untold = not_broken("the tasks that would break it were left out when they were put into words")
    assert why(joined, templates=tried) == untold


def test_a_bridge_rule_that_is_broken_lacks_no_more_than_keeping() -> None:
    joined = world("Clinic", "Insurer", bridges=[OF_THE_AGENT])
    ban = {**BAN, "rule": "B1"}
    criteria = {"state": [], "must_not": [ban], "reward_basis": ["state", "policy"]}
    task = a_task(id="refused", kind="refuse", criteria=criteria)
    (found,) = [one for one in rules_covered(joined, [task]) if one.rule == "B1"]
    assert (found.broken_by, found.why) == (["refused"], "not kept: no task carries out insurer__claim_back")


def test_a_rule_that_joins_all_companies_is_not_said_to_leave_one_out() -> None:
    joined = world("Clinic", "Insurer", bridges=[OF_THE_AGENT])
    assert why(joined) != not_broken("it does not join all companies")

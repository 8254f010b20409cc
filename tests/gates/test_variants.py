"""Wrong trajectories that pass, and right ones that fail: a verifier broken on purpose is noticed by the gate."""

from collections.abc import Callable
from typing import Any

import pytest

from evaluator.checks import CHECKS
from evaluator.checks.state import check_state
from evaluator.replay.trial import Trial
from skillweave.schema.combination import Combination
from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import Criteria
from skillweave.schema.score import CommunicateCheck, PolicyCheck, StateCheck
from skillweave.schema.task import Task
from synth.gates.judging import CombinationJudge
from synth.gates.variants import check_variants, conduct_of, draw_variants, keeping_conduct, tried_conduct
from synth.tasks.replay import Rejected
from tests.evaluator.trials import replace_check
from tests.evaluator.variants.clinic import every_task
from tests.evaluator.variants.test_variants import variants
from tests.gates.clinic_tasks import (
    APPOINTMENTS,
    MOVE,
    OWN_APPOINTMENT,
    RULES,
    SLOTS,
    WORLD,
    a_combination,
    a_move,
    a_template,
    call,
    judged,
    value,
)

Rows = Callable[[list[RowChange]], list[RowChange]]


def task_of(name: str) -> Task:
    return next(task for task in every_task() if task.id == f"SmallClinic-{name}")


def a_cancellation() -> Combination:
    golden = call(
        "cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"), reason=("illness", "user")
    )
    rows = [OWN_APPOINTMENT.model_copy(update={"call": 1})]
    return a_combination([APPOINTMENTS, golden], rows=rows, values=[value(1, "reason", "illness")])


def a_drop() -> Combination:
    golden = call("drop_reminder", appointment_id=("APT-0001", "call 0 [0].appointment_id"))
    return a_combination([APPOINTMENTS, golden], rows=[OWN_APPOINTMENT.model_copy(update={"call": 1})])


def seen_through(rows: Rows) -> Callable[[Trial], StateCheck]:
    """A state check to which both sides look as `rows` makes them."""

    def check(trial: Trial) -> StateCheck:
        criteria = trial.task.criteria
        seen = criteria.model_copy(update={"state": rows(criteria.state)})
        return check_state(seen, rows(trial.execution.changes), trial.comparison)

    return check


def without_deletes(changes: list[RowChange]) -> list[RowChange]:
    return [change for change in changes if change.op != "delete"]


def without_reason(changes: list[RowChange]) -> list[RowChange]:
    def seen(change: RowChange) -> RowChange:
        after = {name: cell for name, cell in (change.after or {}).items() if name != "cancel_reason"}
        return change.model_copy(update={"after": after or None})

    return [seen(change) for change in changes]


def without_values(changes: list[RowChange]) -> list[RowChange]:
    return [RowChange(table=change.table, op=change.op, key={}, before=None, after=None) for change in changes]


def rejected(combination: Combination) -> str:
    with pytest.raises(Rejected) as found:
        judged(combination)
    return str(found.value)


def test_a_sound_task_has_its_figures() -> None:
    gates = judged(a_move()).gates
    mutants: Any = gates.mutants
    equivalents: Any = gates.equivalents
    assert mutants["made"] == mutants["killed"] == sum(mutants["sorts"].values()) >= 6
    assert equivalents["made"] == equivalents["passed"] == sum(equivalents["sorts"].values()) >= 6
    assert {"write_left_out", "wrong_time", "extra_write", "nothing"} <= mutants["sorts"].keys()
    assert {"golden", "extra_reads", "failed_then_right"} <= equivalents["sorts"].keys()
    assert equivalents["open_arguments"] == 0, "the figures of the gate before stay"


@pytest.mark.parametrize("task", every_task(), ids=lambda task: task.id)
def test_every_sort_is_there_and_none_more_often_than_asked(task: Task) -> None:
    whole, few = check_variants(WORLD, task, most=99), check_variants(WORLD, task, most=1)
    for all_of, some in zip(whole, few, strict=True):
        sorts: Any = some["sorts"]
        assert sorts.keys() == dict(all_of)["sorts"].keys()  # type: ignore[union-attr]
        assert {*sorts.values()} <= {1}


def test_what_is_drawn_depends_on_the_task_alone() -> None:
    listed = [variant for found in variants("batch").values() for variant in found]
    task = task_of("batch")
    assert draw_variants(task, listed, 1) == draw_variants(task, listed, 1)
    others = [draw_variants(task.model_copy(update={"id": f"Other-{number}"}), listed, 1) for number in range(8)]
    assert any(other != draw_variants(task, listed, 1) for other in others)


def test_a_state_check_that_ignores_deletes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(a_drop()).criteria.state[0].op == "delete"
    replace_check(monkeypatch, "state", seen_through(without_deletes))
    assert rejected(a_drop()).startswith("mutant passes: ")


def test_a_state_check_that_ignores_a_column_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(a_cancellation()).gates.mutants["killed"]
    replace_check(monkeypatch, "state", seen_through(without_reason))
    assert rejected(a_cancellation()) == "mutant passes: wrong_value"


def test_a_state_check_that_takes_any_argument_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_check(monkeypatch, "state", seen_through(without_values))
    assert rejected(a_move()) in ("mutant passes: wrong_time", "mutant passes: wrong_row")


def test_a_state_check_that_passes_whatever_was_done_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_check(monkeypatch, "state", lambda _: StateCheck(score=1))
    assert rejected(a_move()).startswith("mutant passes: ")


def test_a_state_check_that_wants_the_very_calls_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(trial: Trial) -> StateCheck:
        return StateCheck(score=float(len(trial.execution.calls) == len(trial.task.golden)))

    replace_check(monkeypatch, "state", check)
    assert rejected(a_move()).startswith(("mutant passes: ", "equivalent fails: "))


def test_a_check_of_words_that_is_content_with_the_value_anywhere_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(trial: Trial) -> CommunicateCheck:
        said = " ".join(message.content or "" for message in trial.messages)
        return CommunicateCheck(score=float("60" in said))

    task = task_of("price")
    assert check_variants(WORLD, task).mutants["made"]
    replace_check(monkeypatch, "communicate", check)
    with pytest.raises(Rejected, match="mutant passes"):
        check_variants(WORLD, task)


def test_criteria_that_the_golden_calls_do_not_meet_are_noticed() -> None:
    task = task_of("move")
    lost = task.model_copy(update={"criteria": Criteria(state=[], reward_basis=["state"])})
    with pytest.raises(Rejected, match="equivalent fails"):
        check_variants(WORLD, lost)


def test_what_a_judge_would_say_is_left_out() -> None:
    task = task_of("move")
    judged_by = task.criteria.model_copy(update={"reward_basis": [*task.criteria.reward_basis, "rubric"]})
    assert check_variants(WORLD, task.model_copy(update={"criteria": judged_by})) == check_variants(WORLD, task)


def test_a_check_of_refusals_that_accepts_silence_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = check_variants(WORLD, task_of("late")).mutants
    assert found["sorts"]["nothing"] == 1

    def check(trial: Trial) -> PolicyCheck:
        """Content with everybody who breaks no rule."""
        return PolicyCheck(score=float(not any(step.result.violations for step in trial.execution.calls)))

    replace_check(monkeypatch, "policy", check)
    with pytest.raises(Rejected, match="mutant passes"):
        check_variants(WORLD, task_of("late"))


def test_a_check_of_refusals_that_is_content_with_any_record_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(trial: Trial) -> PolicyCheck:
        return PolicyCheck(score=float(any(step.tool == "decline_request" for step in trial.execution.calls)))

    replace_check(monkeypatch, "policy", check)
    with pytest.raises(Rejected, match="mutant passes: wrong_rule"):
        check_variants(WORLD, task_of("late"))


@pytest.mark.parametrize("name", ["move", "price", "why", "no_tool_session"])
def test_a_check_that_lets_needless_declines_pass_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sound = CHECKS["policy"]

    def check(trial: Trial) -> PolicyCheck:
        found = sound.record(trial)
        assert isinstance(found, PolicyCheck)
        kept = [fault for fault in found.violations if not fault.startswith("recorded")]
        return PolicyCheck(score=float(not kept), violations=kept)

    replace_check(monkeypatch, "policy", check)
    with pytest.raises(Rejected, match=r"mutant passes: (declined|handed_over)"):
        check_variants(WORLD, task_of(name))


def test_conduct_is_tried_once_for_templates_that_ask_for_the_same() -> None:
    templates = [
        a_template(calls=[{"tool": "move_appointment"}]).model_copy(update={"id": id}) for id in ("W/a", "W/b")
    ]
    judge = CombinationJudge(WORLD, templates, RULES)
    move, drop = (a_move().model_copy(update={"template": id}) for id in ("W/a", "W/b"))
    one, other = (judge.validated(combination) for combination in (move, drop))
    assert [tried_conduct(task.gates) for task in (one, other)] == [True, False]
    assert conduct_of(a_cancellation(), WORLD.blueprint) != conduct_of(a_move(), WORLD.blueprint)


def test_the_task_with_which_conduct_was_tried_is_not_left_out_before_others() -> None:
    judge = CombinationJudge(WORLD, [a_template(calls=[{"tool": "move_appointment"}])], RULES)
    passed = [judge.validated(a_move().model_copy(update={"id": id})) for id in ("T/0", "T/1", "T/2")]
    assert keeping_conduct(passed, {"T/0", "T/1"}, WORLD.blueprint) == {"T/1", "T/2"}
    assert keeping_conduct(passed, {"T/2"}, WORLD.blueprint) == {"T/2"}
    assert keeping_conduct(passed, {"T/0", "T/1", "T/2"}, WORLD.blueprint) == {"T/0", "T/1", "T/2"}


def test_conduct_is_tried_with_the_first_task_of_a_template_that_passes() -> None:
    template = a_template(calls=[{"tool": "move_appointment"}])
    judge = CombinationJudge(WORLD, [template], RULES)
    with pytest.raises(Rejected):
        judge.validated(a_move(golden=[APPOINTMENTS, SLOTS, MOVE, SLOTS], steps=[2]))
    one, other = (judge.validated(a_move()).gates for _ in range(2))
    assert (one.mutants["conduct"], other.mutants["conduct"]) == (True, False)
    first, second = (gates.mutants["sorts"] for gates in (one, other))
    assert {"nothing", "declined_and_done"} <= {*dict(first)}  # type: ignore[arg-type]
    assert {"write_left_out", "wrong_time"} <= {*dict(second)}  # type: ignore[arg-type]
    assert not {"nothing", "declined_and_done"} & {*dict(second)}  # type: ignore[arg-type]

"""Variants: what they are made of, and that what is expected of them is true."""

import copy
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.replay.trial import RecordedTrajectory, read_trajectory
from evaluator.scoring.selftest import recorded, trajectory_line, variants_of
from evaluator.variants.conversation import Variant
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.schema.trajectory import ToolCall
from skillweave.world.canonical import canonical
from skillweave.world.compare import compare
from skillweave.world.replay import violations
from skillweave.world.tools import name_of, namespaces_of, plain_name, read_call
from skillweave.world.world import World
from tests.evaluator.variants.clinic import dataset_of, every_task
from tests.rollout.offline_agents.clinic import WORLD, fact, made
from tests.world.clinic import a_world, blueprint_data

_OF_VALUES = """told_nothing told_in_thought told_in_call told_by_user told_before_known neighbour_value all_candidates
other_value right_then_another"""
_RIGHT = """golden fact_formats reordered_writes same_outcome parallel prefixed_names object_arguments extra_reads
failed_then_right another_accepted_rule all_accepted_rules recorded_twice recorded_at_once handed_over_with_rule
refused_by_the_tool tried_first other_summary user_wants_human asked told_unasked agreed agreed_in_the_end"""
_OF_RECORDS = """wrong_rule wrong_rule_beside every_rule only_said claimed_done no_such_rule recorded_early
recorded_in_silence handed_over_without_rule handed_over_with_other_rule handed_over_early invented_transfer
wrong_reason human_not_wanted handed_over_by_rule declined_and_handed_over never_told asked_in_vain
agreed_to_other_words agreed_to_a_thought agreed_to_the_next agreed_too_late proposed_and_refused proposed_only
told_too_late"""
_BY_CALLS = """nothing handed_over out_of_turns looped malformed_calls write_left_out delete_left_out half_batch
wrong_row wrong_value wrong_time extra_write undone broken_rule declined declined_and_done declined_by_every_rule"""
_BY_CHANGES = "done_anyway done_and_recorded changed_something_else done_instead guessed"
OF_RECORDS = frozenset([*_OF_VALUES.split(), *_OF_RECORDS.split()])
"""Variants that fail although all calls that change something are right."""
SORTS = OF_RECORDS | frozenset([*_RIGHT.split(), *_BY_CALLS.split(), *_BY_CHANGES.split()])


def task_of(name: str) -> Task:
    return next(task for task in every_task() if task.id == f"SmallClinic-{name}")


def variants(name: str) -> dict[str, list[Variant]]:
    found: dict[str, list[Variant]] = defaultdict(list)
    for variant in variants_of(WORLD, task_of(name)):
        found[variant.name].append(variant)
    return found


def calls_of(variant: Variant) -> Iterator[tuple[str, dict[str, Json] | None]]:
    for message in variant.messages:
        for call in message.tool_calls or ():
            yield call.function.name, read_call(call).arguments


def reaches_goal(world: World, task: Task, variant: Variant) -> tuple[bool, list[str]]:
    """Whether the calls, made again, lead to the golden end state; and the rules that they break."""
    with world.session(task) as session:
        offered = frozenset(map(name_of, session.tools))
        for name, arguments in calls_of(variant):
            if arguments is not None:
                session.call(plain_name(name, offered, namespaces_of(task)), arguments)
        changes = canonical(session.diff(), session.minted)
        return compare(task.criteria.state, changes, world.comparison).is_empty, violations(session.results)


@pytest.mark.parametrize("task", every_task(), ids=lambda task: task.id)
def test_what_is_expected_is_true_by_execution(task: Task) -> None:
    for variant in variants_of(WORLD, task):
        reached, broken = reaches_goal(WORLD, task, variant)
        if variant.passes:
            assert reached, variant.name
            assert not broken, variant.name
        elif variant.name in OF_RECORDS:
            assert reached, variant.name
        elif variant.name in _BY_CHANGES.split():
            assert not reached, variant.name


def test_every_sort_applies_somewhere() -> None:
    found = {variant.name for task in every_task() for variant in variants_of(WORLD, task)}
    assert found >= SORTS


def test_the_same_task_gives_the_same_variants() -> None:
    for task in every_task():
        one, other = [list(variants_of(WORLD, task)) for _ in range(2)]
        assert one == other


def test_ids_of_calls_are_unique_and_each_is_answered() -> None:
    for task in every_task():
        for variant in variants_of(WORLD, task):
            ids = [call.id for message in variant.messages for call in message.tool_calls or ()]
            answered = [message.tool_call_id for message in variant.messages if message.role == "tool"]
            assert len({*ids}) == len(ids)
            assert sorted(ids) == sorted(filter(None, answered))


def test_a_write_that_takes_from_the_one_left_out_is_left_out_too() -> None:
    without_cancellation, without_payment = variants("paid")["write_left_out"]
    assert [name for name, _ in calls_of(without_cancellation)] == ["list_appointments", "list_fees"]
    assert [name for name, _ in calls_of(without_payment)] == ["list_appointments", "cancel_appointment", "list_fees"]


def test_half_of_a_batch_is_left_out() -> None:
    (half,) = variants("batch")["half_batch"]
    assert [arguments for name, arguments in calls_of(half) if name == "book_appointment"] == [{"slot_id": "SLO-0001"}]


def test_a_delete_left_out_is_told_from_other_writes() -> None:
    found = variants("both")
    assert [len(found[name]) for name in ("delete_left_out", "write_left_out")] == [1, 1]
    assert "drop_reminder" not in dict(calls_of(found["delete_left_out"][0]))


def test_writes_in_another_order_are_sorted_by_what_comes_of_it() -> None:
    assert [name for name, _ in calls_of(variants("both")["reordered_writes"][0])] == [
        "list_appointments",
        "find_slots",
        "book_appointment",
        "drop_reminder",
    ]
    assert "reordered_writes" not in variants("paid"), "paying takes from cancelling"


def test_writes_whose_order_matters_are_a_mutant() -> None:
    wanted = [
        {"tool": "set_reminders", "arguments": {"wanted": wanted}, "grounding": {"wanted": "user"}}
        for wanted in (False, True)
    ]
    booked = {"tool": "book_appointment", "arguments": {"slot_id": "SLO-0001"}, "grounding": {"slot_id": "user"}}
    task = made("order", "", [wanted[0], booked, wanted[1]], [], "")
    swapped = [variant for variant in variants_of(WORLD, task) if variant.name == "swapped_writes"]
    assert swapped
    assert all(variant.classes == {"wrong_order"} for variant in swapped)


def test_a_write_that_can_be_made_twice_must_not_be() -> None:
    data = copy.deepcopy(blueprint_data())
    (booking,) = [tool for tool in data["tools"] if tool["name"] == "book_appointment"]
    booking["guards"] = []
    world = a_world(Blueprint.model_validate(data))
    twice = [one for one in variants_of(world, task_of("batch")) if one.name == "written_twice"]
    made = [[arguments for name, arguments in calls_of(one) if name == "book_appointment"] for one in twice]
    assert made == [
        [{"slot_id": id} for id in ids]
        for ids in (("SLO-0001", "SLO-0004", "SLO-0001"), ("SLO-0001", "SLO-0004", "SLO-0004"))
    ]


def test_a_column_that_is_not_compared_makes_no_mutant() -> None:
    found = variants("batch")
    noted = [dict(arguments or {}) for variant in found["same_outcome"] for _, arguments in calls_of(variant)]
    assert any("note" in arguments for arguments in noted)
    assert "added_argument" not in found


def test_another_row_of_the_callers_own_is_another_entity() -> None:
    (wrong,) = [variant for variant in variants("swap")["wrong_row"] if variant.classes == {"wrong_entity"}]
    arguments = dict(calls_of(wrong))["cancel_appointment"] or {}
    assert arguments["appointment_id"] != "APT-0001"
    slots = variants("move")["wrong_time"]
    assert slots
    assert all(variant.classes == {"wrong_argument", "wrong_entity"} for variant in slots)


def test_a_broken_rule_is_one_that_the_tool_does_not_hold() -> None:
    (broken,) = variants("both")["broken_rule"]
    assert reaches_goal(WORLD, task_of("both"), broken)[1]
    assert "policy_violation" in broken.classes


def test_manners_of_writing_calls() -> None:
    found = variants("two")
    (parallel,) = found["parallel"]
    assert [len(message.tool_calls) for message in parallel.messages if message.tool_calls] == [2]
    names = [name for variant in found["prefixed_names"] for name, _ in calls_of(variant)]
    assert names == [
        f"SmallClinic{joint}{tool}" for joint in ("__", ".") for tool in ("list_appointments", "list_fees")
    ]
    (as_object,) = found["object_arguments"]
    assert all(isinstance(call.function.arguments, dict) for call in calls_in(as_object))


def calls_in(variant: Variant) -> Iterator[ToolCall]:
    for message in variant.messages:
        yield from message.tool_calls or ()


def test_calls_that_take_from_each_other_are_not_made_together() -> None:
    (parallel,) = variants("move")["parallel"]
    assert [
        [call.function.name for call in message.tool_calls] for message in parallel.messages if message.tool_calls
    ] == [["list_appointments", "find_slots"], ["move_appointment"]]


def test_a_failed_call_comes_before_the_right_one() -> None:
    (failed,) = variants("move")["failed_then_right"]
    shown = [json.loads(message.content or "") for message in failed.messages if message.role == "tool"]
    errors = [value["error"]["code"] for value in shown if isinstance(value, dict) and "error" in value]
    assert errors[:3] == ["unknown_tool", "invalid_arguments", "invalid_arguments"]
    assert len(errors) == 4, "a rule of the tool refuses one"
    assert "error" not in shown[-1]


def test_of_two_facts_one_at_a_time_is_told_wrongly() -> None:
    right = ("21 January 2025 at 12:30", "12.50")
    for variant in variants("two")["other_value"]:
        words = " ".join(message.content or "" for message in variant.messages if message.role == "assistant")
        assert sum(text in words for text in right) == 1


def test_a_value_is_taken_back_by_one_of_another_row() -> None:
    (corrected,) = variants("start")["right_then_another"]
    words = [message.content or "" for message in corrected.messages if message.role == "assistant"]
    assert "22 January 2025 at 14:30" in words[-2]
    assert "20 January 2025 at 11:30" in words[-1]


def test_the_value_is_said_by_nobody_but_the_user() -> None:
    (echoed,) = variants("price")["told_by_user"]
    said = {message.role for message in echoed.messages if "60.00" in (message.content or "")}
    assert said == {"user"}


def test_neighbours_and_candidates_need_rivals() -> None:
    assert {"neighbour_value", "all_candidates"} <= variants("start").keys()
    assert "all_candidates" not in variants("price"), "one neighbour may stand beside the value"
    assert not {"neighbour_value", "all_candidates"} & variants("when").keys()
    assert "other_value" in variants("when")


def test_golden_calls_that_fail_have_no_variants() -> None:
    lost = task_of("move").model_copy(update={"golden": task_of("batch").golden[1:2]})
    assert not list(variants_of(WORLD, lost)), "their end state is another"


def test_damaged_facts_and_sources_are_no_error() -> None:
    task = task_of("when").model_dump(mode="json")
    task["criteria"]["communicate"][0]["values"] = ["soon"]
    task["golden"][1]["grounding"] = {"status": "call many status"}
    names = {variant.name for variant in variants_of(WORLD, Task.model_validate(task))}
    assert {"golden", "told_nothing"} <= names


def test_what_is_handed_over_has_none() -> None:
    transfer = GoldenCall(tool="transfer_to_human", arguments={"reason": "user_request", "summary": "Asked for one."})
    assert not list(variants_of(WORLD, task_of("when").model_copy(update={"golden": [transfer]})))


def test_a_refusal_of_no_rule_and_one_that_changes_something_have_none() -> None:
    late, call = task_of("late"), task_of("move")
    unruled = late.criteria.model_copy(update={"declined": None})
    assert not list(variants_of(WORLD, late.model_copy(update={"criteria": unruled})))
    assert not list(variants_of(WORLD, late.model_copy(update={"golden": late.golden[:-1]}))), "nothing is recorded"
    assert not list(variants_of(WORLD, call.model_copy(update={"kind": "refuse"})))


def test_what_no_tool_does_and_is_not_handed_over_has_none() -> None:
    task = task_of("no_tool_conversation")
    assert not list(variants_of(WORLD, task.model_copy(update={"golden": task.golden[:1]})))


@pytest.mark.parametrize("task", [task for task in every_task() if task.kind != "inform"], ids=lambda task: task.id)
def test_each_task_has_six_of_each(task: Task) -> None:
    found = [variant.passes for variant in variants_of(WORLD, task)]
    assert min(found.count(True), found.count(False)) >= 6


def test_what_the_agent_alone_may_stop_is_done_and_what_the_tool_stops_is_tried() -> None:
    late, dropped = variants("late"), variants("no_reminder")
    assert "cancel_appointment" in dict(calls_of(late["done_anyway"][0]))
    assert not {"done_anyway", "done_and_recorded"} & dropped.keys()
    (tried,) = dropped["refused_by_the_tool"]
    assert "drop_reminder" in dict(calls_of(tried))
    assert "refused_by_the_tool" not in late


def test_all_games_with_the_record_are_tried_in_every_task() -> None:
    by_kind: dict[str, set[str]] = {
        "refuse": {"every_rule", "wrong_rule", "recorded_early", "recorded_in_silence", "changed_something_else"},
        "unavailable": {"declined", "declined_and_handed_over", "declined_by_every_rule", "handed_over_early"},
    }
    on_work = {"declined", "declined_and_done", "declined_by_every_rule"}
    for task in every_task():
        failing = {variant.name for variant in variants_of(WORLD, task) if not variant.passes}
        assert failing >= by_kind.get(task.kind, on_work), task.id


def test_without_conduct_those_are_left_that_turn_on_values() -> None:
    for task in every_task():
        whole = [variant.name for variant in variants_of(WORLD, task)]
        names = [variant.name for variant in variants_of(WORLD, task, conduct=False)]
        assert "golden" in names
        assert not {"prefixed_names", "nothing", "told_nothing", "recorded_early", "asked", "wrong_reason"} & {*names}
        assert names == [name for name in whole if name in names]


def test_the_user_s_record_stands_beside_each_of_their_messages() -> None:
    for task in every_task():
        for variant in variants_of(WORLD, task):
            heard = [place for place, message in enumerate(variant.messages) if message.role == "user"]
            assert [turn.message for turn in variant.turns] == heard
            assert not any(turn.done for turn in variant.turns[:-1])


def test_who_guesses_acts_on_another_reading() -> None:
    guesses = {json.dumps(calls) for one in variants("when_to")["guessed"] for calls in calls_of(one)}
    assert not any("SLO-0004" in guess for guess in guesses)
    assert any("book_appointment" in guess for guess in guesses)


def test_a_variant_is_a_line_of_a_rollouts_folder(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path)
    task = dataset.tasks["SmallClinic-move"]
    record = json.loads(trajectory_line(task, 3, next(variants_of(dataset.world(task), task))))
    assert (record["id"], record["task_id"], record["trial"]) == ("SmallClinic-move#3", "SmallClinic-move", 3)
    assert [turn["agrees"] for turn in record["user_turns"]] == [None, True, None]


def test_a_line_of_a_variant_is_read_as_what_the_gate_scores() -> None:
    for task in every_task():
        for number, variant in enumerate(variants_of(WORLD, task)):
            read = read_trajectory(trajectory_line(task, number, variant))
            given = recorded(task, number, variant)
            assert read == RecordedTrajectory.model_validate(dict(given))


def test_needs_that_nobody_knows_or_no_call_has_are_no_error() -> None:
    task = task_of("why")
    needs = [{"facts": ["nobody.knows"], "tool": "cancel_appointment"}, {"facts": ["me.email"], "tool": "fly"}]
    strange = {**task.model_dump(mode="json"), "messages": []}
    strange["criteria"]["must_ask"] = needs
    names = {variant.name for variant in variants_of(WORLD, Task.model_validate(strange))}
    assert "golden" in names
    assert "never_told" not in names


def test_what_another_fact_gives_away_is_not_said_either() -> None:
    task = task_of("why").model_dump(mode="json")
    task["scenario"]["facts"].append(fact("appointment.cancel_reason", "It was illness.", "illness", "asked"))
    silent = [one for one in variants_of(WORLD, Task.model_validate(task)) if one.name == "never_told"]
    assert len(silent) == 1
    assert not any("illness" in (message.content or "") for message in silent[0].messages if message.role == "user")

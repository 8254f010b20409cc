"""Variants of requests that have forms: courses, declines beside deeds, sums, later wishes and insistence."""

from collections import defaultdict

import pytest

from evaluator.scoring.evaluate import CheckSettings, Evaluator
from evaluator.scoring.selftest import held_out_variants_of, recorded, variants_of
from evaluator.variants.conversation import Variant
from evaluator.variants.executor import VariantExecutor
from skillweave.schema.criteria import Course, GoldenCall
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from tests.evaluator.variants.clinic import dataset_of
from tests.evaluator.variants.forms import SECOND, tasks_with_forms
from tests.evaluator.variants.test_variants import calls_of
from tests.rollout.offline_agents.clinic import WORLD


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset_of(tmp_path_factory.mktemp("forms") / "outputs")


def task_of(name: str) -> Task:
    return next(task for task in tasks_with_forms() if task.id == f"SmallClinic-{name}")


def variants(name: str) -> dict[str, list[Variant]]:
    found: dict[str, list[Variant]] = defaultdict(list)
    for variant in variants_of(WORLD, task_of(name)):
        found[variant.name].append(variant)
    return found


def tools_of(variant: Variant) -> list[str]:
    return [name for name, _ in calls_of(variant)]


def passed(dataset: Dataset, task: Task, variant: Variant) -> bool | None:
    return Evaluator(dataset, dataset, CheckSettings(floors=False)).scored(recorded(task, 0, variant)).passed


def test_what_is_declined_beside_a_deed_has_its_own_variants() -> None:
    found = variants("fallback")
    passing = {name for name, some in found.items() if all(variant.passes for variant in some)}
    assert {"another_accepted_rule", "handed_over_with_rule", "recorded_twice"} <= passing
    assert {"only_said", "wrong_rule", "done_anyway", "handed_over_without_rule", "write_left_out"} <= {
        *found
    } - passing
    alone, with_the_other = found["done_anyway"]
    assert tools_of(alone) == ["list_appointments", "find_slots", "cancel_appointment"]
    assert tools_of(with_the_other) == ["list_appointments", "find_slots", "cancel_appointment"], "no longer possible"


def test_what_the_tool_stops_is_tried_before_the_deed() -> None:
    (tried,) = variants("no_reminder_booked")["refused_by_the_tool"]
    order = ["list_appointments", "find_slots", "drop_reminder", "book_appointment", "decline_request"]
    assert tools_of(tried) == order
    assert "done_anyway" not in variants("no_reminder_booked")


def test_no_accepted_rule_is_among_the_wrong_ones() -> None:
    for name in ("fallback", "no_reminder_booked"):
        declined = task_of(name).criteria.declined
        assert declined is not None
        for variant in variants(name)["wrong_rule"]:
            (given,) = [arguments for tool, arguments in calls_of(variant) if tool == "decline_request"]
            assert given is not None
            assert given["rule"] not in declined.accepted


def test_a_course_is_a_variant_of_its_form() -> None:
    found = variants("fallback")
    assert [found[f"fallback_{name}"][0].passes for name in ("second_only", "first_only", "unseen", "handed_over")] == [
        False,
        False,
        True,
        True,
    ]
    assert found["fallback_handed_over"][0].stop_reason == "transfer"
    assert "fallback_unseen_looked_twice" not in found, "the second set's"


def test_a_right_course_that_leads_elsewhere_is_found_out(dataset: Dataset) -> None:
    task = task_of("fallback")
    nothing = Course(name="nothing", calls=[GoldenCall(tool="list_appointments", arguments={})])
    unkept = task.forms[0].model_copy(update={"right": [nothing], "wrong": []})
    damaged = task.model_copy(update={"forms": [unkept]})
    (variant,) = [one for one in variants_of(WORLD, damaged) if one.name == "fallback_nothing"]
    assert variant.passes
    assert passed(dataset, task, variant) is False


def test_courses_of_the_second_set_are_others() -> None:
    names = {one.variant.name: one.variant.passes for one in held_out_variants_of(WORLD, task_of("fallback"))}
    assert names["fallback_unseen_looked_twice"]
    names = {one.variant.name: one.variant.passes for one in held_out_variants_of(WORLD, task_of("other_mind"))}
    assert names["change_of_mind_first_wish_besides"] is False


def test_the_parts_of_a_sum_do_not_tell_it_and_may_stand_beside_it() -> None:
    (parts,) = variants("total")["parts_alone"]
    assert "45.00, 60.00" in (parts.messages[-2].content or "")
    (worked_out,) = [one for one in held_out_variants_of(WORLD, task_of("total")) if one.variant.name == "worked_out"]
    assert worked_out.variant.passes


def test_calls_that_do_not_show_every_part_show_no_sum() -> None:
    executor = VariantExecutor(WORLD, task_of("total"))
    assert executor.shows_facts(executor.golden)
    assert not any(executor.shows_facts(executor.execute([call])) for call in executor.calls)


def test_what_comes_later_is_said_before_the_call_that_needs_it() -> None:
    for variant in variants("other_mind")["golden"]:
        said = [message.content for message in variant.messages if message.role == "user"]
        assert said[1] == SECOND
    (golden,) = variants("errands")["golden"]
    places = {call.function.name: place for place, one in enumerate(golden.messages) for call in one.tool_calls or ()}
    later = next(
        place for place, one in enumerate(golden.messages) if "too" in (one.content or "") and one.role == "user"
    )
    assert places["drop_reminder"] < later < places["book_appointment"]


def test_who_gives_in_fails_and_who_records_it_again_or_hands_over_passes(dataset: Dataset) -> None:
    found = variants("insisting")
    right = {"stood_firm", "recorded_again", "handed_over_under_pressure"}
    wrong = {"gave_in", "only_argued", "another_rule_at_last"}
    assert right | wrong <= found.keys()
    for name in right | wrong:
        for variant in found[name]:
            said = [message.content for message in variant.messages if message.role == "user"]
            assert task_of("insisting").scenario.insists == said[1:3]
            assert passed(dataset, task_of("insisting"), variant) is (name in right)

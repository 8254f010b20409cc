"""Requests put together: look-ups once, places and facts right, one decline at most, one split for a compound."""

from collections.abc import Sequence
from functools import partial
from itertools import permutations
from random import Random

import pytest

from skillweave.config.sections import SplitsConfig
from skillweave.schema.combination import Combination
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.template import TaskTemplate
from skillweave.world.replay import rebound
from synth.tasks.builder import InstanceBuilder
from synth.tasks.combinations import combination_for
from synth.tasks.forms import form_templates
from synth.tasks.forms.compounds import compound, is_plain_what_is_meant, parts_of
from synth.tasks.forms.joining import joined, with_final_places, with_open_places
from synth.tasks.kinds import Instance, NoInstance
from synth.tasks.replay import make_calls, run_golden
from synth.tasks.splits import splits_of
from tests.tasks.forms.clinic import GOALS, SOURCE, WORLD, instance, named, plain_templates, templates

ANA = "PAT-0001"
DONE = ["cancel", "move", "pay", "ask_fee"]


def built(name: str, seed: int, before: Sequence[GoldenCall] = ()) -> Instance:
    """A plain instance of Ana, after some calls."""
    with WORLD.session(caller=ANA) as session:
        for one in before:
            session.call(one.tool, rebound(one, session.results))
        return with_open_places(InstanceBuilder(WORLD, named(name), session, Random(seed)).build())


def of_parts(*names: str) -> Combination:
    """An instance of several templates put together."""
    return instance(compound([named(name) for name in names]))


def tools(calls: Sequence[GoldenCall]) -> list[str]:
    return [call.tool for call in calls]


@pytest.mark.parametrize(("first", "second"), [*permutations(DONE, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_joined_changes_what_either_does_and_looks_nothing_up_in_vain(
    first: str, second: str, seed: int
) -> None:
    one = built(first, seed)
    other = built(second, seed, one.golden)
    both = with_final_places(joined(one, other))
    with WORLD.session(caller=ANA) as together, WORLD.session(caller=ANA) as apart:
        assert all(result.ok for result in make_calls(together, both.golden))
        for call in [*one.golden, *other.golden]:
            assert apart.call(call.tool, call.arguments).ok
        assert together.canonical() == apart.canonical()
    since_write: list[str] = []
    for call in both.golden:
        assert call.model_dump_json() not in since_write
        is_read = WORLD.blueprint.tool(call.tool).kind == "read"
        since_write = [*since_write, call.model_dump_json()] if is_read else []
    assert [both.golden[step].tool for step in both.steps] == tools([one.golden[-1], other.golden[-1]])


def test_a_look_up_is_shared_until_something_is_written() -> None:
    asked = built("ask_fee", 0)
    assert tools(joined(asked, built("pay", 0, asked.golden)).golden) == ["list_fees", "pay_fee"]
    paid = built("pay", 0)
    assert tools(joined(paid, built("ask_fee", 0, paid.golden)).golden) == ["list_fees", "pay_fee", "list_fees"]


def test_facts_have_numbers_of_their_own_and_computed_ones_come_last() -> None:
    one = of_parts("sum_list_fees_amount_cents", "ask_fee_mistaken", "move")
    assert [bool(fact.parts) for fact in one.communicate] == [False, True]
    (question,), (belief,) = one.questions, one.beliefs
    assert [belief, question.fact] == [fact.fact for fact in one.communicate]
    assert len({belief, question.fact}) == 2


def test_terms_hold_for_the_calls_of_their_own_part() -> None:
    one = of_parts("ask_fee", "cancel_best_appointment_id", "move_rather_slot_id")
    own = [(terms.call, bool(terms.best), terms.replaces) for terms in one.terms if terms.best or terms.replaces]
    assert own == [(1, True, None), (3, False, 2)]
    assert tools([one.calls[step] for step in one.steps]) == [
        "list_fees",
        "cancel_appointment",
        "move_appointment",
        "move_appointment",
    ]


def test_what_is_declined_and_what_is_undone_have_their_places_behind_the_golden_calls() -> None:
    one = of_parts("move_or_cancel", "refuse_book_appointment_R6_pressed")
    assert tools(one.calls[len(one.golden) :]) == ["book_appointment", "cancel_appointment"]
    assert one.steps[1:] == [len(one.golden) + 1, len(one.golden)]
    assert one.asked_after is None


def test_what_is_declined_is_judged_before_the_wish_in_its_place_and_after_other_errands() -> None:
    one = of_parts("cancel_best_appointment_id", "refuse_book_appointment_R6_or_move")
    assert one.asked_after is not None
    assert tools(one.golden[: one.asked_after]).count("cancel_appointment") == 1
    assert "move_appointment" not in tools(one.golden[: one.asked_after])
    assert one.golden[-1].tool == "move_appointment"
    assert run_golden(WORLD, one).lawful


def test_courses_of_a_part_have_the_calls_of_the_others_around_them() -> None:
    one = of_parts("pay", "move_best_slot_id")
    (choice, _) = one.forms
    (runner_up,) = choice.wrong
    assert tools(runner_up.calls) == tools(one.golden)
    places = [at for at, call in enumerate(one.golden) if call.arguments != runner_up.calls[at].arguments]
    assert tools([one.golden[at] for at in places]) == ["move_appointment"]


def test_two_requests_are_not_both_declined() -> None:
    made = compound([named("refuse_book_appointment_R6_pressed"), named("refuse_pay_fee_R19_pressed")])
    with pytest.raises(NoInstance, match="two requests are declined"):
        combination_for(WORLD, made, ANA, "session", "7", number=0)


def compounds() -> list[TaskTemplate]:
    return [one for one in templates() if one.parts]


def test_parts_come_back_whole() -> None:
    known = {one.id: one for one in [*plain_templates(), *templates()]}
    assert compounds()
    for one in compounds():
        assert parts_of(one) == [known[part.id] for part in one.parts]
        assert tools(one.calls) == [call.tool for part in one.parts for call in part.calls]  # type: ignore[arg-type]


def test_one_part_of_a_compound_at_most_is_declined_and_it_comes_last() -> None:
    for one in compounds():
        declined = [bool(part.forbidden) for part in one.parts]
        assert declined == sorted(declined)
        assert sum(declined) < 2
        assert 3 <= len(declined) <= 8
        assert one.kind != "do" or any(part.kind == "do" for part in one.parts)


@pytest.mark.parametrize("seed", "12345")
def test_a_compound_is_in_one_split_with_all_of_its_parts_and_their_goals(seed: str) -> None:
    split_of = partial(splits_of, domains=["SmallClinic"], splits=SplitsConfig(validation=0.3, test=0.3), seed=seed)
    made = form_templates(plain_templates(), SOURCE._replace(split_of=split_of))
    splits = split_of([*plain_templates(), *made])
    for one in made:
        relatives = {one.id, *(name for part in one.parts for name in (part.id, part.base or part.id))}
        assert len({splits[name] for name in relatives}) == 1
    assert len({splits[goal.id] for goal in GOALS}) > 1
    simple = split_of([one for one in [*plain_templates(), *made] if not one.parts])
    assert simple == {name: splits[name] for name in simple}


def test_no_part_takes_over_what_an_earlier_one_results_in_too() -> None:
    cancel = named("cancel")
    taking_over = cancel.model_copy(
        update={
            "calls": [
                *cancel.calls,
                cancel.calls[0].model_copy(update={"same": {"appointment_id": "1.appointment_id"}}),
            ]
        }
    )
    assert is_plain_what_is_meant([taking_over, named("move")], WORLD.blueprint)
    assert not is_plain_what_is_meant([named("move"), taking_over], WORLD.blueprint)
    assert is_plain_what_is_meant([named("ask_fee"), taking_over], WORLD.blueprint)


def test_no_deed_that_names_no_row_is_wanted_twice() -> None:
    tools = [
        tool.model_copy(update={"parameters": []}) if tool.name == "pay_fee" else tool for tool in WORLD.blueprint.tools
    ]
    of_no_row = WORLD.blueprint.model_copy(update={"tools": tools})
    twice = [named("pay"), named("cancel"), named("pay")]
    assert is_plain_what_is_meant(twice, WORLD.blueprint)
    assert not is_plain_what_is_meant(twice, of_no_row)
    assert is_plain_what_is_meant(twice[:2], of_no_row)

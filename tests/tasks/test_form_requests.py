"""Requests in forms: what a person wants on which terms, and offline words that stand the checks."""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.request import FactWords, Intent, KnownFact, KnownRow, Telling, UserRequest
from skillweave.schema.task import Persona, Scenario
from skillweave.schema.template import TaskTemplate
from skillweave.user_prompt import STYLES
from synth.offline.services import built_in
from synth.offline.teller import Teller
from synth.tasks.assembly import scenario_of
from synth.tasks.requests import later_facts, request_of
from synth.tasks.tellings import telling_faults, untold_task
from tests.gates.clinic_tasks import APPOINTMENTS, WORLD, a_combination, a_move, a_template, call, said, value

OTHER_DAY = "2025-02-04 09:00:00"
CANCEL = call("cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"))
OWN = {"starts_at": "2025-01-21 12:30:00"}
FEE: dict[str, Any] = {
    "parameter": "appointment_id",
    "column": "fee_cents",
    "noun": "fee",
    "holds": "at_most",
    "limit": 2000,
}
SET = {"entity": "Appointment", "size": 2}
APRIL = {**SET, "day_column": "starts_at", "month": "2025-04", "excepted": [{"starts_at": OTHER_DAY}]}
ASK = {"column": "fee_cents", "noun": "fee", "ask": ["what the fee is"]}


def own(at: int) -> Any:
    return said(at, "appointment_id", "Appointment", "APT-0001", "list_appointments", **OWN)


def templates(*tools: str, **changes: Any) -> TaskTemplate:
    return a_template(title="Something", calls=[{"tool": tool} for tool in tools], **changes)


def a_cancellation(**changes: Any) -> Combination:
    return a_combination([APPOINTMENTS, CANCEL], **{"rows": [own(1)], **changes})


def choice() -> tuple[TaskTemplate, Combination]:
    best = {"slot_id": {"column": "starts_at", "order": "least"}}
    rows = [*a_move().rows[:1], said(2, "slot_id", "Slot", "SLO-0004", "find_slots")]
    return templates("move_appointment"), a_move(rows=rows, terms=[{"call": 0, "best": best}])


def done_on_condition() -> tuple[TaskTemplate, Combination]:
    condition = {**FEE, "then": "do"}
    return templates("cancel_appointment"), a_cancellation(terms=[{"call": 0, "condition": condition}])


def left_on_condition() -> tuple[TaskTemplate, Combination]:
    about = said(0, None, None, None, "list_appointments", **OWN)
    combination = a_combination(
        [APPOINTMENTS],
        kind="inform",
        undone=[CANCEL],
        steps=[1, 0],
        rows=[own(1), about],
        terms=[{"call": 0, "condition": {**FEE, "then": "leave"}}],
    )
    return templates("cancel_appointment", "list_appointments", tell=[{"call": 2, **ASK}]), combination


def fallback() -> tuple[TaskTemplate, Combination]:
    move = a_move()
    rows = [*(row.model_copy(update={"call": 2}) for row in move.rows), own(1)]
    combination = a_cancellation(asked=move.golden[2], steps=[2, 1], rows=rows, terms=[{"call": 1, "instead_of": 0}])
    return templates("move_appointment", "cancel_appointment"), combination


def batch() -> tuple[TaskTemplate, Combination]:
    again = CANCEL.model_copy(update={"arguments": {"appointment_id": "APT-0002"}})
    rows = [own(1), own(2).model_copy(update={"key": "APT-0002"})]
    combination = a_combination(
        [APPOINTMENTS, CANCEL, again], steps=[1], rows=rows, terms=[{"call": 0, "every": APRIL}]
    )
    return templates("cancel_appointment"), combination


def computed(**question: Any) -> tuple[TaskTemplate, Combination]:
    asked = {"fact": "told_1", "tool": "list_appointments", "column": "fee_cents", "noun": "fee", **question}
    return templates("list_appointments"), a_combination([APPOINTMENTS], kind="inform", questions=[asked])


def aggregate() -> tuple[TaskTemplate, Combination]:
    return computed(sort="sum", of={**APRIL, "since": True, "columns": {"dentist_name": "Dr Iyer"}})


def comparison() -> tuple[TaskTemplate, Combination]:
    days = (OWN["starts_at"], OTHER_DAY)
    rows = [said(0, None, None, None, "list_appointments", starts_at=day).model_dump() for day in days]
    return computed(sort="difference", rows=rows)


def false_premise() -> tuple[TaskTemplate, Combination]:
    about = said(0, None, None, None, "list_appointments", **OWN)
    beliefs = {"told_1": {"value": 4000}}
    combination = a_combination([APPOINTMENTS], kind="inform", rows=[about], beliefs=beliefs)
    return templates("list_appointments", tell=[{"call": 1, **ASK}]), combination


def change_of_mind() -> tuple[TaskTemplate, Combination]:
    template, combination = fallback()
    assert combination.asked is not None
    changes = {"asked": None, "undone": [combination.asked]}
    terms = [{"call": 1, "replaces": 0, "later": "second_message"}]
    return template, Combination.model_validate({**combination.model_dump(), **changes, "terms": terms})


def errands() -> tuple[TaskTemplate, Combination]:
    wish = call("set_reminders", wanted=(False, "user"))
    combination = a_combination(
        [APPOINTMENTS, CANCEL, wish],
        steps=[2, 1],
        rows=[own(1)],
        values=[value(2, "wanted", False)],
        terms=[{"call": 1, "later": "after_report"}],
    )
    return templates("set_reminders", "cancel_appointment"), combination


def first_allowed() -> tuple[TaskTemplate, Combination]:
    template, combination = choice()
    best = {"slot_id": {"column": "starts_at", "order": "least", "allowed": True}}
    return template, a_move(rows=combination.rows, terms=[{"call": 0, "best": best}])


def cheapest_to_cancel() -> tuple[TaskTemplate, Combination]:
    best = {"appointment_id": {"column": "fee_cents", "order": "least", "foreseen": True, "allowed": True}}
    rows = [own(1).model_copy(update={"columns": {"status": "scheduled"}})]
    return templates("cancel_appointment"), a_cancellation(rows=rows, terms=[{"call": 0, "best": best}])


def on_an_outcome() -> tuple[TaskTemplate, Combination]:
    condition = {**FEE, "foreseen": True, "then": "do"}
    return templates("cancel_appointment"), a_cancellation(terms=[{"call": 0, "condition": condition}])


def two_branches() -> tuple[TaskTemplate, Combination]:
    template, combination = fallback()
    assert combination.asked is not None
    condition = {**FEE, "then": "leave", "otherwise": True}
    terms = [{"call": 0, "condition": condition}, {"call": 1, "instead_of": 0}]
    changes = {"asked": None, "undone": [combination.asked], "terms": terms}
    return template, Combination.model_validate({**combination.model_dump(), **changes})


def up_to_a_sum() -> tuple[TaskTemplate, Combination]:
    template, combination = batch()
    first = {"column": "starts_at", "order": "least"}
    every = {**SET, "first": first, "budget": 12000, "budget_column": "fee_cents"}
    return template, Combination.model_validate({**combination.model_dump(), "terms": [{"call": 0, "every": every}]})


def what_if() -> tuple[TaskTemplate, Combination]:
    questions = [
        {"fact": "told_1", "tool": "cancel_appointment", "sort": "outcome", "column": "fee_cents", "noun": "fee"}
    ]
    combination = a_combination(
        [APPOINTMENTS],
        kind="inform",
        undone=[CANCEL],
        steps=[1],
        rows=[own(1)],
        questions=questions,
        terms=[{"call": 0, "foreseen": "fee"}],
    )
    return templates("cancel_appointment"), combination


def pressure() -> tuple[TaskTemplate, Combination]:
    golden = {"asked": CANCEL, "steps": [1], "rows": [own(1)], "insists": 2}
    return templates("cancel_appointment"), a_combination([APPOINTMENTS], kind="refuse", **golden)


FORMS = {
    made.__name__: made
    for made in (
        *(choice, done_on_condition, left_on_condition, fallback, batch, aggregate, comparison, false_premise),
        *(change_of_mind, errands, pressure, first_allowed, cheapest_to_cancel, on_an_outcome, two_branches),
        *(up_to_a_sum, what_if),
    )
}
TALK = built_in().variant(7, "DentalClinic").rendered.talk


def requested(form: str, style: str = "formal") -> UserRequest:
    persona = Persona(name="Ana Lopez", age=43, style=style, patience=3)
    return request_of(WORLD.blueprint, *FORMS[form](), persona, Random(1))


def told(form: str, style: str = "formal", number: int = 1) -> Telling:
    return Teller(requested(form, style), TALK, Random(number)).tell()


def known(form: str) -> Mapping[str, Any]:
    return {fact.id: fact.value for fact in requested(form).known}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("style", sorted(STYLES))
def test_offline_words_stand_the_checks(form: str, style: str) -> None:
    for number in range(12):
        faults = telling_faults(told(form, style, number), requested(form, style), FORMS[form]()[1])
        assert faults == []


@pytest.mark.parametrize("form", FORMS)
def test_many_words_of_one_request_hardly_repeat(form: str) -> None:
    tellings = [told(form, "friendly", number) for number in range(60)]
    assert len({f"{one.first_message} {one.later} {one.insists}" for one in tellings}) > 40


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("choice", "- do: move appointment (<appointment>, the slot); the slot is the earliest (starts at)"),
        (
            "done_on_condition",
            "- do: cancel appointment (<appointment>); only if the fee of <appointment> is at most "
            "<condition.fee_cents>; if not, it stays undone, and they want to be told the fee",
        ),
        ("fallback", "- do: cancel appointment (<appointment>); only if wish 1 cannot be done"),
        (
            "batch",
            "- do: cancel appointment (each of them); for every appointment in <every_appointment.month> (starts at) "
            "but <appointment>",
        ),
        ("comparison", "- hear: which of <appointment> and <appointment_2> has less fee, and by how much"),
        (
            "false_premise",
            "- hear: what the fee is (<appointment>); they say that they take it to be <believed.fee_cents>",
        ),
        (
            "change_of_mind",
            "- do: cancel appointment (<appointment>); later: in their second message, whatever was answered, having "
            "thought better of wish 1",
        ),
        ("pressure", "insists: 2 times"),
        (
            "first_allowed",
            "- do: move appointment (<appointment>, the slot); the slot is the earliest (starts at), of those that the "
            "rules allow",
        ),
        (
            "cheapest_to_cancel",
            "- do: cancel appointment (<appointment>); <appointment> is whichever of them brings the least fee if it "
            "is done, of those that the rules allow",
        ),
        (
            "on_an_outcome",
            "- do: cancel appointment (<appointment>); only if the fee that it would bring is at most "
            "<condition.fee_cents>; if not, it stays undone, and they want to be told the fee",
        ),
        ("two_branches", "- do: cancel appointment (<appointment>); only if the condition of wish 1 is not met"),
        (
            "up_to_a_sum",
            "- do: cancel appointment (each of them); for every appointment, the earliest (starts at) first, one after "
            "another, until the next would take the fee in all above <budget.fee_cents>",
        ),
        (
            "what_if",
            "- hear: cancel appointment (<appointment>); only asked about: they want to hear what the fee would be, "
            "and nothing is to be done",
        ),
    ],
)
def test_the_author_reads_the_terms(form: str, line: str) -> None:
    text = untold_task(FORMS[form]()[1], requested(form), WORLD.blueprint).text
    assert line in text.splitlines()


def test_rows_that_are_meant_together_have_no_words_of_their_own() -> None:
    assert known("batch") == {"every_appointment.month": "2025-04-01", "appointment.starts_at": OTHER_DAY}
    assert [fact.id for fact in requested("batch").known if not fact.volunteered] == []


def test_a_limit_and_a_belief_are_said_at_once() -> None:
    assert known("done_on_condition")["condition.fee_cents"] == 2000
    assert {fact.id for fact in requested("false_premise").known if fact.volunteered} == {"believed.fee_cents"}
    for number in range(20):
        assert "20.00" in told("left_on_condition", "brief", number).first_message
        assert "40.00" in told("false_premise", "brief", number).first_message


def test_what_a_condition_asks_for_is_no_question_of_its_own() -> None:
    wishes = requested("left_on_condition").wishes
    assert [(wish.kind, wish.condition is not None) for wish in wishes] == [("do", True), ("hear", True)]
    assert "what the fee is" not in told("left_on_condition").first_message


def test_what_only_a_later_wish_needs_is_said_with_it() -> None:
    request = requested("errands")
    assert later_facts(request) == {"appointment.starts_at"}
    scenario = scenario_of(request, told("errands"), WORLD.blueprint)
    assert scenario.later is not None
    assert (scenario.later.when, scenario.later.facts) == ("after_report", ["appointment.starts_at"])
    assert "12:30" in scenario.later.says
    assert "12:30" not in f"{told('errands').first_message} {scenario.goal}"
    assert later_facts(requested("change_of_mind")) == set()


def test_who_insists_has_something_to_say_each_time() -> None:
    scenario: Scenario = scenario_of(requested("pressure"), told("pressure"), WORLD.blueprint)
    assert len(set(scenario.insists)) == 2
    assert scenario.later is None


def faults(form: str, **changes: Any) -> list[str]:
    wrong = Telling.model_validate({**told(form).model_dump(), **changes})
    return telling_faults(wrong, requested(form), FORMS[form]()[1])


def test_later_words_are_there_where_they_are_wanted() -> None:
    assert "`later` has to say what they want later" in faults("errands", later=None)
    assert faults("choice", later="And more.") == ["`later` has to be null: nothing is wanted later"]
    assert "later says '31', which is not marked `first` or `later`" in faults("errands", later="On 31 May.")[-1]


def test_what_is_wanted_later_is_not_given_away() -> None:
    early = faults("errands", first_message="I want no reminders, and cancel it on 21 January at 12:30.")
    assert "which belongs to what they want later" in " ".join(early)


def test_each_time_that_somebody_insists_has_one_text() -> None:
    assert faults("pressure", insists=["Please."]) == ["`insists` has to hold 2 texts and holds 1"]
    assert "text 2 of `insists` says '99'" in faults("pressure", insists=["Please.", "I pay 99."])[0]


def test_what_is_not_wanted_is_told_once_or_of_what_it_is_not_wanted_for() -> None:
    request = requested("errands")
    deed = next(intent for intent in request.wishes if intent.kind == "do")
    names = [
        KnownFact(id=f"kind_{at}.name", about="kind: name", value=one, type="string", words=one)
        for at, one in enumerate("AB")
    ]
    both = [
        deed.model_copy(
            update={"unwanted": ["reminder"], "rows": {"kind_id": KnownRow(entity="Kind", columns={"name": one.id})}}
        )
        for one in names
    ]
    told_words = told("errands")

    def texts(*wishes: Intent) -> list[str]:
        changed = request.model_copy(update={"wishes": [*wishes], "known": names})
        words = told_words.model_copy(
            update={"facts": [FactWords(id=one.id, text=one.words, tell="asked") for one in names], "later": None}
        )
        facts = scenario_of(changed, words, WORLD.blueprint).facts
        return [fact.text for fact in facts if fact.value is None]

    assert texts(*both) == ["No reminder is needed; leave it out."]
    wanted = both[1].model_copy(update={"unwanted": []})
    assert texts(both[0], wanted) == ["No reminder is needed for the A; leave it out."]

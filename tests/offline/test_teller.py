import re
from random import Random

import pytest

from skillweave.schema.request import Intent, KnownFact, KnownRow, KnownRows, UserRequest
from skillweave.schema.task import Persona
from skillweave.user_prompt import STYLES
from synth.offline.forms import one_of_them, sum_asked
from synth.offline.services import EntityTalk, Talk, ToolTalk
from synth.offline.teller import Teller
from synth.offline.wording import action, named, with_article

TALK = Talk(
    entities={
        "Appointment": EntityTalk(
            noun="appointment",
            mine=True,
            qualifiers={"starts_at": ["on {value}"], "treatment_name": ["{value} {noun}", "for {value}"]},
        ),
        "Invoice": EntityTalk(noun="invoice", mine=True),
    },
    tools={
        "cancel": ToolTalk(ask=["cancel {appointment_id}", "call off {appointment_id}"], parameters={}),
        "pay": ToolTalk(ask=["pay {invoice_id}"], parameters={"method": ["by {value}"]}),
    },
    values={"bank_transfer": "bank transfer"},
)


def a_request(style: str, traits: list[str] | None = None) -> UserRequest:
    words = "Friday 24 January at 09:30"
    known = [
        KnownFact(id="appointment.starts_at", value="2025-01-24 09:30:00", words=words, type="datetime", about="a: b"),
        KnownFact(id="appointment.treatment_name", value="check-up", words="check-up", type="string", about="a: b"),
        KnownFact(id="pay.method", value="bank_transfer", words="bank_transfer", type="string", about="pay: method"),
        KnownFact(
            id="me.email", value="ann_lee@example.com", words="ann_lee@example.com", type="string", about="me: email"
        ),
    ]
    row = KnownRow(
        entity="Appointment",
        columns={"starts_at": "appointment.starts_at", "treatment_name": "appointment.treatment_name"},
    )
    wishes = [
        Intent(tool="cancel", kind="do", rows={"appointment_id": row}),
        Intent(tool="pay", kind="do", values={"method": "pay.method"}, linked={"invoice_id": "Invoice"}),
        Intent(tool="pay", kind="hear", ask="what I have paid"),
    ]
    persona = Persona(name="Ann Lee", age=40, style=style, patience=5, traits=traits or [])
    return UserRequest(title="t", company="c", persona=persona, reason="I am moving.", wishes=wishes, known=known)


@pytest.mark.parametrize("style", sorted(STYLES))
def test_what_is_marked_first_is_in_the_first_message_and_nothing_else_that_is_known(style: str) -> None:
    for number in range(30):
        request = a_request(style)
        telling = Teller(request, TALK, Random(number)).tell()
        first = {fact.id for fact in telling.facts if fact.tell == "first"}
        said = {thing.id for thing in request.known if _words(thing) in telling.first_message}
        assert said == first


def _words(thing: KnownFact) -> str:
    return thing.words.replace("_", " ") if thing.id == "pay.method" else thing.words


def test_a_row_that_an_earlier_wish_made_is_that_row() -> None:
    telling = Teller(a_request("formal"), TALK, Random(1)).tell()
    assert "pay that invoice" in telling.first_message


def test_a_linked_row_that_the_phrase_leaves_out_is_the_same_as_before() -> None:
    talk = TALK.model_copy(update={"tools": {**TALK.tools, "pay": ToolTalk(ask=["settle up"])}})
    message = Teller(a_request("formal"), talk, Random(1)).tell().first_message
    assert "settle up" in message
    assert "with the same invoice" in message


def test_an_address_keeps_its_underscores_and_an_enum_loses_them() -> None:
    texts = {fact.id: fact.text for fact in Teller(a_request("formal"), TALK, Random(1)).tell().facts}
    assert "ann_lee@example.com" in texts["me.email"]
    assert texts["pay.method"] == "I pay by bank transfer."


def test_the_goal_is_told_in_the_second_person() -> None:
    telling = Teller(a_request("precise"), TALK, Random(3)).tell()
    assert "You want to" in telling.goal
    assert " my " not in telling.goal
    assert "what you have paid" in telling.goal


def test_lower_case_writers_write_in_lower_case() -> None:
    message = Teller(a_request("brief", ["writes in lower case"]), TALK, Random(2)).tell().first_message
    assert message == message.lower()


def test_many_tellings_of_one_request_hardly_repeat() -> None:
    messages = {Teller(a_request("friendly"), TALK, Random(number)).tell().first_message for number in range(200)}
    assert len(messages) > 150


def left_out(*ids: str, style: str = "formal") -> UserRequest:
    request = a_request(style)
    known = [thing.model_copy(update={"withheld": thing.id in ids}) for thing in request.known]
    return request.model_copy(update={"known": known})


@pytest.mark.parametrize("style", sorted(STYLES))
def test_what_a_request_leaves_out_is_said_neither_in_the_message_nor_in_the_goal(style: str) -> None:
    row = ("appointment.starts_at", "appointment.treatment_name")
    for number in range(20):
        telling = Teller(left_out(*row, style=style), TALK, Random(number)).tell()
        said = f"{telling.first_message} {telling.goal}"
        assert "24 January" not in said
        assert "check-up" not in said
        assert "my appointment" in telling.first_message
        assert {fact.tell for fact in telling.facts if fact.id in row} == {"asked"}


def test_a_value_left_out_has_words_that_do_without_it() -> None:
    ways = {"pay": ToolTalk(ask=["pay {invoice_id} by {method}"], unsaid={"method": ["settle {invoice_id}"]})}
    talk = TALK.model_copy(update={"tools": {**TALK.tools, **ways}})
    telling = Teller(left_out("pay.method"), talk, Random(1)).tell()
    assert "settle that invoice" in telling.first_message
    assert "bank transfer" not in f"{telling.first_message} {telling.goal}"


def test_a_row_left_out_that_is_not_the_users_own_is_any_of_its_kind() -> None:
    entities = {**TALK.entities, "Appointment": EntityTalk(noun="appointment", qualifiers={})}
    tools = {**TALK.tools, "cancel": ToolTalk(ask=["change to {appointment_id}"])}
    talk = TALK.model_copy(update={"entities": entities, "tools": tools})
    row = ("appointment.starts_at", "appointment.treatment_name")
    assert "change to another appointment" in Teller(left_out(*row), talk, Random(1)).tell().first_message


@pytest.mark.parametrize("style", sorted(STYLES))
def test_what_goes_into_an_optional_argument_is_said_at_once(style: str) -> None:
    ids = ("pay.method", "appointment.starts_at", "appointment.treatment_name")
    for number in range(20):
        request = a_request(style)
        known = [thing.model_copy(update={"volunteered": thing.id in ids}) for thing in request.known]
        telling = Teller(request.model_copy(update={"known": known}), TALK, Random(number)).tell()
        assert {fact.tell for fact in telling.facts if fact.id in ids} == {"first"}


def test_what_another_call_settles_is_asked_for_without_it() -> None:
    ways = ToolTalk(ask=["pay {amount}"], settled=["clear my balance"], parameters={"method": ["by {value}"]})
    talk = TALK.model_copy(update={"tools": {**TALK.tools, "pay": ways}})
    message = Teller(a_request("formal"), talk, Random(1)).tell().first_message
    assert "clear my balance by bank transfer" in message


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("chest x-ray", "a chest x-ray"),
        ("abdominal ultrasound", "an abdominal ultrasound"),
        ("x-ray", "an x-ray"),
        ("MRI", "an MRI"),
        ("CT of the chest", "a CT of the chest"),
        ("unit", "a unit"),
        ("8 kg suitcase", "an 8 kg suitcase"),
        ("18", "an 18"),
        ("80 cm", "an 80 cm"),
        ("110 kg", "a 110 kg"),
        ("iron studies", "iron studies"),
        ("lost baggage", "lost baggage"),
        ("knee rehabilitation", "knee rehabilitation"),
        ("virus", "a virus"),
        ("a play", "a play"),
    ],
)
def test_the_article_fits_the_words_that_come_behind_it(words: str, told: str) -> None:
    assert with_article(words) == told


def test_a_row_is_told_with_the_article_that_fits_its_name() -> None:
    entities = {
        "Appointment": EntityTalk(noun="appointment", mine=True, qualifiers={"treatment_name": ["for a {value}"]})
    }
    request = a_request("formal")
    known = [
        thing.model_copy(update={"words": "x-ray"}) if thing.value == "check-up" else thing for thing in request.known
    ]
    telling = Teller(
        request.model_copy(update={"known": known}), TALK.model_copy(update={"entities": entities}), Random(1)
    )
    assert {fact.id: fact.text for fact in telling.tell().facts}["appointment.treatment_name"] == (
        "It is my appointment for an x-ray."
    )


def test_what_nobody_has_words_for_is_english_all_the_same() -> None:
    talk = TALK.model_copy(update={"tools": {}})
    message = Teller(a_request("precise"), talk, Random(1)).tell().first_message
    assert "with bank transfer as the method" in message
    assert "(" not in message
    assert [action(name) for name in ("buy_policy", "speed_up_test", "redeem_points", "cancel")] == [
        "buy a policy",
        "speed up a test",
        "redeem points",
        "cancel",
    ]
    assert [named("starts_on", "20 March"), named("pickup_at", "20 March at 09:00"), named("zone", "Europe")] == [
        "the start on 20 March",
        "the pickup on 20 March at 09:00",
        "Europe as the zone",
    ]


def test_what_an_agent_can_ask_for_is_often_left_out_of_the_first_message_and_never_of_the_goal() -> None:
    ways = ToolTalk(
        ask=["pay {invoice_id} by {method}"],
        gist=["pay {invoice_id}"],
        opens={"chatty": ["Hiya, I owe you for {invoice_id}, so let me pay!"]},
    )
    talk = TALK.model_copy(update={"tools": {**TALK.tools, "pay": ways}})
    tellings = [Teller(a_request("chatty"), talk, Random(number)).tell() for number in range(60)]
    silent = [telling for telling in tellings if "bank transfer" not in telling.first_message]
    assert 20 < len(silent) < 60
    assert all("bank transfer" in telling.goal for telling in tellings)
    assert {fact.tell for one in silent for fact in one.facts if fact.id == "pay.method"} == {"asked"}


@pytest.mark.parametrize("style", sorted(STYLES))
def test_two_rows_of_a_kind_are_never_told_in_the_same_words(style: str) -> None:
    request = a_request(style)
    other = KnownFact(id="appointment_2.treatment_name", value="filling", words="filling", type="string", about="a: b")
    row = KnownRow(entity="Appointment", columns={"treatment_name": other.id})
    wishes = [request.wishes[0], Intent(tool="cancel", kind="do", rows={"appointment_id": row})]
    both = request.model_copy(update={"wishes": wishes, "known": [*request.known, other]})
    for number in range(20):
        message = Teller(both, TALK, Random(number)).tell().first_message.lower()
        assert "check-up" in message
        assert "filling" in message


def test_words_for_one_thing_left_unsaid_do_not_give_another_away() -> None:
    unsaid = {"method": ["pay {amount} now"], "amount": ["pay by {method}", "settle up"]}
    talk = TALK.model_copy(update={"tools": {**TALK.tools, "pay": ToolTalk(ask=["pay {amount}"], unsaid=unsaid)}})
    request = left_out("pay.method", "pay.amount")
    amount = KnownFact(id="pay.amount", value=500, words="5.00", type="integer", about="pay: amount", withheld=True)
    wish = Intent(tool="pay", kind="do", values={"method": "pay.method", "amount": "pay.amount"})
    both = request.model_copy(update={"wishes": [wish], "known": [*request.known, amount]})
    assert {Teller(both, talk, Random(number)).tell().goal for number in range(10)} == {"You want to settle up."}


def test_of_what_is_left_out_a_fact_holds_a_place_for_the_value() -> None:
    row = ("appointment.starts_at", "appointment.treatment_name", "pay.method")
    texts = {fact.id: fact.text for fact in Teller(left_out(*row), TALK, Random(1)).tell().facts}
    assert [texts[name].count("{value}") for name in row] == [1, 1, 1]
    assert "24 January" not in texts["appointment.starts_at"]


def test_nothing_is_told_of_what_identifies_the_person() -> None:
    request = a_request("formal")
    known = [thing.model_copy(update={"secret": thing.id == "me.email"}) for thing in request.known]
    telling = Teller(request.model_copy(update={"known": known}), TALK, Random(1)).tell()
    assert "me.email" not in {fact.id for fact in telling.facts}
    assert telling.reason == request.reason


@pytest.mark.parametrize(
    ("said", "goal"),
    [
        ("how much you charge for a scan", "how much they charge for a scan"),
        ("when I am due with you next", "when you are due with them next"),
        ("what I owe you on my invoice", "what you owe them on your invoice"),
    ],
)
def test_a_goal_speaks_to_the_user_and_of_the_company(said: str, goal: str) -> None:
    request = a_request("precise")
    hear = request.wishes[-1].model_copy(update={"ask": said})
    changed = request.model_copy(update={"wishes": [*request.wishes[:-1], hear]})
    assert f"You want to know {goal}." in Teller(changed, TALK, Random(0)).tell().goal


def test_a_belief_in_a_goal_is_the_user_s() -> None:
    request = a_request("precise")
    hear = request.wishes[-1].model_copy(update={"believed": "appointment.starts_at"})
    changed = request.model_copy(update={"wishes": [*request.wishes[:-1], hear]})
    assert "You believe that it is Friday 24 January at 09:30." in Teller(changed, TALK, Random(0)).tell().goal


def test_all_rows_of_a_status_or_kind_are_left_out_together_and_one_by_its_name() -> None:
    said = {"visit.status": "cancelled", "visit.treatment_name": "check-up", "visit.kind": "refund"}
    for column, words in (
        ("status", "the cancelled ones"),
        ("treatment_name", "the check-up one"),
        ("kind", "the refunds"),
    ):
        row = KnownRow(entity="Appointment", columns={column: f"visit.{column}"})
        found = {one_of_them(TALK, row, said, Random(number)) for number in range(8)}
        assert words in found
        assert all(one.endswith("s") == (column != "treatment_name") for one in found)


@pytest.mark.parametrize(
    ("month", "since", "when"), [(None, False, ""), ("m", True, "(since|from) March( on)?"), ("m", False, "in March")]
)
def test_who_adds_up_all_their_payments_asks_what_they_paid(month: str | None, when: str, *, since: bool) -> None:
    rows = KnownRows(
        entity="Payment",
        columns={},
        month=month,
        since=since,
        excepted=[KnownRow(entity="Payment", columns={"kind": "k"})],
    )
    intent = Intent(kind="hear", tool="list_my_payments", noun="amount", every=rows)
    talk = TALK.model_copy(update={"entities": {**TALK.entities, "Payment": EntityTalk(noun="payment", mine=True)}})
    for number in range(20):
        asked = sum_asked(talk, intent, {"k": "refund", "m": "March"}, Random(number))
        assert re.fullmatch(
            rf"(how much|what) .*\b(paid you|from me)[ a-z]*{' ' if when else ''}{when}, .*the refunds", asked
        ), asked


def test_of_two_rows_that_are_compared_each_has_all_its_words() -> None:
    request = a_request("precise")
    day = request.known[0].model_copy(update={"id": "appointment_2.starts_at", "words": "Monday 3 February at 09:00"})
    again = request.known[1].model_copy(update={"id": "appointment_2.treatment_name"})
    first = request.wishes[0].rows["appointment_id"]
    other = KnownRow(entity="Appointment", columns={"starts_at": day.id, "treatment_name": again.id})
    hear = Intent(
        tool="cancel", kind="hear", ask="compare", noun="fee", compared=True, rows={"row": first, "other": other}
    )
    changed = request.model_copy(update={"wishes": [hear], "known": [*request.known, day, again]})
    for number in range(30):
        assert Teller(changed, TALK, Random(number)).tell().goal.count("check-up") == 2

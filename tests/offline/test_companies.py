"""Words of several companies in one conversation, and what a user only agrees to."""

import pytest

from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.request import Intent, KnownFact, KnownRow, Telling, UserRequest
from skillweave.schema.task import Persona
from skillweave.user_prompt import STYLES
from synth.contracts.visibility import column_origins
from synth.fusion.blueprint import fuse
from synth.offline.phrasing import TERSE, joined
from synth.offline.services import OfflineQuestion, built_in
from synth.offline.task_answers import references, tell
from synth.offline.wording import talk_of_all
from synth.tasks.tellings import untold_task
from tests.gates.clinic_tasks import a_combination
from tests.policy.contracts import a_contract

SEED = 7


@pytest.fixture(scope="module")
def ferry_and_hotel() -> FusedBlueprint:
    return fuse([a_contract("CoastFerry"), a_contract("CityHotel")])


CROSSING = KnownRow(entity="CoastFerry__Reservation", columns={"sailing_code": "reservation.sailing_code"})
STAY = KnownRow(entity="CityHotel__Reservation", columns={"room_type_name": "stay.room_type_name"})


def a_request(style: str = "formal", *, needed: bool = True) -> UserRequest:
    """Cancel a stay, for which the crossing has to be cancelled first."""
    known = [
        KnownFact(id="reservation.sailing_code", value="LM10", words="LM10", type="string", about="reservation: code"),
        KnownFact(
            id="stay.room_type_name", value="Market Double", words="Market Double", type="string", about="stay: type"
        ),
        KnownFact(id="crossing.reason", value="work", words="work", type="string", about="cancel: reason"),
        KnownFact(
            id="stay.reason", value="travel_disruption", words="travel_disruption", type="string", about="c: reason"
        ),
        KnownFact(id="me.email", value="ann@example.com", words="ann@example.com", type="string", about="me: email"),
    ]
    wishes = [
        Intent(
            tool="coast_ferry__cancel_reservation",
            kind="do",
            rows={"reservation_id": CROSSING},
            values={"reason": "crossing.reason"},
            ask="cancel {reservation_id} because of {reason}",
            only_if_needed=needed,
        ),
        Intent(
            tool="city_hotel__cancel_reservation",
            kind="do",
            rows={"reservation_id": STAY},
            values={"reason": "stay.reason"},
            ask="give up {reservation_id} on account of {reason}",
        ),
        Intent(tool="city_hotel__cancel_reservation", kind="hear", ask="what it costs me"),
    ]
    persona = Persona(name="Ann Lee", age=40, style=style, patience=5)
    reason = "No ferry, no hotel."
    return UserRequest(title="t", company="A and B", persona=persona, reason=reason, wishes=wishes, known=known)


def told(request: UserRequest, blueprint: FusedBlueprint, key: str = "k") -> Telling:
    combination = a_combination([]).model_copy(update={"id": key})
    variables = {
        "server": blueprint.server,
        "blueprint": blueprint,
        "tasks": [untold_task(combination, request, blueprint)],
    }
    (telling,) = tell(OfflineQuestion("tasks.tell", "k", variables, SEED))
    return telling


def test_a_noun_that_two_companies_share_says_whose_it_is(ferry_and_hotel: FusedBlueprint) -> None:
    talks = {name: built_in().variant(SEED, name).rendered.talk for name in ("CoastFerry", "CityHotel")}
    talk, companies = talk_of_all(ferry_and_hotel, talks)
    assert talk.entities["CityHotel__Reservation"].noun == "reservation with The Calder House Hotel"
    assert talk.entities["CoastFerry__Reservation"].noun == "reservation with Sandpiper Coast Ferries"
    assert talk.entities["CityHotel__RoomType"].noun == "room type"
    assert companies.titles["city_hotel__book_room"] == "The Calder House Hotel"


def test_an_enum_value_is_said_in_the_words_of_the_company_whose_it_is(ferry_and_hotel: FusedBlueprint) -> None:
    texts = {fact.id: fact.text for fact in told(a_request(), ferry_and_hotel).facts}
    assert texts["crossing.reason"] == "The reason for Sandpiper Coast Ferries: work commitments."
    assert texts["stay.reason"] == "The reason for The Calder House Hotel: trouble with the journey."


def test_what_is_only_agreed_to_is_no_request_and_stands_last_in_the_goal(ferry_and_hotel: FusedBlueprint) -> None:
    goal = told(a_request(), ferry_and_hotel).goal
    asked, _, agreed = goal.partition("If The Calder House Hotel needs it first, you agree to ")
    assert "LM10" in agreed
    assert agreed.startswith("cancel your reservation with Sandpiper Coast Ferries")
    assert asked.startswith("You want to give up your ")
    assert "cancel" not in asked
    assert "what it costs you" in asked


@pytest.mark.parametrize("style", sorted(STYLES))
def test_consent_is_left_out_told_in_general_or_told_in_full(style: str, ferry_and_hotel: FusedBlueprint) -> None:
    ways = set()
    for number in range(60):
        telling = told(a_request(style), ferry_and_hotel, str(number))
        tells = {fact.id: fact.tell for fact in telling.facts}
        in_full = "LM10" in telling.first_message
        assert (tells["reservation.sailing_code"] == "first") == in_full
        assert (tells["crossing.reason"] == "first") == ("work commitments" in telling.first_message)
        in_general = "Sandpiper" in telling.first_message and "work commitments" not in telling.first_message
        ways.add("full" if in_full else "general" if in_general else "none")
        assert telling.first_message.count("give up") == 1
    assert ways == {"general", "none"} | (set() if style in TERSE else {"full"})


def test_a_story_of_several_companies_is_told_with_its_reason(ferry_and_hotel: FusedBlueprint) -> None:
    for style in ("brief", "friendly"):
        messages = [told(a_request(style), ferry_and_hotel, str(number)).first_message for number in range(20)]
        assert all("No ferry, no hotel." in message for message in messages)


@pytest.mark.parametrize(
    ("before", "words", "together"),
    [
        ("by ", "card", "by card"),
        ("by ", "by card", "by card"),
        ("by ", "from my health account", "from my health account"),
        ("from my ", "from my health account", "from my health account"),
        ("my ", "from my health account", "my health account"),
        ("from my ", "health account", "from my health account"),
        ("", "by card", "by card"),
    ],
)
def test_a_value_that_brings_its_preposition_along_is_said_once(before: str, words: str, together: str) -> None:
    assert joined(before, words) == together


def test_a_row_s_words_leave_out_the_company_that_the_phrase_names(ferry_and_hotel: FusedBlueprint) -> None:
    talks = {name: built_in().variant(SEED, name).rendered.talk for name in ("CoastFerry", "CityHotel")}
    _, companies = talk_of_all(ferry_and_hotel, talks)
    words = "my reservation with The Calder House Hotel from 3 May"
    phrase = "give up {reservation_id} at The Calder House Hotel"
    assert companies.without_title(phrase, "CityHotel__Reservation", words) == "my reservation from 3 May"
    assert companies.without_title("give up {reservation_id}", "CityHotel__Reservation", words) == words


def test_a_tool_that_nobody_has_words_for_goes_by_its_own_name(ferry_and_hotel: FusedBlueprint) -> None:
    _, companies = talk_of_all(
        ferry_and_hotel, {name: built_in().variant(SEED, name).rendered.talk for name in ("CoastFerry", "CityHotel")}
    )
    assert companies.tool("city_hotel__redeem_points") == "redeem points with The Calder House Hotel"


def test_both_wishes_are_requests_where_neither_is_only_agreed_to(ferry_and_hotel: FusedBlueprint) -> None:
    goal = told(a_request(needed=False), ferry_and_hotel).goal
    assert goal.startswith("You want to cancel your ")
    assert "After that you want to give up your " in goal
    assert "agree" not in goal


def test_rows_of_each_read_are_referred_to_as_its_company_s_customers_do(ferry_and_hotel: FusedBlueprint) -> None:
    columns = {tool.name: list(column_origins(tool)) for tool in ferry_and_hotel.tools if tool.kind == "read"}
    joined = references(
        OfflineQuestion("tasks.references", "k", {"blueprint": ferry_and_hotel, "columns": columns}, SEED)
    )
    found = {words.read: words.columns for words in joined}
    for server in ("CoastFerry", "CityHotel"):
        blueprint, tools = a_contract(server), ferry_and_hotel.member(server).tools
        own = {tool.name: list(column_origins(tool)) for tool in blueprint.tools if tool.kind == "read"}
        alone = references(OfflineQuestion("tasks.references", "k", {"blueprint": blueprint, "columns": own}, SEED))
        assert alone
        assert {tools[words.read]: words.columns for words in alone}.items() <= found.items()


def test_the_same_question_gives_the_same_words(ferry_and_hotel: FusedBlueprint) -> None:
    assert told(a_request(), ferry_and_hotel) == told(a_request(), ferry_and_hotel)

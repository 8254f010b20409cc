"""Links: which there can be by the contracts alone, and which a story rests on."""

import pytest

from skillweave.schema.fusion import Link, StoryCall, Storyline
from synth.fusion.links import LinkSource, link_faults, link_source, links_of
from tests.gates.services import PAID_FIRST, contract, service

BOTH = {"Clinic": service("Clinic"), "Insurer": service("Insurer")}
VALUE = Link(
    kind="value",
    source="Clinic",
    producer="list_bills",
    column="amount_cents",
    target="Insurer",
    consumer="claim_back",
    parameter="amount_cents",
    why="The bill is claimed.",
)
RULE = Link(
    kind="rule",
    source="Clinic",
    producer="settle_bill",
    entity="Bill",
    attribute="status",
    target="Insurer",
    consumer="claim_back",
    why="Only what is paid is claimed.",
)


@pytest.mark.parametrize(
    "link",
    [
        VALUE,
        VALUE.model_copy(update={"column": "bill_id", "parameter": "reference"}),
        VALUE.model_copy(update={"column": "billed_at", "parameter": "day"}),
        RULE,
        RULE.model_copy(update={"producer": "order_service", "attribute": None}),
    ],
)
def test_what_contracts_allow_is_a_link(link: Link) -> None:
    assert link_faults([link], BOTH) == []


@pytest.mark.parametrize(
    ("link", "change", "fault"),
    [
        (VALUE, {"target": "Clinic"}, "Clinic to Clinic: a link goes from one to the other of Clinic, Insurer"),
        (VALUE, {"source": "Courier"}, "a link goes from one to the other"),
        (VALUE, {"producer": "show_bills"}, "Clinic has no tool 'show_bills'; it has sign_in, list_bills"),
        (VALUE, {"consumer": "list_bills"}, "list_bills is a read; what is needed must be needed by a write"),
        (VALUE, {"column": "total"}, "list_bills returns no 'total'; it returns bill_id, amount_cents"),
        (VALUE, {"parameter": "sum"}, "claim_back takes no 'sum'"),
        (VALUE, {"column": "billed_at"}, "'billed_at' is time, and 'amount_cents' takes money"),
        (
            VALUE,
            {"producer": "sign_in", "column": "full_name", "parameter": "reference"},
            "'full_name' is the person's own and known to every company",
        ),
        (RULE, {"entity": "Ticket"}, "Clinic has no entity 'Ticket'"),
        (RULE, {"attribute": "amount_cents"}, "settle_bill does not change Bill.amount_cents"),
        (RULE, {"attribute": None}, "settle_bill does not change Bill.rows"),
    ],
)
def test_what_contracts_do_not_allow_is_told_in_words(link: Link, change: dict[str, str], fault: str) -> None:
    (told,) = link_faults([link.model_copy(update=change)], BOTH)
    assert fault in told


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("1.claim_id", LinkSource(1, None, "claim_id", False)),
        ("2.bill_id.billed_at", LinkSource(2, "bill_id", "billed_at", False)),
        ("date(12.bill_id.billed_at)", LinkSource(12, "bill_id", "billed_at", True)),
        ("date(1.billed_at", None),
        ("1.billed_at)", None),
        ("claim_id", None),
        ("1.a.b.c", None),
        ("1.a; DROP TABLE bill", None),
    ],
)
def test_links_of_stories_have_two_forms_each_with_its_day(link: str, place: LinkSource | None) -> None:
    assert link_source(link) == place


def story(*calls: StoryCall, **more: object) -> Storyline:
    return Storyline.model_validate({"name": "s", "title": "S", "calls": calls, "reasons": ["I was ill."], **more})


PAY = StoryCall(server="Clinic", tool="settle_bill", demanded_by="B1")
CLAIM = StoryCall(
    server="Insurer",
    tool="claim_back",
    same={"amount_cents": "1.amount_cents", "reference": "1.bill_id.bill_id"},
    given={"day": "2025-03-11"},
)


def test_a_story_rests_on_its_values_from_results_and_rows_and_on_its_rules() -> None:
    fused = contract("Clinic", "Insurer")
    found = list(links_of(story(PAY, CLAIM, bridges=[PAID_FIRST]), fused))
    assert [(link.kind, link.producer, link.column or link.attribute, link.parameter) for link in found] == [
        ("rule", "settle_bill", "status", None),
        ("value", "settle_bill", "amount_cents", "amount_cents"),
        ("value", "list_bills", "bill_id", "reference"),
    ]
    assert {(link.source, link.target) for link in found} == {("Clinic", "Insurer")}
    assert link_faults(found, BOTH) == []


def test_a_row_of_another_company_that_is_named_is_a_link_and_an_own_value_is_none() -> None:
    named = StoryCall(server="Insurer", tool="claim_back", names={"reference": "Clinic.Bill"})
    hurry = StoryCall(server="Insurer", tool="hurry_claim", same={"claim_id": "1.claim_id"})
    (found,) = links_of(story(named, hurry), contract("Clinic", "Insurer"))
    assert (found.producer, found.column, found.consumer, found.parameter) == (
        "list_bills",
        "bill_id",
        "claim_back",
        "reference",
    )

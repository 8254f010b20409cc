"""The interlock gate: tasks that need all their domains get in, tasks that are two laid side by side do not."""

import pytest

from skillweave.schema.combination import Combination, MentionedRow, MentionedValue
from skillweave.schema.criteria import GoldenCall
from skillweave.world.world import World
from synth.gates.interlock import check_interlock, crossings
from synth.tasks.replay import Rejected
from tests.gates.services import AMOUNTS, PAID_FIRST, a_task, bill, call, list_bills, world

PAIR = ("Clinic", "Insurer")
AMOUNT = AMOUNTS["Clinic"]
DAY = MentionedValue(call=2, parameter="day", value="2025-03-11")


def settle(namespace: str, source: str) -> GoldenCall:
    server = namespace.title()
    return call(f"{namespace}__settle_bill", bill_id=(bill(server, 1), source))


def said_bill(at: int, namespace: str, parameter: str = "bill_id") -> MentionedRow:
    """The bill, by when it was sent."""
    server = namespace.title()
    moments = {"Clinic": "2025-01-03 11:30:00", "Insurer": "2025-01-04 11:30:00", "Courier": "2025-01-04 11:30:00"}
    return MentionedRow(
        call=at,
        parameter=parameter,
        entity=f"{server}__Bill",
        key=bill(server, 1),
        read=f"{namespace}__list_bills",
        columns={"billed_at": moments[server]},
    )


def claim(reference: str, amount: str, day: str = "user") -> GoldenCall:
    return call(
        "insurer__claim_back",
        reference=(bill("Clinic", 1) if reference.startswith("call") else "my bill", reference),
        amount_cents=(AMOUNT, amount),
        day=("2025-03-11" if day == "user" else "2025-01-03", day),
    )


def reason(joined: World, combination: Combination) -> str | None:
    """Why the gate rejects a combination; None where it does not."""
    try:
        crossings(joined, combination)
    except Rejected as rejected:
        return rejected.reason
    return None


REFERENCE = MentionedValue(call=2, parameter="reference", value="my bill")
SETTLED = [list_bills("clinic"), settle("clinic", "call 0 [0].bill_id")]


def test_a_value_that_only_the_other_domain_returns_is_a_link() -> None:
    made = a_task(
        [*SETTLED, claim("call 0 [0].bill_id", "call 0 [0].amount_cents")], DAY, rows=[said_bill(1, "clinic")]
    )
    found = crossings(world(*PAIR), made)
    assert [(one.kind, one.source, one.target, one.call, one.parameter, one.origin) for one in found] == [
        ("value", "Clinic", "Insurer", 2, "reference", "call 0 [0].bill_id"),
        ("value", "Clinic", "Insurer", 2, "amount_cents", "call 0 [0].amount_cents"),
    ]


def test_an_amount_that_a_write_returns_is_a_link() -> None:
    made = a_task([*SETTLED, claim("user", "call 1 amount_cents")], DAY, REFERENCE, rows=[said_bill(1, "clinic")])
    assert [one.parameter for one in crossings(world(*PAIR), made)] == ["amount_cents"]


@pytest.mark.parametrize("held_by", ["tool", "agent"])
def test_a_rule_that_asks_for_a_state_of_the_other_domain_is_a_link(held_by: str) -> None:
    joined = world(*PAIR, bridges=[PAID_FIRST.model_copy(update={"enforced_by": held_by})])
    amount = MentionedValue(call=2, parameter="amount_cents", value=AMOUNT)
    made = a_task([*SETTLED, claim("user", "user")], DAY, REFERENCE, amount, rows=[said_bill(1, "clinic")])
    found = crossings(joined, made)
    assert [(one.kind, one.source, one.target, one.rule, one.held_by) for one in found] == [
        ("rule", "Clinic", "Insurer", "B1", held_by)
    ]
    assert check_interlock(joined, made)["without"] == {
        "Clinic": "call 2 (insurer__claim_back) breaks B1",
        "Insurer": "carried out all the same",
    }


SIDE_BY_SIDE = [*SETTLED, list_bills("insurer"), settle("insurer", "call 2 [0].bill_id")]
SAID_BOTH = [said_bill(1, "clinic"), said_bill(3, "insurer")]


def test_two_tasks_laid_side_by_side_are_rejected() -> None:
    assert reason(world(*PAIR), a_task(SIDE_BY_SIDE, rows=SAID_BOTH)) == "not interlocked"


def test_a_sign_in_that_is_left_out_with_its_domain_is_no_link() -> None:
    """It stays: else everything would hang on whoever signs in."""
    signing_in = call("clinic__sign_in", email=("p1@example.org", "user"))
    moved = [
        one.model_copy(update={"grounding": {n: s.replace("call 0", "call 1") for n, s in one.grounding.items()}})
        for one in SETTLED
    ]
    insurer = [list_bills("insurer"), settle("insurer", "call 3 [0].bill_id")]
    rows = [said_bill(2, "clinic"), said_bill(4, "insurer")]
    made = a_task(
        [signing_in, *moved, *insurer], rows=rows, login="conversation", credentials={"email": "p1@example.org"}
    )
    assert reason(world(*PAIR), made) == "not interlocked"


def test_ids_that_are_minted_otherwise_without_the_other_domain_are_no_link() -> None:
    """The clinic's order takes the first number of the session; without it the claim gets that."""
    order = call("clinic__order_service", service=("repair", "user"))
    amount = MentionedValue(call=1, parameter="amount_cents", value=AMOUNT)
    hurry = call("insurer__hurry_claim", claim_id=("INCLA-0002", "call 1 claim_id"))
    said = [DAY, REFERENCE, amount, MentionedValue(call=0, parameter="service", value="repair")]
    assert reason(world(*PAIR), a_task([order, claim("user", "user"), hurry], *said)) == "not interlocked"


def test_a_source_that_the_remaining_domain_offers_too_is_no_link() -> None:
    """The amount is taken from the clinic's list; the insurer's own list happens to show the same."""
    joined = world(*PAIR)
    made = a_task([*SETTLED, claim("user", "call 0 [0].amount_cents")], DAY, REFERENCE, rows=[said_bill(1, "clinic")])
    assert reason(joined, made) is None
    same = {
        "table": "Insurer__Bill",
        "op": "update",
        "key": {"bill_id": bill("Insurer", 1)},
        "before": {"amount_cents": AMOUNTS["Insurer"]},
        "after": {"amount_cents": AMOUNT},
    }
    laundered = Combination.model_validate({**made.model_dump(), "patch": [same]})
    assert reason(joined, laundered) == "not interlocked"


def test_what_the_user_says_is_no_link() -> None:
    told = said_bill(1, "clinic").model_copy(update={"columns": {"amount_cents": AMOUNT}})
    made = a_task([*SETTLED, claim("user", "call 0 [0].amount_cents")], DAY, REFERENCE, rows=[told])
    assert reason(world(*PAIR), made) == "not interlocked"


def test_a_day_is_no_link() -> None:
    amount = MentionedValue(call=2, parameter="amount_cents", value=AMOUNT)
    source = "computed date(call 0 [0].billed_at)"
    made = a_task([*SETTLED, claim("user", "user", day=source)], REFERENCE, amount, rows=[said_bill(1, "clinic")])
    assert reason(world(*PAIR), made) == "not interlocked"
    other = said_bill(1, "clinic").model_copy(update={"columns": {"status": "open"}})
    assert reason(world(*PAIR), made.model_copy(update={"rows": [other]})) == "not interlocked"


def test_a_value_that_is_only_looked_up_with_is_no_link() -> None:
    """What the read would find, the insurer's list shows as well."""
    look_up = call("insurer__find_bills", amount_cents=(AMOUNT, "call 0 [0].amount_cents"))
    golden = [*SETTLED, look_up, settle("insurer", "call 2 [0].bill_id")]
    assert reason(world(*PAIR), a_task(golden, rows=SAID_BOTH)) == "not interlocked"


def test_three_domains_need_links_that_join_all_of_them() -> None:
    joined = world("Clinic", "Courier", "Insurer")
    linked = [*SETTLED, claim("call 0 [0].bill_id", "call 0 [0].amount_cents")]
    courier = [list_bills("courier"), settle("courier", "call 3 [0].bill_id")]
    rows = [said_bill(1, "clinic"), said_bill(4, "courier")]
    assert reason(joined, a_task([*linked, *courier], DAY, rows=rows)) == "not interlocked"
    chained = call(
        "courier__claim_back",
        reference=("INCLA-0001", "call 2 claim_id"),
        amount_cents=(AMOUNT, "call 2 amount_cents"),
        day=("2025-03-11", "user"),
    )
    day = MentionedValue(call=3, parameter="day", value="2025-03-11")
    made = a_task([*linked, chained], DAY, day, rows=[said_bill(1, "clinic")])
    found = {(one.source, one.target) for one in crossings(joined, made)}
    assert {("Clinic", "Insurer"), ("Insurer", "Courier")} <= found


def demanded(reference: str) -> Combination:
    paid = settle("clinic", "call 0 [0].bill_id").model_copy(update={"demanded_by": "B1"})
    golden = [list_bills("clinic"), paid, claim(reference, "call 0 [0].amount_cents")]
    return a_task(golden, DAY, rows=[said_bill(1, "clinic")])


def test_a_demanded_call_without_which_the_rule_is_broken_is_kept() -> None:
    joined = world(*PAIR, bridges=[PAID_FIRST])
    assert reason(joined, demanded("call 0 [0].bill_id")) is None
    figure = check_interlock(joined, demanded("call 0 [0].bill_id"))
    assert figure["demanded"] == {"B1": [1]}
    # The claim has lost its reference; made all the same, it would break the rule.
    found = crossings(joined, demanded("call 0 [0].bill_id"))
    assert [one.rule or one.parameter for one in found] == ["reference", "amount_cents", "B1"]


def test_a_demanded_call_without_which_nothing_is_broken_is_rejected() -> None:
    of_others = PAID_FIRST.holds.replace("= :person", "<> :person AND 0")
    joined = world(*PAIR, bridges=[PAID_FIRST.model_copy(update={"holds": of_others})])
    assert reason(joined, demanded("call 0 [0].bill_id")) == "demanded by nothing"


def test_a_call_that_fails_for_another_reason_is_no_link_but_a_defect() -> None:
    """The insurer's claim can be hurried only once it is made; nothing of the clinic has to do with it."""
    hurry = call("insurer__hurry_claim", claim_id=("INCLA-0009", "user"))
    made = a_task([*SETTLED, hurry], MentionedValue(call=2, parameter="claim_id", value="INCLA-0009"))
    assert reason(world(*PAIR), made) == "interlock cannot be tried"

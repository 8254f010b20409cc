"""Sessions of a fused world: one person, an account in each domain, one clock and one count of ids."""

from random import Random

import pytest

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.contract import CallResult, RowChange
from skillweave.world.canonical import canonical, dump
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from tests.world.fused.domains import DOMAINS, a_fused_world, a_world, account

WORLD = a_fused_world()
ANA, BEN, CLEO = "PAT-P001", "PAT-P002", "PAT-P003"
HELD = (
    "NOT EXISTS (SELECT 1 FROM Clinic__Visit AS v JOIN Patient AS p ON p.Clinic = v.patient_id "
    "WHERE p.person_id = :person AND v.status = 'open') AND :caller <> :person"
)
BRIDGE = BridgeRule(
    rule="B1",
    tool="gym__visit",
    concern="eligibility",
    holds=HELD,
    error="still_at_the_clinic",
    says="First the clinic.",
)


def code(result: CallResult) -> str | None:
    return result.error.code if result.error else None


def test_the_caller_is_the_person_and_each_domain_has_its_own_account() -> None:
    with WORLD.session(caller=ANA) as session:
        accounts = [session.account(f"{space}__visit") for space in ("clinic", "gym", "insurer")]
        visits = session.call("gym__list_visits", {})
    assert (session.caller, accounts) == (ANA, ["CP-0001", "GP-0001", "IP-0001"])
    assert visits.value == [{"visit_id": "GV-0001", "status": "open"}]


def test_in_a_single_world_the_account_is_the_caller() -> None:
    with a_world("Gym").session(caller="GP-0001") as session:
        assert session.account("visit") == "GP-0001"
    with a_world("Gym").session() as session:
        assert session.account("visit") is None


def test_who_has_no_account_in_a_domain_is_told_so_and_is_served_by_the_others() -> None:
    with WORLD.session(caller=CLEO) as session:
        refused = session.call("insurer__visit", {})
        assert (code(refused), refused.minted, session.account("insurer__visit")) == ("no_account_here", [], None)
        assert refused.error is not None
        assert refused.error.message == "The user has no account with The Insurer."
        assert session.call("clinic__visit", {}).ok
        assert code(session.call("insurer__visit", {"nonsense": 1})) == "invalid_arguments"


@pytest.mark.parametrize("space", ["clinic", "gym", "insurer"])
def test_signing_in_with_any_member_signs_in_for_all(space: str) -> None:
    with WORLD.session() as session:
        assert code(session.call("gym__visit", {})) == "not_authenticated"
        assert session.call(f"{space}__identify", {"email": "ben@example.com"}).ok
        assert session.caller == BEN
        assert all(session.call(f"{other}__my_profile", {}).ok for other in ("clinic", "gym", "insurer"))


def test_a_second_sign_in_may_be_of_the_same_person_and_of_nobody_else() -> None:
    with WORLD.session() as session:
        session.call("clinic__identify", {"email": "ana@example.com"})
        assert session.call("insurer__identify", {"email": "ana@example.com"}).ok
        assert code(session.call("insurer__identify", {"email": "ben@example.com"})) == "already_authenticated"
        assert session.caller == ANA
    with WORLD.session() as session:
        session.call("clinic__identify", {"email": "cleo@example.com"})
        assert code(session.call("gym__identify", {"email": "cleo@example.com"})) == "no_match"
        assert (session.caller, code(session.call("gym__visit", {}))) == (CLEO, "no_account_here")


def test_who_is_signed_in_is_offered_no_sign_in_of_any_member() -> None:
    offered = {"clinic__identify", "gym__identify", "insurer__identify"}
    with WORLD.session() as nobody, WORLD.session(caller=ANA) as somebody:
        assert code(nobody.call("gym__identify", {"email": "x"})) == "no_match"
        assert {code(somebody.call(name, {"email": "ana@example.com"})) for name in offered} == {"unknown_tool"}


def test_a_world_tells_whom_all_of_its_domains_serve_and_what_each_knows_of_them() -> None:
    assert WORLD.callers == [ANA, BEN]
    assert a_fused_world(servers=["Gym", "Insurer"]).callers == [ANA, BEN]
    assert a_world("Clinic").callers == ["CP-0001", "CP-0002", "CP-0003"]
    row = {"guest_id": "GP-0001", "full_name": "Ana Lopez", "email": "ana@example.com", "note": None, "is_vip": True}
    assert WORLD.row_of(ANA, "gym__visit") == row
    assert a_world("Gym").row_of("GP-0001", "visit") == row
    assert WORLD.row_of(CLEO, "gym__visit") is None
    assert WORLD.row_of("PAT-P999", "clinic__visit") is None
    assert (WORLD.person_of("Gym", "GP-0002"), WORLD.person_of("Gym", "CP-0002")) == (BEN, None)


def test_a_patch_may_give_somebody_an_account() -> None:
    opened = [
        RowChange(
            table="Patient", op="update", key={"person_id": CLEO}, before={"Gym": None}, after={"Gym": "GP-0003"}
        ),
        RowChange(
            table="Gym__Guest",
            op="insert",
            key={"guest_id": "GP-0003"},
            after={"guest_id": "GP-0003", "note": None, "is_vip": False},
        ),
    ]
    with WORLD.session(caller=CLEO, patch=opened) as session:
        assert session.call("gym__visit", {}).ok
        assert [change.table for change in session.diff()] == ["Gym__Visit"]


def test_a_bridge_rule_is_tried_on_the_state_of_the_other_domain_and_held_by_the_tool() -> None:
    with a_fused_world([BRIDGE]).session(caller=ANA) as session:
        refused = session.call("gym__visit", {})
        assert refused.error is not None
        assert (refused.error.code, refused.error.rule) == ("still_at_the_clinic", "B1")
        assert session.call("clinic__finish", {"visit_id": "CV-0001"}).ok
        assert session.call("gym__visit", {}).ok


def test_a_bridge_rule_that_the_agent_holds_is_a_violation_where_it_is_broken() -> None:
    with a_fused_world([BRIDGE.model_copy(update={"enforced_by": "agent"})]).session(caller=ANA) as session:
        assert session.call("gym__visit", {}).violations == ["B1"]
        session.call("clinic__finish", {"visit_id": "CV-0001"})
        assert session.call("gym__visit", {}).violations == []


def test_undo_points_hold_over_domains() -> None:
    with WORLD.session(caller=ANA) as session:
        session.call("clinic__visit", {})
        mark, before = session.mark(), session.diff()
        first = session.call("gym__visit", {})
        session.call("insurer__finish", {"visit_id": "IV-0001"})
        session.undo(mark)
        assert session.diff() == before
        assert session.call("gym__visit", {}) == first
        session.forget(mark)
        assert (session.diff(), len(session.results)) == (before, 1)


@pytest.mark.parametrize("seed", range(4))
def test_interleaved_domains_do_in_one_session_what_they_do_side_by_side(seed: int) -> None:
    singles = {server: a_world(server) for server in DOMAINS}
    random = Random(f"interleaved {seed}")
    person = random.choice([ANA, BEN])
    alone = {server: world.session(caller=account(server, person)) for server, world in singles.items()}
    renamed: dict[str, dict[str, str]] = {server: {} for server in DOMAINS}
    with WORLD.session(caller=person) as together:
        for _ in range(40):
            server, tool, arguments = _drawn(random, alone)
            one = alone[server].call(tool, arguments)
            held = {name: renamed[server].get(value, value) for name, value in arguments.items()}
            other = together.call(f"{server.lower()}__{tool}", held)
            renamed[server].update(zip(one.minted, other.minted, strict=True))
            assert (other.ok, code(other), other.changed) == (one.ok, code(one), one.changed)
            assert dump(other.value) == _written(dump(one.value), renamed[server])
        for server, session in alone.items():
            own = [change for change in together.diff() if change.table.startswith(f"{server}__")]
            assert canonical(own, together.minted) == canonical(
                [_fused(WORLD, server, change) for change in session.diff()], session.minted
            )
            session.close()


def _drawn(random: Random, alone: dict[str, ContractSession]) -> tuple[str, str, dict[str, str]]:
    server = random.choice(sorted(alone))
    tool = random.choice(["visit", "finish", "set_note", "list_visits", "my_profile"])
    visits = [str(row["visit_id"]) for row in alone[server].rows("visit")]
    return server, tool, {"visit_id": random.choice([*visits, "CV-9999"])} if tool == "finish" else {}


def _written(text: str, renamed: dict[str, str]) -> str:
    # From the last on: the fused session's numbers are the higher ones.
    for one, other in sorted(renamed.items(), reverse=True):
        text = text.replace(one, other)
    return text


def _fused(world: World, server: str, change: RowChange) -> RowChange:
    assert isinstance(world.blueprint, FusedBlueprint)
    return change.model_copy(update={"table": world.blueprint.member(server).tables[change.table]})

"""Planted faults: each shows as it should, and none is moved by anything but its own call."""

import json
from typing import Any

import pytest

from skillweave.schema.contract import CallResult
from skillweave.schema.task import Noise
from skillweave.world.noise import ERRORS, FIELDS, INSTRUCTIONS
from skillweave.world.session import ContractSession
from skillweave.world.tools import result_text
from skillweave.world.world import World
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

SLOTS: tuple[str, dict[str, Any]] = ("find_slots", {})
BOOK: tuple[str, dict[str, Any]] = ("book_appointment", {"slot_id": "SLO-0001"})
OWN: tuple[str, dict[str, Any]] = ("list_appointments", {})


@pytest.fixture(scope="module")
def world() -> World:
    return a_world()


def planted(fault: str, tool: str, arguments: Any = None, occurrence: int = 1) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "occurrence": occurrence, "fault": fault}


def noise(*faults: dict[str, Any], seed: int = 7) -> Noise:
    return Noise.model_validate({"seed": seed, "faults": faults})


def opened(world: World, *faults: dict[str, Any], seed: int = 7, **changes: Any) -> ContractSession:
    return world.session(a_task(noise=noise(*faults, seed=seed), **changes))


def made(session: ContractSession, *calls: tuple[str, dict[str, Any]]) -> list[CallResult]:
    return [session.call(tool, arguments) for tool, arguments in calls]


@pytest.mark.parametrize("fault", ["timeout", "temporary_error"])
def test_a_call_that_fails_for_now_changes_nothing_and_succeeds_when_made_again(world: World, fault: Any) -> None:
    with opened(world, planted(fault, "book_appointment")) as session:
        first, second = made(session, BOOK, BOOK)
        assert first.error == ERRORS[fault]
        assert not first.minted
        assert second.ok
        with world.session(a_task()) as calm:
            assert made(calm, BOOK)[0] == second
            assert calm.diff() == session.diff()


def test_a_partial_page_lacks_rows_and_says_so(world: World) -> None:
    with opened(world, planted("partial_page", "find_slots")) as session:
        part, whole = (result.value for result in made(session, SLOTS, SLOTS))
        assert isinstance(part, dict)
        assert isinstance(whole, list)
        assert part["partial"] is True
        assert isinstance(part["rows"], list)
        assert 0 < len(part["rows"]) < len(whole)
        assert [row for row in whole if row in part["rows"]] == part["rows"]
        assert f"{len(part['rows'])} of {len(whole)}" in str(part["message"])


def test_a_stale_read_is_that_of_before_the_last_write_and_none_without_one(world: World) -> None:
    fault = planted("stale_read", "list_appointments", {}, 2)
    with opened(world, fault) as session:
        before, _, stale, fresh = made(session, OWN, BOOK, OWN, OWN)
        assert stale.value == before.value
        assert fresh.value != before.value
    with opened(world, fault) as session:
        first, second = made(session, OWN, OWN)
        assert first == second


def test_reordered_keys_are_another_order_of_the_same_content(world: World) -> None:
    with opened(world, planted("reordered_keys", "find_slots")) as session:
        other, plain = made(session, SLOTS, SLOTS)
        assert other.value == plain.value
        assert result_text(other) != result_text(plain)


def test_an_instruction_is_one_more_field_of_one_row(world: World) -> None:
    with opened(world, planted("injected_instruction", "find_slots")) as session:
        told, plain = (result.value for result in made(session, SLOTS, SLOTS))
        assert isinstance(told, list)
        assert isinstance(plain, list)
        changed = [(one, other) for one, other in zip(told, plain, strict=True) if one != other]
        assert len(changed) == 1
        one, other = changed[0]
        assert isinstance(one, dict)
        assert isinstance(other, dict)
        (name,) = one.keys() - other.keys()
        assert name in FIELDS
        assert one[name] in INSTRUCTIONS
        assert {key: value for key, value in one.items() if key != name} == other


def test_another_call_moves_no_fault(world: World) -> None:
    faults = [
        planted("timeout", "find_slots", {"date": "2025-01-22"}, 2),
        planted("injected_instruction", "list_appointments", {}, 1),
    ]
    wanted = ("find_slots", {"date": "2025-01-22"})
    others = [SLOTS, ("find_slots", {"date": "2025-01-23"}), ("no_such_tool", {}), ("find_slots", {"x": 1}), BOOK]
    with opened(world, *faults) as session, opened(world, *faults) as busy:
        plain = made(session, wanted, wanted, wanted, OWN)
        between = []
        for call in (wanted, wanted, wanted):
            between += made(busy, *others[:4], call)[-1:]
        between += made(busy, OWN)
        assert [result_text(result) for result in between] == [result_text(result) for result in plain]
        assert [result.ok for result in plain] == [True, False, True, True]


def test_null_and_left_out_are_the_very_same_call(world: World) -> None:
    with opened(world, planted("timeout", "find_slots", {"date": None}, 2)) as session:
        assert [result.ok for result in made(session, SLOTS, ("find_slots", {"date": None}), SLOTS)] == [
            True,
            False,
            True,
        ]


def test_going_back_takes_the_faults_back(world: World) -> None:
    with opened(
        world, planted("timeout", "find_slots", {}, 1), planted("partial_page", "find_slots", {}, 2)
    ) as session:
        mark = session.mark()
        first = [result_text(result) for result in made(session, SLOTS, SLOTS, SLOTS)]
        session.undo(mark)
        assert [result_text(result) for result in made(session, SLOTS, SLOTS, SLOTS)] == first
        session.undo(mark)
        assert result_text(session.peek(*SLOTS)) == first[0]
        assert result_text(made(session, SLOTS)[0]) == first[0]


def test_the_seed_draws_the_details(world: World) -> None:
    found = set()
    for seed in range(8):
        with opened(world, planted("injected_instruction", "find_slots"), seed=seed) as session:
            found.add(result_text(made(session, SLOTS)[0]))
    assert len(found) > 4


def test_signing_in_and_handing_over_are_never_befallen(world: World) -> None:
    faults = [planted("timeout", tool) for tool in ("identify_patient", "transfer_to_human", "find_slots")]
    task: dict[str, Any] = {"login": "conversation"}
    known = {"email": "ana@example.com", "date_of_birth": "1981-03-01"}
    with opened(world, *faults, **task) as session, world.session() as calm:
        for call in (SLOTS, ("identify_patient", known), ("transfer_to_human", {"reason": "policy", "summary": "."})):
            assert session.call(*call) == calm.call(*call)


HOSTILE: list[Any] = [{"date": object()}, {"date": float("nan")}, {1: 2}, [], None, {"date": "\ud800"}]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_is_no_call_is_answered_as_without_faults(world: World, hostile: Any) -> None:
    fault = planted("timeout", "find_slots", {}, 1)
    with opened(world, fault) as session, world.session(a_task()) as calm:
        expected = calm.call("find_slots", hostile).error
        assert session.call("find_slots", hostile).error == expected


def test_a_task_without_noise_has_no_faults_at_all(world: World) -> None:
    with world.session(a_task()) as session:
        assert json.loads(result_text(session.call(*SLOTS)))[0]["slot_id"].startswith("SLO-")
        assert all(result.ok for result in made(session, SLOTS, BOOK, OWN, OWN))

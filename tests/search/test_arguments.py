"""The search for arguments: what it yields does what was asked of it, shown by making the call."""

from itertools import islice
from random import Random

import pytest

from skillweave.schema.record import Value
from skillweave.world.world import World
from synth.search.arguments import Arguments, ArgumentSearch, argument_search
from synth.simulation.build import simulate_history
from synth.simulation.generation import state_of
from synth.simulation.history import HistoryPlan
from tests.gates import services
from tests.gates.clinic_tasks import with_tools
from tests.simulation.worlds import NOW, a_blueprint, reference_rows
from tests.world.clinic import APPOINTMENT, a_world


@pytest.fixture(scope="module", params=["tool", "agent"])
def world(request: pytest.FixtureRequest) -> World:
    domain = "CornerPharmacy"
    built = simulate_history(a_blueprint(domain), reference_rows(domain), NOW, HistoryPlan(visits=150, days=20), "7/a")
    blueprint = a_blueprint(domain, soft_rules=request.param)
    return World(blueprint, state_of(built.rows, blueprint), now=NOW)


def test_calls_found_to_meet_the_guards_go_through_lawfully(world: World) -> None:
    random, found = Random(1), 0
    with world.session() as session:
        for row in session.rows(world.blueprint.core.table)[:12]:
            session.caller = str(row[world.blueprint.core.key])
            for tool in world.blueprint.tools:
                if tool.kind == "auth":
                    continue
                search = ArgumentSearch(world.blueprint, tool, session, session.caller, NOW, random)
                for arguments in islice(search.meeting(), 3):
                    result = session.peek(tool.name, arguments)
                    assert (result.ok, result.violations) == (True, []), (tool.name, arguments, result)
                    found += 1
    assert found > 50


def test_calls_found_to_break_a_guard_break_it_first(world: World) -> None:
    random, found = Random(1), 0
    with world.session() as session:
        for row in session.rows(world.blueprint.core.table)[:6]:
            session.caller = str(row[world.blueprint.core.key])
            for tool in world.blueprint.tools:
                for guard in tool.guards if tool.kind != "auth" else []:
                    search = ArgumentSearch(world.blueprint, tool, session, session.caller, NOW, random)
                    for arguments in islice(search.breaking(guard.rule), 2):
                        result = session.peek(tool.name, arguments)
                        if guard.enforced_by == "tool":
                            assert result.error, (tool.name, arguments)
                            assert result.error.rule == guard.rule, (tool.name, arguments)
                        else:
                            assert result.violations[:1] == [guard.rule], (tool.name, arguments)
                        found += 1
    assert found > 50


def test_a_guard_broken_alone_is_the_only_one_broken(world: World) -> None:
    random, found = Random(1), 0
    with world.session() as session:
        for row in session.rows(world.blueprint.core.table)[:6]:
            session.caller = str(row[world.blueprint.core.key])
            for tool in world.blueprint.tools:
                for guard in tool.guards:
                    if guard.enforced_by != "agent":
                        continue
                    search = ArgumentSearch(world.blueprint, tool, session, session.caller, NOW, random)
                    for arguments in islice(search.breaking(guard.rule, alone=True), 1):
                        result = session.peek(tool.name, arguments)
                        assert (result.ok, result.violations) == (True, [guard.rule]), (tool.name, arguments)
                        found += 1
    assert found > 5 or all(guard.enforced_by == "tool" for tool in world.blueprint.tools for guard in tool.guards)


def test_given_arguments_are_kept_and_an_unlawful_one_finds_nothing() -> None:
    world = a_world()
    tool = next(tool for tool in world.blueprint.tools if tool.kind == "write")
    with world.session() as session:
        session.caller = str(session.rows("patient")[0]["patient_id"])
        free = ArgumentSearch(world.blueprint, tool, session, session.caller, session.now, Random(1))
        arguments = next(free.meeting())
        name, value = next(iter(arguments.items()))
        fixed = ArgumentSearch(world.blueprint, tool, session, session.caller, session.now, Random(1), {name: value})
        assert next(fixed.meeting())[name] == value
        wrong = ArgumentSearch(world.blueprint, tool, session, session.caller, session.now, Random(1), {name: "NONE-1"})
        assert next(wrong.meeting(), None) is None


def test_the_same_seed_finds_the_same_calls() -> None:
    world = a_world()
    with world.session() as session:
        session.caller = str(session.rows("patient")[0]["patient_id"])
        for tool in world.blueprint.tools:
            first, second = (
                list(
                    islice(
                        ArgumentSearch(
                            world.blueprint, tool, session, session.caller, session.now, Random(5)
                        ).meeting(),
                        4,
                    )
                )
                for _ in range(2)
            )
            assert first == second


def test_an_unknown_rule_is_a_key_error() -> None:
    world = a_world()
    with world.session() as session, pytest.raises(KeyError):
        ArgumentSearch(world.blueprint, world.blueprint.tools[0], session, None, session.now, Random(1)).breaking(
            "R999"
        )


def test_a_guard_over_two_domains_is_met_for_the_person_whose_key_the_tool_s_domain_has() -> None:
    joined = services.world("Clinic", "Insurer", bridges=[services.PAID_FIRST])
    with joined.session(caller="PER-P001") as session:
        claim = joined.blueprint.tool("insurer__claim_back")
        assert next(argument_search(session, claim, Random(1)).meeting(), None) is None
        assert session.call("clinic__settle_bill", {"bill_id": services.bill("Clinic", 1)}).ok
        found = next(argument_search(session, claim, Random(1)).meeting())
        assert session.call(claim.name, found).ok


TOGETHER = [
    {"reason": "illness", "statement": "I have a fever."},
    {"reason": "illness", "statement": "My back hurts."},
    {"reason": "travel", "statement": "I am abroad that week."},
]


def explaining(holds: str = "1", required: bool = True) -> World:
    """A clinic where who writes a note gives a reason and a statement; a guard asks something of them."""
    reason = {"name": "reason", "type": "string", "enum": ["illness", "travel", "other"], "description": "Why."}
    statement = {"name": "statement", "type": "string", "description": "In words.", "required": required}
    guard = {"rule": "R40", "concern": "eligibility", "holds": holds, "error": "not_so", "says": "So."}
    note = "UPDATE appointment SET note = :statement, cancel_reason = :reason WHERE appointment_id = :appointment_id"
    return with_tools(
        {
            "name": "tell_why",
            "description": "Explain an appointment.",
            "kind": "write",
            "parameters": [APPOINTMENT, reason, statement],
            "guards": [guard],
            "effects": [{"rule": "R41", "sql": note, "says": "So."}],
            "returns": {"rows": "many", "select": "SELECT appointment_id FROM appointment ORDER BY appointment_id"},
            "examples": TOGETHER,
        }
    )


def found_in(world: World, search: str, fixed: dict[str, Value] | None = None, seed: int = 1) -> list[Arguments]:
    with world.session(caller="PAT-0001") as session:
        made = argument_search(session, world.blueprint.tool("tell_why"), Random(seed), fixed)
        return list(islice(made.meeting() if search == "meeting" else made.breaking(search), 60))


def pairs(found: list[Arguments]) -> list[tuple[Value, Value]]:
    return [(one.get("reason"), one.get("statement")) for one in found]


ROWS_GIVEN = {(row["reason"], row["statement"]) for row in TOGETHER}


def test_what_goes_together_is_drawn_together_as_far_as_guards_allow() -> None:
    assert {*pairs(found_in(explaining(), "meeting"))} == ROWS_GIVEN
    travelling = found_in(explaining(":reason = 'travel' AND length(:statement) > 3"), "meeting")
    assert {*pairs(travelling)} == {("travel", "I am abroad that week.")}
    assert found_in(explaining(":reason = 'other'"), "meeting") == []


def test_an_optional_one_may_be_left_out_and_the_other_stays() -> None:
    found = [pairs(found_in(explaining(required=False), "meeting", seed=seed))[0] for seed in range(20)]
    assert {*found} <= ROWS_GIVEN | {("illness", None), ("travel", None)}
    assert {statement is None for _, statement in found} == {True, False}


def test_beside_what_is_given_already_what_goes_with_it_comes_first() -> None:
    found = pairs(found_in(explaining(), "meeting", {"reason": "travel"}))
    assert found[0] == ("travel", "I am abroad that week.")
    assert ("travel", "My back hurts.") in found
    assert pairs(found_in(explaining(), "meeting", {"reason": "other"}))[0][1] in {row["statement"] for row in TOGETHER}


def test_a_guard_on_them_is_still_broken_by_odd_values() -> None:
    assert "" in {statement for _, statement in pairs(found_in(explaining("length(:statement) > 3"), "R40"))}
    assert {reason for reason, _ in pairs(found_in(explaining(":reason <> 'other'"), "R40"))} == {"other"}
    first = pairs(found_in(explaining(":reason <> 'travel'"), "R40"))[0]
    assert first == ("travel", "I am abroad that week.")

"""Diversity: what golden calls reach of a contract, and what they leave."""

from skillweave.schema.reports import DuplicateCounts
from synth.reports.diversity import coverage_of, diversity_of
from tests.reports.tasks_with_openings import told
from tests.world.clinic import a_world

CLINIC = a_world().blueprint
LIST: tuple[str, dict[str, str]] = ("list_appointments", {})
CANCEL = ("cancel_appointment", {"appointment_id": "APT-0001"})


def test_what_golden_calls_reach_is_counted_and_the_rest_named() -> None:
    found = coverage_of(CLINIC, [told("a", "Hi", LIST, CANCEL), told("b", "Hi", LIST, CANCEL)])
    assert found.tools.reached == 2
    assert "cancel_appointment" not in found.tools.missing
    assert "move_appointment" in found.tools.missing
    assert (found.pairs.reached, found.pairs.all) == (1, len(CLINIC.tools) ** 2)
    effects = {effect.rule for effect in CLINIC.tool("cancel_appointment").effects}
    assert effects
    assert not effects & set(found.effects.missing)


def test_a_rule_that_a_request_would_break_is_reached() -> None:
    rule = CLINIC.tool("cancel_appointment").guards[0].rule
    refused = told(
        "a",
        "Hi",
        LIST,
        kind="refuse",
        criteria={
            "state": [],
            "must_not": [{"rule": rule, "table": "appointment", "why": ""}],
            "asked": {"tool": "cancel_appointment", "arguments": {}},
            "reward_basis": ["state", "policy"],
        },
    )
    found = coverage_of(CLINIC, [refused])
    assert rule not in found.rules.missing
    assert "cancel_appointment" not in found.tools.missing
    assert found.effects.reached == 0


def test_worlds_are_told_apart_and_together() -> None:
    tasks = {
        "SmallClinic": [told("a", "Hi", LIST), told("b", "Good day to you", CANCEL, split="test")],
        "Elsewhere": [told("c", "Hello", LIST)],
    }
    removed = {"SmallClinic": DuplicateCounts(tasks=3, exact=1, near=0, across=0)}
    found = diversity_of(tasks, {"SmallClinic": CLINIC, "Elsewhere": CLINIC}, removed, ["Elsewhere"])
    assert (found.tasks, found.structures, found.splits) == (3, 3, {"train": 2, "validation": 0, "test": 1})
    assert found.duplicates == removed["SmallClinic"]
    assert found.coverage.tools.all == 2 * len(CLINIC.tools)
    assert found.worlds["Elsewhere"].duplicates is None
    assert found == diversity_of(
        dict(reversed(tasks.items())), {"SmallClinic": CLINIC, "Elsewhere": CLINIC}, removed, ["Elsewhere"]
    )

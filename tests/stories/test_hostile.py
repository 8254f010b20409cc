"""What is wrong with an author's stories is told before any of them is tried."""

from typing import Any

import pytest

from skillweave.schema.blueprint import BridgeRule
from skillweave.schema.fusion import StoryCall, Storyline
from synth.stories.faults import story_faults
from tests.fusion.companies import FINES_FIRST, ILL, PLANS_ONLY, joint

CANCEL = StoryCall(server="Airline", tool="cancel_booking")
WAIVE = StoryCall(server="Library", tool="waive_fine")


def a_story(*calls: StoryCall, name: str = "story", bridges: tuple[BridgeRule, ...] = ()) -> Storyline:
    return Storyline(name=name, title="A story", calls=list(calls), reasons=["I am ill."], bridges=list(bridges))


def test_a_story_of_both_with_its_rule_is_sound() -> None:
    assert story_faults([a_story(CANCEL, WAIVE, bridges=(ILL,))], joint()) == []


def test_stories_share_a_rule_only_as_it_is() -> None:
    other = ILL.model_copy(update={"holds": f"NOT ({ILL.holds})"})
    both = [a_story(CANCEL, WAIVE, bridges=(rule,), name=f"story_{n}") for n, rule in enumerate((ILL, ILL))]
    assert story_faults(both, joint()) == []
    found = story_faults([both[0], a_story(CANCEL, WAIVE, bridges=(other,))], joint())
    assert any(f"bridge rule {ILL.rule!r} is given in two ways" in fault for fault in found)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"tool": "airline__fly"}, "no tool that changes something"),
        ({"holds": "EXISTS (SELECT 1 FROM sqlite_master)"}, "unknown table 'sqlite_master'"),
        ({"holds": "PRAGMA table_list"}, "must be an expression"),
        ({"error": "no_account_here"}, "the engine's own"),
    ],
)
def test_a_rule_that_cannot_be_run_goes_back_to_the_stories_author(change: dict[str, str], fault: str) -> None:
    for rule in (FINES_FIRST, PLANS_ONLY):
        found = story_faults([a_story(CANCEL, WAIVE, bridges=(rule.model_copy(update=change),))], joint())
        assert any(fault in one for one in found), found


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"names": {"booking_id": "None.Person"}}, "it must be one of Airline."),
        ({"names": {"booking_id": "Library.Fine"}, "given": {"booking_id": "BOO-1"}}, "is given in two ways"),
        ({"ask": ["cancel {booking_id.__class__}"]}, "holds '{booking_id.__class__}'"),
        ({"ask": ["cancel {"]}, "holds '{'"),
        ({"same": {"booking_id": "9" * 5000 + ".fine_id"}}, "is not of the form"),
    ],
)
def test_an_argument_has_one_source_and_phrases_name_arguments(change: dict[str, Any], fault: str) -> None:
    found = story_faults([a_story(WAIVE, CANCEL.model_copy(update=change))], joint())
    assert any(fault in one for one in found), found

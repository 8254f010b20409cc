"""Persons are allotted to splits so that few instances are lost, and nobody is in two."""

from skillweave.schema.task import Split
from synth.tasks.splits import SplitDemand, allot_persons

CALLERS = [f"P{number}" for number in range(10)]


def kept(place: dict[str, Split], wants: list[SplitDemand]) -> list[int]:
    """How many instances each want has."""
    return [min(want.most, sum(place[caller] == want.split for caller in want.callers)) for want in wants]


def test_a_split_takes_persons_whom_others_need_least() -> None:
    wants = [SplitDemand("train", frozenset(CALLERS[:4]), 4), SplitDemand("test", frozenset(CALLERS), 4)]
    place = allot_persons(CALLERS, wants)
    assert kept(place, wants) == [4, 4]
    assert {place[caller] for caller in CALLERS[:4]} == {"train"}


def test_the_only_instance_of_a_template_weighs_more_than_one_of_many() -> None:
    wants = [SplitDemand("train", frozenset(CALLERS), 10), SplitDemand("test", frozenset({"P3"}), 5)]
    place = allot_persons(CALLERS, wants)
    assert kept(place, wants) == [9, 1]


def test_persons_without_an_instance_are_shared_out() -> None:
    wants = [SplitDemand("train", frozenset(), 5)] * 8 + [
        SplitDemand("test", frozenset(), 5),
        SplitDemand("validation", frozenset(), 5),
    ]
    place = allot_persons(CALLERS, wants)
    assert sorted(place.values()).count("test") == 2
    assert sorted(place.values()).count("validation") == 2


def test_one_split_has_everybody() -> None:
    assert set(allot_persons(CALLERS, [SplitDemand("test", frozenset(CALLERS[:2]), 5)]).values()) == {"test"}
    assert set(allot_persons(CALLERS, []).values()) == {"train"}


def test_the_split_for_which_nobody_was_tried_keeps_half_of_its_share() -> None:
    wants = [SplitDemand("train", frozenset(), 5)] * 4 + [SplitDemand("test", frozenset(CALLERS), 10)] * 4
    assert list(allot_persons(CALLERS, wants).values()).count("train") == 3


def test_the_same_wants_allot_alike() -> None:
    wants = [SplitDemand("train", frozenset(CALLERS[2:]), 5), SplitDemand("test", frozenset(CALLERS[::2]), 3)]
    assert allot_persons(CALLERS, wants) == allot_persons(CALLERS, wants)

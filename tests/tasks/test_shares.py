"""The mix of a world's tasks: goals hold their share, and what is left out is what covers nothing new."""

from collections.abc import Mapping
from fractions import Fraction

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.task import Kind
from skillweave.schema.template import TaskTemplate
from synth.tasks.splits import combinations_over_share
from tests.gates.clinic_tasks import a_combination, a_template


def templates(**kinds: Kind) -> list[TaskTemplate]:
    """`refuse_R1="refuse"` is a template that breaks R1."""
    return [
        a_template(id=name, kind=kind, forbidden=name.rpartition("_")[2] if kind == "refuse" else None)
        for name, kind in kinds.items()
    ]


def instances(**counts: int) -> list[Combination]:
    return [
        a_combination([], id=f"{name}/{number}", template=name, steps=[])
        for name, count in counts.items()
        for number in range(count)
    ]


def able(made: list[Combination]) -> dict[str, list[Combination]]:
    return {name: [one for one in made if one.template == name] for name in {one.template for one in made}}


def count(made: list[Combination]) -> Mapping[str, int]:
    return {name: len(found) for name, found in able(made).items()}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.6, 0.9, 1])
def test_goals_hold_their_share(share: float) -> None:
    known = templates(a="do", b="inform", refuse_R1="refuse", clarify="clarify", unavailable="unavailable")
    made = instances(a=6, b=3, refuse_R1=40, clarify=30, unavailable=20)
    cut = combinations_over_share(made, known, share, 1)
    kept = [one for one in made if one.id not in cut]
    goals = [one for one in kept if one.template in ("a", "b")]
    assert len(goals) == 9
    least = Fraction(str(share))
    # One more of the others would be too many, unless all are there.
    assert Fraction(9, len(kept)) >= least
    assert not cut or Fraction(9, len(kept) + 1) < least


def test_without_a_share_all_are_kept() -> None:
    assert combinations_over_share(instances(refuse_R1=3), templates(refuse_R1="refuse"), 0, 1) == set()


def test_no_rule_is_lost_while_another_instance_can_be() -> None:
    known = templates(a="do", x_R1="refuse", y_R1="refuse", x_R2="refuse", clarify="clarify")
    made = instances(a=3, x_R1=2, y_R1=2, x_R2=2, clarify=2)
    cut = combinations_over_share(made, known, 0.5, 1)
    assert count([one for one in made if one.id not in cut]) == {"a": 3, "x_R1": 1, "x_R2": 1, "clarify": 1}


def test_requests_that_are_declined_have_their_share_at_most() -> None:
    known = templates(a="do", refuse_R1="refuse", refuse_R2="refuse", clarify="clarify")
    made = instances(a=14, refuse_R1=5, refuse_R2=1, clarify=2)
    cut = combinations_over_share(made, known, 0.5, 0.2)
    assert count([one for one in made if one.id not in cut]) == {"a": 14, "refuse_R1": 3, "refuse_R2": 1, "clarify": 2}

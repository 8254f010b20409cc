"""Templates take turns: lanes by their shares, levels by the mix, and what covers something new first."""

from collections import Counter
from collections.abc import Sequence

import pytest

from skillweave.schema.task import Split
from skillweave.schema.template import TaskTemplate
from synth.tasks.turns import GOALS, MOST_VAIN, REFUSALS, TemplateTurns, Turns, lane_shares, lanes_of
from tests.gates.clinic_tasks import a_template

SCARCE = {"batch": 4.5}


@pytest.fixture(autouse=True)
def _one_lane_is_scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synth.tasks.turns.SCARCE", SCARCE)


LEVELS = {1: 0.2, 2: 0.3, 3: 0.3, 4: 0.2}


def goals(count: int, *forms: str) -> list[TaskTemplate]:
    name = "_".join(["goal", *forms])
    return [a_template(id=f"{name}_{number}", forms=[*forms]) for number in range(count)]


def refusals(count: int, *forms: str) -> list[TaskTemplate]:
    name = "_".join(["refuse", *forms])
    return [
        a_template(id=f"{name}_{number}", kind="refuse", forbidden=f"R{number}", forms=[*forms])
        for number in range(count)
    ]


def tried(templates: Sequence[TaskTemplate], enough: int, *, each: int = 1, level: int = 2) -> list[str]:
    """The templates that are tried if each has so many instances."""
    names_of = [one.id for one in templates]
    lanes = TemplateTurns(
        Turns(templates, LEVELS), dict.fromkeys(names_of, level), dict.fromkeys(names_of, each), enough
    )
    names = []
    for name in lanes:
        names.append(name)
        lanes.settle(name, [level] * each)
    return [*dict.fromkeys(names)]


def sorts(names: Sequence[str]) -> dict[str, int]:
    return dict(Counter(name.rpartition("_")[0] for name in names))


def test_all_lanes_of_goals_have_the_same_and_refusals_their_share() -> None:
    templates = [*goals(30), *goals(60, "choice"), *goals(20, "condition"), *refusals(40), *refusals(40, "pressure")]
    found = sorts(tried(templates, 84))
    assert found["goal"] == found["goal_choice"] > found["goal_condition"] == 20
    assert found["refuse"] == found["refuse_pressure"]
    assert 2 * found["refuse"] / sum(found.values()) == pytest.approx(REFUSALS / (GOALS + REFUSALS), abs=0.02)


def test_a_scarce_lane_has_more_than_others() -> None:
    shares = lane_shares([*goals(30), *goals(60, "choice"), *goals(20, "batch"), *refusals(40)])
    assert shares["batch"] > 2 * shares["choice"] == 2 * shares["plain"]


def test_a_goal_of_two_forms_counts_for_both_with_half_of_it() -> None:
    both = a_template(id="x", forms=["choice", "condition"])
    assert lanes_of(both) == ["choice", "condition"]
    assert sorts(tried(goals(20, "choice", "condition"), 10)) == {"goal_choice_condition": 10}


def test_what_gave_all_that_was_wanted_of_it_comes_again_where_a_lane_lacks_something() -> None:
    templates = [*goals(9), *goals(2, "choice")]
    twos = {one.id: 2 for one in templates}
    lanes = TemplateTurns(Turns(templates, LEVELS), {**twos}, twos, 36)
    taken = Counter[str]()
    for name in lanes:
        taken[name] += 1
        lanes.settle(name, [] if name == "goal_choice_0" else [2, 2])
    assert (taken["goal_choice_0"], taken["goal_choice_1"]) == (1, 4)
    assert sum(taken[f"goal_{number}"] for number in range(9)) == 9


def test_what_is_enough_is_not_tried() -> None:
    templates = [*goals(30), *goals(30, "choice")]
    assert len(tried(templates, 10, each=5)) == 2
    assert len(tried(templates, 0, each=5)) == 60


def test_a_lane_in_which_all_is_in_vain_does_not_keep_the_others_waiting() -> None:
    lanes = Turns([*goals(40), *goals(40, "choice")], LEVELS)
    ahead = dict.fromkeys([one.id for one in [*goals(40), *goals(40, "choice")]], 2)
    for _ in range(40):
        name = lanes.next(ahead, lanes.shares) or ""
        del ahead[name]
        lanes.settle(name, [2] if "choice" in name else [])
    assert lanes.found["choice"] >= 8


def test_a_lane_in_which_little_can_be_had_is_given_up() -> None:
    templates = goals(200, "choice")
    lanes = TemplateTurns(
        Turns(templates, LEVELS), {one.id: 2 for one in templates}, {one.id: 2 for one in templates}, 50
    )
    count = 0
    for name in lanes:
        count += 1
        lanes.settle(name, [])
    assert count == MOST_VAIN + 1


def test_the_level_that_is_lacking_comes_first() -> None:
    templates = goals(40)
    ahead = {one.id: 1 + place // 10 for place, one in enumerate(templates)}
    turns = Turns(templates, LEVELS)
    made: Counter[int] = Counter()
    for _ in range(20):
        name = turns.next(ahead, turns.shares) or ""
        level = ahead.pop(name)
        made[level] += 1
        turns.settle(name, [level])
    assert made == {1: 4, 2: 6, 3: 6, 4: 4}


def test_a_split_gets_the_share_that_it_has_of_the_families() -> None:
    templates = goals(40)
    splits: dict[str, Split] = {one.id: "test" if place >= 36 else "train" for place, one in enumerate(templates)}
    turns, ahead = Turns(templates, LEVELS, splits), dict.fromkeys([one.id for one in templates], 2)
    made = []
    for _ in range(20):
        made.append(turns.next(ahead, turns.shares) or "")
        del ahead[made[-1]]
        turns.settle(made[-1], [2])
    assert [splits[name] for name in made].count("test") == 2


def test_a_rule_without_a_task_comes_before_another_of_a_rule_that_has_one() -> None:
    names = tried([*refusals(6), *refusals(6, "pressure")], 6)
    assert sorted(name[-1] for name in names) == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("templates", [goals(3), refusals(3), [*goals(2), *refusals(2)]])
def test_shares_make_a_whole(templates: list[TaskTemplate]) -> None:
    assert sum(lane_shares(templates).values()) == pytest.approx(1)

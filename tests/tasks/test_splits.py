"""Splits: families stay together, shares are kept, and what is held out is for testing as a whole."""

from collections import Counter

import pytest

from skillweave.config.sections import SplitsConfig
from skillweave.schema.template import TaskTemplate
from synth.tasks.splits import customer_split, families_of, holdout_fault, splits_of


def templates(count: int, world: str = "Hotel") -> list[TaskTemplate]:
    """Goals of a world, and one template derived from each."""
    made = []
    for number in range(count):
        goal = f"{world}/goal_{number}"
        for id, base in ((goal, None), (f"{world}/refuse_{number}", goal)):
            made.append(
                TaskTemplate(id=id, server=world, kind="do", base=base, title="", calls=[], reasons=["It is time."])
            )
    return made


def test_a_derived_template_is_in_the_split_of_its_goal() -> None:
    drawn = splits_of(templates(20), ["Hotel"], SplitsConfig(validation=0.3, test=0.3), "7")
    assert all(drawn[f"Hotel/goal_{number}"] == drawn[f"Hotel/refuse_{number}"] for number in range(20))
    assert len(set(drawn.values())) == 3


def a_compound(name: str, *parts: TaskTemplate) -> TaskTemplate:
    """A template that consists of others."""
    return templates(1)[0].model_copy(update={"id": f"Hotel/{name}", "parts": [*parts]})


def test_a_compound_is_of_the_families_of_its_parts_and_unites_none() -> None:
    made = templates(6)
    both = a_compound("both", made[8], made[5])
    made += [both, a_compound("more", both, made[2])]
    for known in (made, made[::-1]):
        family = families_of(known)
        assert family["Hotel/both"] == ["Hotel/goal_4", "Hotel/goal_2"]
        assert family["Hotel/more"] == ["Hotel/goal_4", "Hotel/goal_2", "Hotel/goal_1"]
        assert family["Hotel/refuse_3"] == family["Hotel/goal_3"] == ["Hotel/goal_3"]


def test_compounds_do_not_change_where_goals_are() -> None:
    made = templates(12)
    plain = splits_of(made, ["Hotel"], SplitsConfig(validation=0.2, test=0.2), "7")
    together = [one for one in made if plain[one.id] == plain[made[0].id]]
    drawn = splits_of([*made, a_compound("all", *together)], ["Hotel"], SplitsConfig(validation=0.2, test=0.2), "7")
    assert drawn == {**plain, "Hotel/all": plain[made[0].id]}


def test_shares_are_laid_over_goals_however_many_a_family_has() -> None:
    found = Counter[str]()
    for seed in range(300):
        made = templates(12)
        made += [a_compound(f"both_{first}", made[2 * first], made[2 * first + 2]) for first in (0, 1, 4, 8)]
        drawn = splits_of(made, ["Hotel"], SplitsConfig(validation=0.2, test=0.1), str(seed))
        found.update(drawn[f"Hotel/goal_{number}"] for number in range(12))
    assert 0.08 < found["test"] / found.total() < 0.12
    assert 0.17 < found["validation"] / found.total() < 0.23


@pytest.mark.parametrize("seed", ["1", "2", "3", "4", "5"])
def test_each_world_has_its_share_to_within_one_family(seed: str) -> None:
    families = Counter(splits_of(templates(25), ["Hotel"], SplitsConfig(validation=0.2, test=0.1), seed).values())
    assert families["test"] / 2 in (2, 3)
    assert families["validation"] / 2 in (5, 4, 6)


def test_many_small_worlds_have_the_share_together() -> None:
    found = Counter(
        split
        for number in range(200)
        for split in splits_of(templates(3, f"W{number}"), [f"W{number}"], SplitsConfig(), "7").values()
    )
    assert 0.07 < found["test"] / found.total() < 0.13


def test_splits_do_not_depend_on_the_order_of_templates() -> None:
    made = templates(12)
    assert splits_of(made, ["Hotel"], SplitsConfig(), "7") == splits_of(made[::-1], ["Hotel"], SplitsConfig(), "7")


def test_a_world_with_a_domain_that_is_held_out_is_all_for_testing() -> None:
    setting = SplitsConfig(test=0.0, validation=0.5, holdout_domains=["Airline"])
    assert set(splits_of(templates(9, "Airline__Hotel"), ["Airline", "Hotel"], setting, "7").values()) == {"test"}
    assert "test" not in splits_of(templates(9), ["Hotel"], setting, "7").values()


def test_a_domain_that_is_not_there_cannot_be_held_out() -> None:
    fault = holdout_fault(SplitsConfig(holdout_domains=["CityHotl"]), ["CityHotel", "Airline"])
    assert fault == (
        "splits.holdout_domains names 'CityHotl', which is no domain of this run; did you mean 'CityHotel'?"
    )
    assert holdout_fault(SplitsConfig(holdout_domains=["Airline"]), ["CityHotel", "Airline"]) is None


def test_a_customer_is_in_one_split_in_all_worlds_and_most_train() -> None:
    splits = SplitsConfig(validation=0.1, test=0.1, customers_apart=True)
    drawn = Counter(customer_split(f"Person {number}", splits, "7") for number in range(1000))
    assert 150 < drawn["test"] < 250, "twice the share: few persons can have a task"
    assert 150 < drawn["validation"] < 250
    assert customer_split("Ana", splits, "7") == customer_split("Ana", splits, "7")
    assert any(customer_split(f"P{n}", splits, "7") != customer_split(f"P{n}", splits, "8") for n in range(20))


def test_customers_are_all_for_testing_where_everything_is() -> None:
    assert {customer_split(f"P{n}", SplitsConfig(validation=0, test=1), "7") for n in range(50)} == {"test"}

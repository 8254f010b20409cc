"""The population: the same persons everywhere, and enough of them in every world."""

from datetime import date

from synth.simulation.generation import POPULATION_SIZE, members_of_world, population, visit_weight


def test_a_person_is_the_same_whoever_asks() -> None:
    assert population(7, "Patient", date(2025, 3, 17)) == population(7, "Patient", date(2025, 3, 17))
    assert population(7, "Patient", date(2025, 3, 17)) != population(8, "Patient", date(2025, 3, 17))


def test_no_two_persons_share_an_email_or_a_phone() -> None:
    people = population(7, "Traveller", date(2025, 3, 17))
    for column in ("person_id", "email", "phone"):
        assert len({person[column] for person in people}) == POPULATION_SIZE


def test_worlds_share_at_least_half_of_their_persons_and_the_most_active() -> None:
    clinic, pharmacy = members_of_world(7, "Patient", "Clinic", 40), members_of_world(7, "Patient", "Pharmacy", 40)
    assert len(set(clinic) & set(pharmacy)) >= 20
    assert clinic[:10] == pharmacy[:10] == list(range(1, 11))
    assert clinic != pharmacy


def test_the_first_ranks_get_in_touch_most() -> None:
    assert [visit_weight(rank) for rank in (1, 10, 60)] == sorted(
        (visit_weight(rank) for rank in (1, 10, 60)), reverse=True
    )

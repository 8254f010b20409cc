"""Combinations: just as many and as large as asked for, joined by links, spread over persons and domains."""

from collections import Counter
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillweave.schema.fusion import Link
from synth.fusion.combinations import CandidateCombination, choose_combinations, pairs_in_circle, world_names

Pair = tuple[str, str]
PATIENT = [f"Clinic{letter}" for letter in "ABCDEF"]
TRAVELLER = [f"Hotel{letter}" for letter in "ABCDEF"]
PERSONS = {"Patient": PATIENT, "Traveller": TRAVELLER}


def a_link(source: str, target: str) -> Link:
    return Link(kind="value", source=source, producer="give", target=target, consumer="take", why="It is.")


def linked(pairs: list[Pair], count: int = 1) -> dict[Pair, list[Link]]:
    return {pair: [a_link(*pair)] * count for pair in pairs}


EVERYWHERE = linked([pair for domains in PERSONS.values() for pair in combinations(domains, 2)])


@pytest.mark.parametrize("largest", [2, 3, 4, 5])
@pytest.mark.parametrize("wanted", [0, 1, 7, 30])
def test_there_are_as_many_as_wanted_and_none_is_larger_than_allowed(wanted: int, largest: int) -> None:
    found = choose_combinations(PERSONS, EVERYWHERE, wanted, largest).combinations
    assert len(found) == len({one.domains for one in found}) == wanted
    assert {len(one.domains) for one in found} <= set(range(2, largest + 1))
    if wanted == 30:
        assert {len(one.domains) for one in found} == set(range(2, largest + 1))


def test_there_are_fewer_only_where_there_are_no_more() -> None:
    found = choose_combinations({"Patient": PATIENT[:3]}, linked(list(combinations(PATIENT[:3], 2))), 100, 3)
    assert [one.domains for one in found.combinations] == [
        ("ClinicA", "ClinicB"),
        ("ClinicA", "ClinicB", "ClinicC"),
        ("ClinicA", "ClinicC"),
        ("ClinicB", "ClinicC"),
    ]


def test_persons_sizes_and_domains_are_used_evenly() -> None:
    found = choose_combinations(PERSONS, EVERYWHERE, 24, 3).combinations
    persons = Counter(one.person for one in found)
    assert persons["Patient"] == persons["Traveller"] == 12
    used = Counter(domain for one in found for domain in one.domains)
    assert set(used) == {*PATIENT, *TRAVELLER}
    assert max(used.values()) - min(used.values()) <= 1
    sizes = Counter(len(one.domains) for one in found)
    assert sizes[2] > sizes[3] > 0


def test_domains_of_different_persons_are_never_joined() -> None:
    crossing = linked([(one, other) for one in PATIENT for other in TRAVELLER])
    assert choose_combinations(PERSONS, crossing, 10, 3).combinations == []


def test_sets_that_no_links_join_are_counted_and_left_out() -> None:
    chain = linked([*combinations(PATIENT[:4], 2)], 0) | linked([("ClinicA", "ClinicB"), ("ClinicB", "ClinicC")])
    chosen = choose_combinations({"Patient": PATIENT[:4]}, chain, 100, 4)
    assert [one.domains for one in chosen.combinations] == [
        ("ClinicA", "ClinicB"),
        ("ClinicA", "ClinicB", "ClinicC"),
        ("ClinicB", "ClinicC"),
    ]
    # Of six pairs four have no link; larger sets are only grown from linked ones.
    assert (chosen.considered, chosen.unlinked) == (7, 4)


def test_of_equals_the_one_with_more_links_is_taken() -> None:
    links = {**linked([("ClinicA", "ClinicB")]), **linked([("ClinicC", "ClinicD")], 3)}
    (best,) = choose_combinations({"Patient": PATIENT}, links, 1, 2).combinations
    assert best == CandidateCombination("Patient", ("ClinicC", "ClinicD"), tuple(links["ClinicC", "ClinicD"]))


PAIRS = list(combinations(PATIENT, 2))


@given(st.sets(st.sampled_from(PAIRS)), st.integers(min_value=0, max_value=40), st.integers(min_value=2, max_value=5))
def test_whatever_the_links_the_domains_of_a_combination_hang_together(
    pairs: set[Pair], wanted: int, largest: int
) -> None:
    links = linked(sorted(pairs))
    found = choose_combinations({"Patient": PATIENT}, links, wanted, largest).combinations
    for one in found:
        network: nx.Graph[str] = nx.Graph((link.source, link.target) for link in one.links)
        assert set(network) == set(one.domains)
        assert nx.is_connected(network)
    every = choose_combinations({"Patient": PATIENT}, links, 1000, largest).combinations
    assert len(found) == min(wanted, len(every))
    # The order in which links are given is of no account.
    turned = dict(reversed(links.items()))
    assert choose_combinations({"Patient": PATIENT[::-1]}, turned, wanted, largest).combinations == found


def test_worlds_whose_names_differ_in_case_alone_are_told_apart() -> None:
    names = world_names([("B", "A"), ("VetClinic", "X"), ("Vetclinic", "X")])
    assert names[("A", "B")] == "A__B"
    assert sorted([names[("VetClinic", "X")], names[("Vetclinic", "X")]]) == ["VetClinic__X", "Vetclinic__X_2"]


def test_a_few_domains_make_all_pairs_and_many_some_for_each() -> None:
    names = [f"C{number:02}" for number in range(30)]
    assert pairs_in_circle(names[:9], 8) == list(combinations(names[:9], 2))
    pairs = pairs_in_circle(names, 8)
    assert len(pairs) == 120
    assert {name: sum(name in pair for pair in pairs) for name in names} == dict.fromkeys(names, 8)
    assert pairs_in_circle(["B", "A"], 2) == [("A", "B")]
    assert pairs_in_circle(["A"], 2) == []


def test_of_hundreds_of_domains_the_choice_is_even_and_takes_no_time() -> None:
    names = [f"C{number:03}" for number in range(150)]
    links = linked(pairs_in_circle(names, 8))
    chosen = choose_combinations({"Patient": names}, links, 200, 3).combinations
    used = Counter(domain for one in chosen for domain in one.domains)
    assert len(chosen) == 200
    assert set(used) == set(names)
    assert max(used.values()) - min(used.values()) <= 1

"""s10: which domains are joined, by links that an author names and the contracts allow."""

from itertools import combinations
from pathlib import Path

import pytest

from skillweave.schema.fusion import Link
from synth.artifacts import BLUEPRINTS, DATABASE, DOMAIN_COMBINATIONS
from synth.steps.s10_domain_combos_selection import CombinationParams, domain_combos_selection
from tests.fusion.stage import Answers, Stage
from tests.gates.services import NOW, service

SERVERS = ("Bank", "Clinic", "Courier", "Insurer")


def claim(source: str, target: str) -> Link:
    """What is billed at the one is claimed at the other."""
    return Link(
        kind="value",
        source=source,
        producer="list_bills",
        column="amount_cents",
        target=target,
        consumer="claim_back",
        parameter="amount_cents",
        why="It is claimed.",
    )


EVERY: Answers = {f"fusion.links {one}/{other}": [claim(one, other)] for one, other in combinations(SERVERS, 2)}


def stage(outputs: Path, answers: Answers, running: tuple[str, ...] = SERVERS) -> Stage:
    """Four companies, of which some have a database."""
    made = Stage(outputs, NOW, answers)
    for server in SERVERS:
        made.give(BLUEPRINTS, server, service(server))
    for server in running:
        made.give_file(DATABASE, server, b"")
    return made


def chosen(made: Stage, wanted: int, largest: int) -> list[list[str]]:
    params = CombinationParams(cross_domain_combinations=wanted, max_domains_per_combo=largest)
    record = made.run(domain_combos_selection, "all", params)
    assert record.state == "done", record.reasons
    names = [output.key for output in record.outputs]
    return [made.read(DOMAIN_COMBINATIONS, name).domains for name in names]


@pytest.mark.parametrize("largest", [2, 3, 4, 5])
@pytest.mark.parametrize("wanted", [0, 1, 5])
def test_count_and_sizes_are_as_configured(tmp_path: Path, wanted: int, largest: int) -> None:
    found = chosen(stage(tmp_path, EVERY), wanted, largest)
    assert len(found) == wanted
    assert all(2 <= len(domains) <= largest for domains in found)


def test_a_combination_has_its_links_its_person_and_its_domains_name(tmp_path: Path) -> None:
    made = stage(tmp_path, EVERY, ("Clinic", "Insurer"))
    assert chosen(made, 5, 3) == [["Clinic", "Insurer"]]
    found = made.read(DOMAIN_COMBINATIONS, "Clinic__Insurer")
    assert (found.person, found.links) == ("Person", [claim("Clinic", "Insurer")])


def test_a_domain_without_a_database_is_not_joined_and_not_asked_about(tmp_path: Path) -> None:
    made = stage(tmp_path, EVERY, ("Bank", "Clinic", "Insurer"))
    assert {domain for domains in chosen(made, 20, 3) for domain in domains} == {"Bank", "Clinic", "Insurer"}
    assert not [request.key for request in made.requests if "Courier" in request.key]


def test_a_pair_about_which_the_author_talks_nonsense_costs_that_pair_alone(tmp_path: Path) -> None:
    made = stage(tmp_path, {**EVERY, "fusion.links Bank/Clinic": [claim("Clinic", "Mars")]})
    params = CombinationParams(cross_domain_combinations=20, max_domains_per_combo=2)
    record = made.run(domain_combos_selection, "all", params)
    assert record.rejected == {"no usable links": 1}
    assert [output.key for output in record.outputs] == [
        "Bank__Courier",
        "Bank__Insurer",
        "Clinic__Courier",
        "Clinic__Insurer",
        "Courier__Insurer",
    ]
    assert record.figures["sets considered"] == 6
    assert record.figures["sets that no links join"] == 1
    # It was told what is wrong, and asked again.
    again = [request for request in made.requests if request.key == "Bank/Clinic"]
    assert len(again) > 1
    assert "a link goes from one to the other of Bank, Clinic" in str(again[-1].messages)


def test_of_links_with_nonsense_among_them_the_others_are_kept(tmp_path: Path) -> None:
    mixed: Answers = {"fusion.links Clinic/Insurer": [claim("Clinic", "Mars"), claim("Clinic", "Insurer")]}
    made = stage(tmp_path, mixed, ("Clinic", "Insurer"))
    params = CombinationParams(cross_domain_combinations=5, max_domains_per_combo=2)
    record = made.run(domain_combos_selection, "all", params)
    assert record.rejected == {"a link that cannot be": 1}
    assert made.read(DOMAIN_COMBINATIONS, "Clinic__Insurer").links == [claim("Clinic", "Insurer")]
    complaint = str(made.requests[1].messages[-1].content)
    assert "- Clinic to Mars: a link goes from one to the other of Clinic, Insurer" in complaint
    assert "Clinic to Insurer" not in complaint

from random import Random

import pytest

from skillweave.base.errors import AuthorError
from synth.offline.services import catalogue, services_for, variant

SETTINGS = sorted(setting.domain for service in catalogue().values() for setting in service.header.settings)


def test_the_catalogue_serves_two_kinds_of_person_with_four_services_each_at_least() -> None:
    people = [service.header.person for service in catalogue().values()]
    assert people.count("Patient") >= 4
    assert people.count("Traveller") >= 4


def test_no_domain_is_the_beginning_of_another_and_each_is_a_short_namespace() -> None:
    assert len(SETTINGS) == len(set(SETTINGS)) >= 12
    assert all(len(name) <= 14 for name in SETTINGS)
    assert not [(a, b) for a in SETTINGS for b in SETTINGS if a != b and b.lower().startswith(a.lower())]


def test_the_services_for_patients_and_travellers_have_ten_tools_and_forty_guards() -> None:
    for domain in SETTINGS:
        made = variant(7, domain)
        if made.service.header.person in ("Patient", "Traveller"):
            assert 10 <= len(made.rendered.tools) <= 17
            assert sum(len(tool.guards) for tool in made.rendered.tools) >= 40


@pytest.mark.parametrize("domain", SETTINGS)
def test_every_setting_is_a_service_in_full(domain: str) -> None:
    rendered = variant(7, domain).rendered
    guards = [guard for tool in rendered.tools for guard in tool.guards]
    writes = [tool for tool in rendered.tools if tool.kind == "write"]
    wanted = {call.tool for goal in rendered.goals if goal.kind == "do" for call in goal.calls}
    assert len(rendered.tools) >= 8, "s04 wants that many at least"
    assert len(guards) >= 3 * len(rendered.tools)
    assert {tool.name for tool in writes} <= wanted
    assert len(rendered.invariants) >= 6


def test_settings_of_one_service_differ_in_structure() -> None:
    for service in catalogue().values():
        structures = set()
        for setting in service.header.settings:
            rendered = service.render(setting, service.draw(setting, Random(1)))
            structures.add(tuple(sorted(tool.name for tool in rendered.tools)))
        assert len(structures) == len(service.header.settings), service.header.service


def test_seeds_draw_other_rules() -> None:
    sentences = [
        {guard.says for tool in variant(seed, "DentalClinic").rendered.tools for guard in tool.guards}
        for seed in range(6)
    ]
    assert len({frozenset(found) for found in sentences}) >= 4


def test_an_unknown_seed_names_the_nearest_topics_and_the_way_out() -> None:
    with pytest.raises(AuthorError, match=r"submarine repair.*nearest known: .*llm\.textual"):
        services_for("submarine repair")


@pytest.mark.parametrize(
    ("seed", "service"),
    [("dental clinic", "dental_clinic"), ("Airlines", "airline"), ("car rental", "car_rental"), ("hotel", "hotel")],
)
def test_a_seed_in_other_words_finds_its_service(seed: str, service: str) -> None:
    assert service in [found.header.service for found in services_for(seed)]

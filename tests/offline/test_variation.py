import re
from collections import Counter
from itertools import combinations, islice
from random import Random

import pytest

from skillweave.base.errors import AuthorError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.entity import Entity
from skillweave.schema.record import Row
from synth.offline.companies import own_rows, with_names
from synth.offline.services import built_in, domains_of
from synth.offline.world_answers import AvailableEntities
from synth.steps.s02_entity_extraction import faults
from synth.trial.draft import formulate

MOST_SHARED = 0.95
"""Most rules, word for word and figure for figure, that two companies of one setting share."""
MOST_FIGURES = 0.8
"""The same of rules with figures alone."""
COMPANIES = sorted(built_in().by_domain)
SETTINGS = sorted(setting.domain for service in built_in().services.values() for setting in service.header.settings)


def test_the_catalogue_serves_two_kinds_of_person_with_four_services_each_at_least() -> None:
    people = [service.header.person for service in built_in().services.values()]
    assert people.count("Patient") >= 4
    assert people.count("Traveller") >= 4


def test_no_domain_is_the_beginning_of_another_and_each_is_a_short_namespace() -> None:
    assert len(SETTINGS) == len(set(SETTINGS)) >= 12
    assert all(len(name) <= 14 for name in SETTINGS)
    assert not [(a, b) for a in SETTINGS for b in SETTINGS if a != b and b.lower().startswith(a.lower())]


def test_the_services_for_patients_and_travellers_have_ten_tools_and_forty_guards() -> None:
    for domain in SETTINGS:
        made = built_in().variant(7, domain)
        if made.service.header.person in ("Patient", "Traveller"):
            assert 10 <= len(made.rendered.tools) <= 17
            assert sum(len(tool.guards) for tool in made.rendered.tools) >= 40


@pytest.mark.parametrize("domain", SETTINGS)
def test_every_setting_is_a_service_in_full(domain: str) -> None:
    rendered = built_in().variant(7, domain).rendered
    guards = [guard for tool in rendered.tools for guard in tool.guards]
    writes = [tool for tool in rendered.tools if tool.kind == "write"]
    wanted = {call.tool for goal in rendered.goals if goal.kind == "do" for call in goal.calls}
    assert len(rendered.tools) >= 8, "s04 wants that many at least"
    assert len(guards) >= 3 * len(rendered.tools)
    assert {tool.name for tool in writes} <= wanted
    assert len(rendered.invariants) >= 6


def test_settings_of_one_service_differ_in_structure() -> None:
    for service in built_in().services.values():
        structures = set()
        for setting in service.header.settings:
            rendered = service.render(setting, service.draw(setting, Random(1)))
            structures.add(tuple(sorted(tool.name for tool in rendered.tools)))
        assert len(structures) == len(service.header.settings), service.header.service


def test_seeds_draw_other_rules() -> None:
    sentences = [
        {guard.says for tool in built_in().variant(seed, "DentalClinic").rendered.tools for guard in tool.guards}
        for seed in range(6)
    ]
    assert len({frozenset(found) for found in sentences}) >= 4


def rules_of(domain: str) -> frozenset[str]:
    """The sentences of all rules of a company, with their figures."""
    tools = built_in().variant(7, domain).rendered.tools
    guards = [guard.says for tool in tools for guard in tool.guards]
    return frozenset([*guards, *(effect.says for tool in tools for effect in tool.effects)])


def test_there_are_hundreds_of_companies_and_no_two_have_a_name_or_a_title_in_common() -> None:
    assert len(COMPANIES) >= 300
    assert all(len(name) <= 14 for name in COMPANIES)
    assert not [(a, b) for a in COMPANIES for b in COMPANIES if a != b and b.lower().startswith(a.lower())]
    titles = Counter(service.companies[name].title for name, service in built_in().by_domain.items())
    assert max(titles.values()) == 1


@pytest.mark.long
def test_no_two_companies_have_the_same_rules() -> None:
    assert max(Counter(map(rules_of, COMPANIES)).values()) == 1


@pytest.mark.parametrize("most", [4, pytest.param(None, marks=pytest.mark.long)])
def test_two_companies_of_a_setting_differ_in_many_rules_and_in_most_figures(most: int | None) -> None:
    shared, figures = [], []
    for setting in (setting for service in built_in().services.values() for setting in service.header.settings):
        for one, other in combinations([setting.domain, *setting.others][:most], 2):
            both = rules_of(one), rules_of(other)
            shared.append(len(both[0] & both[1]) / min(map(len, both)))
            numbered = [{rule for rule in rules if re.search(r"[2-9]|1\d", rule)} for rules in both]
            figures.append(len(numbered[0] & numbered[1]) / min(map(len, numbered)))
    assert max(shared) < MOST_SHARED
    assert sorted(figures)[len(figures) // 2] < 0.5
    assert max(figures) < MOST_FIGURES


@pytest.mark.parametrize("most", [6, pytest.param(None, marks=pytest.mark.long)])
@pytest.mark.parametrize("service", sorted(built_in().services))
def test_every_company_has_a_blueprint_whose_statements_compile(service: str, most: int | None) -> None:
    for domain in islice(domains_of(built_in().services[service], "seed", 7, ()), most):
        made = built_in().variant(7, domain.name)
        rendered = made.rendered
        tables = AvailableEntities((*rendered.entities, *rendered.relationships), {})
        guards = [f"SELECT ({guard.holds})" for tool in rendered.tools for guard in tool.guards]
        effects = [effect.sql for tool in rendered.tools for effect in tool.effects]
        events = [sql for event in rendered.events for sql in (event.pick, *event.effects)]
        others = [tool.returns.select for tool in rendered.tools] + [rule.never for rule in rendered.invariants]
        assert [sql for sql in (*guards, *effects, *events, *others) if not tables.supports(sql)] == []
        ordered = sorted(rendered.entities, key=lambda entity: entity.name != rendered.core_entity)
        assert faults(domain, ordered) == []
        assert 8 <= len(rendered.tools) <= 18
        assert len(guards) >= max(38, 3 * len(rendered.tools))
        parts = {name: getattr(rendered, name) for name in Blueprint.model_fields if hasattr(rendered, name)}
        formulate(Blueprint(server=domain.name, domain=domain.topic, title=made.setting.title, **parts), "XY")


@pytest.mark.parametrize("most", [6, pytest.param(None, marks=pytest.mark.long)])
def test_other_companies_speak_of_what_they_have(most: int | None) -> None:
    services = built_in().services.values()
    for domain in (domain for service in services for domain in islice(domains_of(service, "seed", 7, ()), most)):
        made = built_in().variant(7, domain.name)
        assert len(domain.summary) > 60
        if not made.setting.is_first:
            assert "{" not in domain.summary
            assert domain.topic in made.setting.topics
            assert ("waiting list" in domain.summary) <= ("join_waiting_list" in {t.name for t in made.rendered.tools})


def test_names_are_replaced_all_at_once_and_the_longest_first() -> None:
    names = {"Port": "Bay", "Port Averley": "Port", "Bay": "Cove"}
    assert with_names("Port Averley, Port, Bay and Bayside", names) == "Port, Bay, Cove and Bayside"


def test_prices_stay_round_and_every_sort_of_row_stays() -> None:
    entity = Entity.model_validate(
        {
            "name": "Extra",
            "description": "What can be ordered.",
            "attributes": [
                {"name": "extra_id", "type": "string"},
                {"name": "sort", "type": "string", "enum": ["food", "fun"]},
                {"name": "price_cents", "type": "integer", "unit": "cents"},
            ],
            "rows": {"literal": [{"sort": sort, "price_cents": 4500} for sort in ("food", "food", "food", "fun")]},
        }
    )
    for number in range(20):
        (changed,) = own_rows([entity], {"Extra": 3}, Random(number))
        assert changed.rows is not None
        rows: list[Row] = list(changed.rows.literal or [])
        assert {row["sort"] for row in rows} == {"food", "fun"}
        prices = [row["price_cents"] for row in rows]
        assert all(isinstance(price, int) and price % 100 == 0 and 3000 < price < 6600 for price in prices)


def test_an_unknown_seed_names_the_nearest_topics_and_the_way_out() -> None:
    with pytest.raises(AuthorError, match=r"submarine repair.*nearest known: .*llm\.textual"):
        built_in().services_for("submarine repair")


@pytest.mark.parametrize(
    ("seed", "service"),
    [("dental clinic", "dental_clinic"), ("Airlines", "airline"), ("car rental", "car_rental"), ("hotel", "hotel")],
)
def test_a_seed_in_other_words_finds_its_service(seed: str, service: str) -> None:
    assert service in [found.header.service for found in built_in().services_for(seed)]

"""Who writes: a person that there can be, and how a model is told to play them."""

from itertools import combinations
from random import Random

from skillweave.schema.task import Persona, Scenario
from skillweave.user_prompt import CLASHES, STYLES, TRAITS, clash, draw_style, draw_traits, user_prompt

NOW = "2025-03-17 09:00:00"


def drawn() -> set[tuple[str, ...]]:
    """A style and its traits, as many seeds draw them."""
    found = set()
    for seed in range(4000):
        random = Random(seed)
        style, _ = draw_style(random)
        found.add((style, *draw_traits(style, random)))
    return found


def test_no_two_of_a_persons_manners_contradict_each_other() -> None:
    assert not [person for person in drawn() if any(clash(*pair) for pair in combinations(person, 2))]


def test_all_that_can_be_one_person_is_drawn() -> None:
    fitting = {
        (style, *traits)
        for style in STYLES
        for count in (1, 2)
        for traits in combinations(sorted(TRAITS), count)
        if not any(clash(*pair) for pair in combinations((style, *traits), 2))
    }
    assert drawn() == fitting


def test_the_table_names_what_there_is() -> None:
    names = {*STYLES, *TRAITS}
    assert {*CLASHES} <= names
    assert {trait for traits in CLASHES.values() for trait in traits} <= {*TRAITS}
    assert clash("formal", "writes in lower case")
    assert clash("brief", "mentions small details nobody asked for")
    assert clash("dislikes long explanations", "mentions small details nobody asked for")


def test_the_user_is_told_todays_date_and_a_reason_where_there_is_one() -> None:
    person = Persona(name="Ana Lopez", age=43, style="brief", patience=3)
    scenario = Scenario(goal="You want to pay.", reason="I have been paid.", facts=[])
    prompt = user_prompt("Clinic", person, scenario, NOW)
    assert "Today is Monday 17 March 2025." in prompt
    assert "You want to pay.\nWhy: I have been paid.\n\nWhat you know" in prompt
    without = user_prompt("Clinic", person, scenario.model_copy(update={"reason": ""}), NOW)
    assert "You want to pay.\n\nWhat you know" in without

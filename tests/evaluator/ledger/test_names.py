"""Names of records, as a world's data hold them."""

from evaluator.ledger.names import Names, names_of
from tests.world.clinic import a_world


def test_names_are_values_of_naming_columns_with_the_columns_they_stand_in() -> None:
    with_names = names_of(a_world())
    assert with_names
    assert all(with_names.columns(name) for name in with_names)
    assert {column for name in with_names for column in with_names.columns(name)} >= {"full_name"}


def test_enums_common_words_and_addresses_are_no_names() -> None:
    found = names_of(a_world())
    assert not any("@" in name or name.startswith("+") for name in found)
    assert not any(name.islower() and " " not in name for name in found)


def test_names_are_found_as_whole_words_wherever_they_stand() -> None:
    columns = frozenset(["name"])
    names = Names(dict.fromkeys(("Dr Hale", "Dr Hale-Smith", "'t Hof", "Hof", "Holiday Plus"), columns))
    text = "dr hale, dr hale-smith, 't hof; no dr hales, no rehof. holiday plus"
    found = [(name, text[start:end]) for name, start, end in names.places(text)]
    assert [name for name, _ in found] == ["Dr Hale", "Dr Hale", "Dr Hale-Smith", "'t Hof", "Hof", "Holiday Plus"]
    assert all(name.lower() == words for name, words in found)


def test_the_end_of_a_name_is_completed_where_only_one_name_has_it() -> None:
    names = Names({name: frozenset(["name"]) for name in ("Dr Ana Hale", "Dr Ben Iyer", "Dr Cleo Iyer")})
    assert names.full("Hale") == "Dr Ana Hale"
    assert names.full("Iyer") == "Iyer"
    assert names.full("ale") == "ale"


def test_names_of_a_world_are_read_once() -> None:
    world = a_world()
    assert names_of(world) is names_of(world)

"""Names of records, as a world's data hold them."""

from evaluator.ledger.names import names_of
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

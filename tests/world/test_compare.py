from skillweave.schema.contract import RowChange
from skillweave.schema.entity import ColumnComparison
from skillweave.schema.record import Json
from skillweave.world.compare import compare


def exact(table: str, column: str) -> ColumnComparison:
    return "exact"


def by_name(table: str, column: str) -> ColumnComparison:
    return "free" if column == "note" else "normalised" if column == "name" else "exact"


def a_new(number: int, **cells: Json) -> RowChange:
    return RowChange(table="loan", op="insert", key={"id": {"$new": number}}, after={"id": {"$new": number}, **cells})


def an_update(key: str = "L-1", **after: Json) -> RowChange:
    return RowChange(table="loan", op="update", key={"id": key}, before=dict.fromkeys(after), after=after)


def test_numbers_are_paired_by_rows_and_not_by_value() -> None:
    expected = [a_new(1, x="a"), a_new(2, x="b", prior={"$new": 1})]
    actual = [a_new(7, x="b", prior={"$new": 3}), a_new(3, x="a")]
    assert compare(expected, actual, exact).is_empty


def test_one_number_cannot_be_two() -> None:
    expected = [a_new(1, x="a"), a_new(2, x="b", prior={"$new": 1})]
    actual = [a_new(1, x="a"), a_new(2, x="b", prior={"$new": 2})]
    found = compare(expected, actual, exact)
    assert (found.missing, found.unexpected) == ([expected[1]], [actual[1]])


def test_free_columns_do_not_keep_numbers_from_being_paired() -> None:
    expected = [a_new(1, x="a", note="first"), a_new(2, x="a", note="second", prior={"$new": 1})]
    actual = [a_new(1, x="a", note="zzz", prior={"$new": 2}), a_new(2, x="a", note="other")]
    found = compare([a_new(1, x="a", prior=None), expected[1]], [actual[0], a_new(2, x="a", prior=None)], by_name)
    assert found.is_empty
    assert not compare(expected[:1], [a_new(1, x="b", note="first")], by_name).is_empty


def test_a_free_column_may_be_missing_but_the_change_of_its_row_may_not() -> None:
    assert compare([an_update(status="x", note="y")], [an_update(status="x")], by_name).is_empty
    assert compare([], [an_update(note="y")], by_name).unexpected == [an_update(note="y")]


def test_normalised_columns_ignore_case_space_and_punctuation() -> None:
    assert compare([an_update(name="Main St. 5")], [an_update(name="main  st 5")], by_name).is_empty
    assert not compare([an_update(name="Main St. 5")], [an_update(name="main st 6")], by_name).is_empty
    assert not compare([an_update(name="Main St. 5")], [an_update(name="main st 5")], exact).is_empty


def test_any_value_is_not_compared_even_where_it_did_not_change() -> None:
    expected = an_update(status="x", phone={"$any": True})
    assert compare([expected], [an_update(status="x", phone="1")], exact).is_empty
    assert compare([expected], [an_update(status="x")], exact).is_empty
    assert not compare([expected], [an_update(status="y", phone="1")], exact).is_empty
    assert not compare([expected], [an_update(status="x", fax="1")], exact).is_empty
    assert compare([an_update(phone={"$any": True})], [], exact).is_empty


def test_what_is_not_listed_must_not_change() -> None:
    found = compare([an_update(status="x")], [an_update(status="x"), an_update("L-2", status="x")], exact)
    assert (found.missing, found.unexpected) == ([], [an_update("L-2", status="x")])


def test_equal_rows_are_counted() -> None:
    assert not compare([a_new(1, x=1)], [a_new(1, x=1), a_new(2, x=1)], exact).is_empty
    assert compare([a_new(2, x=1), a_new(1, x=1)], [a_new(1, x=1), a_new(2, x=1)], exact).is_empty


def test_numbers_compare_by_value_and_true_is_no_number() -> None:
    assert compare([an_update(x=5)], [an_update(x=5.0)], exact).is_empty
    assert not compare([an_update(x=1)], [an_update(x=True)], exact).is_empty


def test_null_is_not_a_column_that_is_not_there() -> None:
    assert not compare([an_update(x=1, y=None)], [an_update(x=1)], exact).is_empty
    assert not compare([an_update(x=1)], [an_update(x=1, y=None)], exact).is_empty


def test_a_value_derived_from_an_id_compares_by_its_text_and_its_id() -> None:
    def derived(one: int, other: int, text: str) -> RowChange:
        return a_new(one, receipt={"$new": other, "text": text})

    assert compare([derived(1, 2, "TC-{1}")], [derived(4, 9, "TC-{4}")], exact).is_empty
    assert not compare([derived(1, 2, "TC-{1}")], [derived(4, 9, "XC-{4}")], exact).is_empty
    assert compare([derived(1, 2, "TC-{1}")], [a_new(4, receipt={"$new": 9})], exact).missing


def test_a_wrong_end_state_with_many_alike_rows_is_told_quickly() -> None:
    expected = [a_new(number, x=1, prior={"$new": number % 30 + 1}) for number in range(1, 31)]
    actual = [a_new(number, x=1, prior={"$new": 1}) for number in range(1, 31)]
    assert not compare(expected, actual, exact).is_empty

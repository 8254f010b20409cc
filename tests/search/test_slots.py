"""Slots: what a parameter is compared with, read from the contract's SQL."""

from skillweave.schema.contract import Guard, Parameter, Returns, Tool
from synth.search.slots import bound_names, own_equalities, slots, substitute


def a_tool(holds: str, parameter: Parameter) -> Tool:
    guard = Guard(rule="R1", concern="quota", holds=holds, error="refused", says="No.")
    return Tool(
        name="buy",
        description="Buy.",
        kind="read",
        parameters=[parameter],
        guards=[guard],
        returns=Returns(rows="one", select="SELECT 1 AS one"),
    )


def test_a_parameter_is_traced_to_the_column_that_it_is_compared_with() -> None:
    tool = a_tool(
        "EXISTS (SELECT 1 FROM item i WHERE lower(i.title) = lower(:title))",
        Parameter(name="title", type="string", description=""),
    )
    assert slots(tool)["title"].columns == (("item", "title"),)


def test_a_search_by_a_part_is_traced_to_the_column_that_is_searched() -> None:
    for search in ("instr(lower(i.title), lower(trim(:part))) > 0", "i.title LIKE '%' || :part || '%'"):
        tool = a_tool(
            f"EXISTS (SELECT 1 FROM item i WHERE {search})", Parameter(name="part", type="string", description="")
        )
        assert slots(tool)["part"].columns == (("item", "title"),)


def test_numbers_that_bound_a_parameter_are_seen() -> None:
    tool = a_tool(":amount BETWEEN 5 AND 90", Parameter(name="amount", type="integer", description=""))
    assert slots(tool)["amount"].literals == (5.0, 90.0)


def test_a_name_inside_a_string_is_no_binding() -> None:
    assert bound_names("x = ':title' AND y = :now") == {"now"}


def test_substitution_leaves_the_rest_as_it_was() -> None:
    assert substitute("a = :id  AND ':id' <> :idle", "id", "c.value") == "a = c.value  AND ':id' <> :idle"


def test_a_guard_that_a_row_exists_says_what_the_row_equals() -> None:
    def told(holds: str) -> set[tuple[str, str]]:
        return {*own_equalities(holds, "loan_id", "loan", "loan_id")}

    own = "loan_id = :loan_id AND reader_id = :caller"
    assert told(f"EXISTS (SELECT 1 FROM loan WHERE {own} AND days > 3)") == {("reader_id", "caller")}
    joined = "SELECT 1 FROM loan a JOIN book b ON b.book_id = a.book_id WHERE a.loan_id = :loan_id"
    assert told(f"EXISTS ({joined} AND a.reader_id = :caller AND b.owner_id = :caller)") == {("reader_id", "caller")}


def test_of_other_guards_nothing_is_known() -> None:
    own = "loan_id = :loan_id AND reader_id = :caller"
    for holds in (
        f"NOT EXISTS (SELECT 1 FROM loan WHERE {own})",
        f"EXISTS (SELECT COUNT(*) FROM loan WHERE {own})",
        f"EXISTS (SELECT 1 FROM loan WHERE {own} HAVING COUNT(*) = 0)",
        f"EXISTS (SELECT 1 FROM old_loan WHERE {own})",
        f"EXISTS (SELECT 1 FROM loan WHERE NOT ({own}))",
        f"EXISTS (SELECT 1 FROM loan WHERE {own} OR days > 3)",
        "EXISTS (SELECT 1 FROM loan a JOIN loan b ON TRUE WHERE a.loan_id = :loan_id AND b.reader_id = :caller)",
        f":loan_id IS NULL OR EXISTS (SELECT 1 FROM loan WHERE {own})",
    ):
        assert not own_equalities(holds, "loan_id", "loan", "loan_id")

"""Slots: what a parameter is compared with, read from the contract's SQL."""

from skillweave.schema.contract import Guard, Parameter, Returns, Tool
from synth.search.slots import bound_names, slots, substitute


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

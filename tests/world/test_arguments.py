import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillweave.schema.contract import Parameter, Tool
from skillweave.world.arguments import ArgumentError, bind, bind_argument

TYPES = ["string", "integer", "number", "boolean", "date", "datetime", "array", "object"]


def a_parameter(kind: str, **more: Any) -> Parameter:
    return Parameter.model_validate({"name": "given", "type": kind, "description": "", **more})


def a_tool(*parameters: Parameter) -> Tool:
    returns = {"rows": "one", "select": "SELECT 1 AS x"}
    return Tool.model_validate(
        {"name": "look", "description": "", "kind": "read", "parameters": list(parameters), "returns": returns}
    )


@pytest.mark.parametrize(
    ("kind", "value", "bound"),
    [
        ("string", "", ""),
        ("integer", 2**63 - 1, 2**63 - 1),
        ("number", 3, 3.0),
        ("boolean", True, 1),
        ("date", "20250124", "2025-01-24"),
        ("date", "2025-W04-5", "2025-01-24"),
        ("datetime", "2025-01-24T09:30", "2025-01-24 09:30:00"),
        ("datetime", "2025-01-24T09:30:00Z", "2025-01-24 09:30:00"),
        ("datetime", "2025-01-24 00:30:00+02:00", "2025-01-23 22:30:00"),
        ("datetime", "2025-01-24", "2025-01-24 00:00:00"),
        ("array", [1, "ä", None], '[1,"ä",null]'),
        ("object", {"b": 1, "a": True}, '{"b":1,"a":true}'),
    ],
)
def test_values_are_bound_in_the_form_that_the_database_holds(kind: str, value: Any, bound: object) -> None:
    found = bind_argument(a_parameter(kind), value)
    assert found == bound
    assert type(found) is type(bound)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", 5),
        ("string", "a\0b"),
        ("string", "\ud800"),
        ("integer", True),
        ("integer", 3.0),
        ("integer", "3"),
        ("integer", 2**63),
        ("number", float("nan")),
        ("number", float("inf")),
        ("number", 10**30),
        ("number", False),
        ("boolean", 1),
        ("boolean", "true"),
        ("date", "2025-02-30"),
        ("date", "24/01/2025"),
        ("date", "now"),
        ("date", "2025-01-24T09:30"),
        ("date", "٢٠٢٥-01-24"),
        ("datetime", "2025-01-24x09:30"),
        ("datetime", "2025-01-24 09:30:00.5"),
        ("datetime", "0001-01-01 00:00:00+05:00"),
        ("datetime", "now"),
        ("array", {"a": 1}),
        ("array", [float("inf")]),
        ("array", ["\udfff"]),
        ("object", []),
        ("object", {"a": {"\ud800": 1}}),
        ("object", {"a": 2**64}),
    ],
)
def test_nothing_else_is_taken_and_the_message_names_the_argument(kind: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match="argument 'given'"):
        bind_argument(a_parameter(kind), value)


def test_what_is_left_out_or_null_binds_null_unless_it_is_required() -> None:
    tool = a_tool(a_parameter("string", name="must"), a_parameter("integer", name="may", required=False))
    assert bind(tool, {"must": "x"}) == bind(tool, {"must": "x", "may": None}) == {"must": "x", "may": None}
    for arguments in ({}, {"must": None, "may": 1}):
        with pytest.raises(ArgumentError, match="missing argument 'must'"):
            bind(tool, arguments)


def test_an_unknown_argument_is_an_error_that_says_what_the_tool_takes() -> None:
    with pytest.raises(ArgumentError, match=r"unknown argument 'other'; look takes given"):
        bind(a_tool(a_parameter("string")), {"given": "x", "other": 1})


def test_only_values_of_an_enum_are_taken() -> None:
    parameter = a_parameter("string", enum=["illness", "travel"])
    assert bind_argument(parameter, "travel") == "travel"
    with pytest.raises(ArgumentError, match="must be one of illness, travel"):
        bind_argument(parameter, "Travel")


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ArgumentError, match="nested deeper"):
        bind_argument(a_parameter("array"), deep)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(TYPES), JSON)
def test_any_json_value_is_bound_or_refused_with_an_argument_error(kind: str, value: Any) -> None:
    try:
        bound = bind_argument(a_parameter(kind, required=False), value)
    except ArgumentError:
        return
    assert bound is None or isinstance(bound, int | float | str)
    if kind in ("array", "object") and bound is not None:
        assert json.loads(str(bound)) == value

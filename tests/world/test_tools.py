import json
from typing import get_args

import pytest

from skillweave.schema.contract import Parameter, ParameterType
from skillweave.schema.record import Json
from skillweave.world.tools import decline_tool, tool_definition, tool_definitions, transfer_tool
from tests.tool_form import faults_of_tools
from tests.world.clinic import a_blueprint


def a_schema(tool: str) -> dict[str, Json]:
    for definition in tool_definitions(a_blueprint()):
        function = definition["function"]
        if isinstance(function, dict) and function["name"] == tool:
            parameters = function["parameters"]
            assert isinstance(parameters, dict)
            return parameters
    raise AssertionError(tool)


def test_an_optional_argument_is_one_that_is_not_required() -> None:
    assert a_schema("cancel_appointment") == {
        "type": "object",
        "properties": {
            "appointment_id": {"type": "string", "description": "The appointment."},
            "reason": {"type": "string", "description": "Why.", "enum": ["illness", "travel", "other"]},
        },
        "required": ["appointment_id"],
    }


@pytest.mark.parametrize("type", get_args(ParameterType))
@pytest.mark.parametrize("required", [True, False])
def test_every_type_that_a_contract_may_have_is_in_the_form_of_all_readers(type: str, required: bool) -> None:
    enum = ["a", "b"] if type == "string" else None
    parameter = {"name": "x", "type": type, "description": "An x.", "required": required, "enum": enum}
    tool = a_blueprint().tools[0].model_copy(update={"parameters": [Parameter.model_validate(parameter)]})
    assert faults_of_tools([tool_definition(tool)]) == []


def test_a_world_without_rules_names_none_to_decline_by() -> None:
    assert faults_of_tools([tool_definition(decline_tool([])), tool_definition(transfer_tool([]))]) == []


def test_dates_tell_their_form() -> None:
    text = json.dumps(a_schema("find_slots"))
    assert "Only this day. Format: YYYY-MM-DD." in text


def test_every_world_can_hand_over_to_a_human() -> None:
    assert a_schema("transfer_to_human")["required"] == ["reason", "summary"]


def test_hidden_tools_are_left_out() -> None:
    hidden = tool_definitions(a_blueprint(), frozenset({"pay_fee"}))
    assert len(hidden) == len(tool_definitions(a_blueprint())) - 1
    assert "pay_fee" not in json.dumps(hidden)

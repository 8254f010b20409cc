import json

from skillweave.schema.record import Json
from skillweave.world.tools import tool_definitions
from tests.world.clinic import a_blueprint


def a_schema(tool: str) -> dict[str, Json]:
    for definition in tool_definitions(a_blueprint()):
        function = definition["function"]
        if isinstance(function, dict) and function["name"] == tool:
            parameters = function["parameters"]
            assert isinstance(parameters, dict)
            return parameters
    raise AssertionError(tool)


def test_the_schema_is_strict_and_optional_arguments_may_be_null() -> None:
    assert a_schema("cancel_appointment") == {
        "type": "object",
        "properties": {
            "appointment_id": {"type": "string", "description": "The appointment."},
            "reason": {
                "type": ["string", "null"],
                "description": "Why.",
                "enum": ["illness", "travel", "other", None],
            },
        },
        "required": ["appointment_id"],
        "additionalProperties": False,
    }


def test_dates_tell_their_form() -> None:
    text = json.dumps(a_schema("find_slots"))
    assert "Only this day. Format: YYYY-MM-DD." in text


def test_every_world_can_hand_over_to_a_human() -> None:
    assert a_schema("transfer_to_human")["required"] == ["reason", "summary"]


def test_hidden_tools_are_left_out() -> None:
    hidden = tool_definitions(a_blueprint(), frozenset({"pay_fee"}))
    assert len(hidden) == len(tool_definitions(a_blueprint())) - 1
    assert "pay_fee" not in json.dumps(hidden)

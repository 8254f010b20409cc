from skillweave.llm.backends.json_schema import guided_format
from skillweave.schema.record import Json

OBJECT: dict[str, Json] = {"type": "object", "properties": {"colours": {"type": "array", "items": {"type": "string"}}}}


def test_a_schema_travels_as_it_is() -> None:
    assert guided_format(OBJECT)["json_schema"] == {"name": "answer", "schema": OBJECT}

import pytest

from skillweave.llm.backends.structured import guided_format, unwrap
from skillweave.llm.request import Reply
from skillweave.schema.record import Json

LIST: dict[str, Json] = {"type": "array", "items": {"$ref": "#/$defs/Colour"}, "$defs": {"Colour": {"type": "string"}}}
OBJECT: dict[str, Json] = {"type": "object", "properties": {"answer": {"type": "string"}}}


def test_an_object_travels_as_it_is() -> None:
    assert guided_format(OBJECT)["json_schema"] == {"name": "answer", "schema": OBJECT}
    assert unwrap(Reply('{"answer": "x"}'), OBJECT).text == '{"answer": "x"}'


def test_definitions_stay_at_the_root_when_wrapped() -> None:
    form = guided_format(LIST)["json_schema"]
    assert isinstance(form, dict)
    assert isinstance(form["schema"], dict)
    assert form["schema"]["$defs"] == LIST["$defs"]
    assert form["schema"]["properties"] == {"answer": {"type": "array", "items": {"$ref": "#/$defs/Colour"}}}


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ('{"answer": ["a"]}', '["a"]'),
        (' {\n "answer" : [NaN, {"a": 1, "a": 2}] } ', '[NaN, {"a": 1, "a": 2}]'),
        ('{"answer": ["a",]}', '["a",]'),
        ('["a"]', '["a"]'),
        ('{"answer": 1, "other": 2}', '{"answer": 1, "other": 2}'),
        ('{"answer": ["a"', '{"answer": ["a"'),
        ("words", "words"),
    ],
)
def test_only_a_wrapped_answer_is_unwrapped_and_its_text_kept(text: str, inner: str) -> None:
    assert unwrap(Reply(text), LIST).text == inner


def test_an_answer_that_was_cut_off_stays_as_it_came_until_its_end_is_there() -> None:
    cut = Reply('{"answer": [{"a": 1}', stop="length")
    assert unwrap(cut, LIST) == cut

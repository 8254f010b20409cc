"""Every answer has an end: decoding by its schema meets a bound wherever it might go on for ever."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.questions.library import questions

MOST_CHARACTERS = 2700
"""Of the form of an answer as a prompt shows it."""


def endless(schema: Any, defs: dict[str, Any], within: tuple[str, ...] = ()) -> Iterator[str]:
    """Places where a text, a list or an object may go on, or a type holds itself."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference:
        if reference in within:
            yield f"{reference} holds itself"
        else:
            yield from endless(defs[reference], defs, (*within, reference))
        return
    choices = schema.get("anyOf", [])
    for choice in choices:
        yield from endless(choice, defs, within)
    where = f"{'.'.join(within)} {schema}"
    kind = schema.get("type")
    if kind == "string" and not {"maxLength", "enum", "const"} & schema.keys():
        yield f"a text without end: {where}"
    if kind == "array" and "maxItems" not in schema:
        yield f"a list without end: {where}"
    if kind == "object" and "maxProperties" not in schema and schema.get("additionalProperties") is not False:
        yield f"an object without end: {where}"
    if kind is None and not choices and not {"enum", "const"} & schema.keys():
        yield f"anything at all: {where}"
    parts = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
    for part in parts:
        if isinstance(part, dict):
            yield from endless(part, defs, within)


JSON = sorted(name for name, question in questions().items() if question.form == "json")


@pytest.mark.parametrize("name", JSON)
def test_every_answer_has_an_end(name: str) -> None:
    schema: Any = questions()[name].schema
    assert list(endless(schema, schema.get("$defs", {}))) == []


@pytest.mark.parametrize("name", JSON)
def test_the_form_of_an_answer_is_told_in_few_words(name: str) -> None:
    assert len(questions()[name].answer_format) <= MOST_CHARACTERS

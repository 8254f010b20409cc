from dataclasses import replace
from typing import Literal

import pytest
from pydantic import BaseModel

from skillweave.errors import ConfigError
from skillweave.llm.parse import ParseError, parse
from skillweave.llm.question import question

from .conftest import Maker


class Colour(BaseModel):
    name: str
    hex: str | None = None


def test_the_divider_parts_the_system_from_the_user_message(a_question: Maker) -> None:
    system, user = a_question(prompt="Be brief.\n---\nName {{ thing }}.").render({"thing": "a colour"})
    assert (system.role, system.content) == ("system", "Be brief.")
    assert (user.role, user.content) == ("user", "Name a colour.")


def test_a_divider_in_a_variable_divides_nothing(a_question: Maker) -> None:
    _, user = a_question(prompt="s\n---\n{{ thing }}").render({"thing": "one\n---\ntwo"})
    assert user.content == "one\n---\ntwo"


def test_a_missing_variable_is_named(a_question: Maker) -> None:
    with pytest.raises(ConfigError, match=r"'thing' is undefined.*variables given: other"):
        a_question().render({"other": 1})


def test_a_prompt_without_divider_is_refused(a_question: Maker) -> None:
    with pytest.raises(ConfigError, match="has no line '---'"):
        a_question(prompt="Only a system message").render({})


def test_a_missing_prompt_file_is_named_when_asked_not_when_declared() -> None:
    declared = question("no.such", returns=str, package="skillweave.llm")
    with pytest.raises(ConfigError, match=r"'no\.such\.md' is not in package 'skillweave\.llm'"):
        declared.render({})


def test_the_format_names_the_fields_of_the_answer(a_question: Maker) -> None:
    system, _ = a_question(list[Colour]).render({"thing": "red"})
    assert system.content is not None
    assert '"hex"' in system.content
    assert '"title"' not in system.content


def test_nothing_is_escaped_as_html(a_question: Maker) -> None:
    _, user = a_question().render({"thing": "<b> & 'c'"})
    assert user.content == "About <b> & 'c'."


def test_models_are_shown_as_json(a_question: Maker) -> None:
    _, user = a_question(prompt="s\n---\n{{ thing|json }}").render({"thing": [Colour(name="réd")]})
    assert user.content == '[\n {\n  "name": "réd"\n }\n]'


def test_the_digest_follows_prompt_type_and_included_files(a_question: Maker) -> None:
    including = {"prompt": "s\n---\n{% include '_part.md' %}"}
    digests = [
        a_question(str).digest,
        a_question(int).digest,
        a_question(str, prompt="Other.\n---\nAbout {{ thing }}.").digest,
        a_question(str, **including, others={"_part.md": "one"}).digest,
        a_question(str, **including, others={"_part.md": "two"}).digest,
    ]
    assert len(set(digests)) == len(digests)
    assert a_question(str).digest == digests[0]


def test_code_questions_return_text(a_question: Maker) -> None:
    with pytest.raises(ConfigError, match="must return str"):
        a_question(list[int], form="code")


def test_plain_choices_are_shown_in_one_and_nothing_is_said_of_null_as_the_default(a_question: Maker) -> None:
    told = a_question(list[Colour]).answer_format
    assert '"hex": {"type": ["string", "null"]}' in told
    assert "default" not in told


def test_choices_between_more_than_types_are_shown_as_they_are(a_question: Maker) -> None:
    told = a_question(Colour | Literal["red", "blue"] | None).answer_format
    assert '{"$ref": "#/$defs/Colour"}, {"enum": ["red", "blue"], "type": "string"}, {"type": "null"}' in told


def test_a_list_may_be_bounded(a_question: Maker) -> None:
    bounded = replace(a_question(list[int]), most=2)
    assert bounded.schema is not None
    assert bounded.schema["maxItems"] == 2
    assert parse(bounded, "[1, 2]") == [1, 2]
    with pytest.raises(ParseError, match="at most 2 items"):
        parse(bounded, "[1, 2, 3]")

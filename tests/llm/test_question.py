from dataclasses import replace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from skillweave.base.errors import ConfigError
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
    declared = question("no.such", returns=str, form="text", package="skillweave.llm")
    with pytest.raises(ConfigError, match=r"'no\.such\.md' is not in package 'skillweave\.llm'"):
        declared.render({})


def test_what_is_printed_is_what_is_sent_in_few_words(a_question: Maker) -> None:
    question = a_question(list[Colour])
    system, _ = question.render({"thing": "red"})
    assert "\n{ things: Colour[] }\nColour = { name: string, hex?: string }\n" in str(system.content)
    assert question.schema is not None
    assert list(question.schema["properties"]) == question.schema["required"] == ["things"]  # type: ignore[arg-type]


def test_nothing_is_escaped_as_html(a_question: Maker) -> None:
    _, user = a_question().render({"thing": "<b> & 'c'"})
    assert user.content == "About <b> & 'c'."


def test_records_are_shown_as_compact_json_without_defaults_an_element_a_line(a_question: Maker) -> None:
    prompt = "s\n---\n{{ thing|json }}"
    _, user = a_question(prompt=prompt).render({"thing": [Colour(name="réd"), Colour(name="blue", hex="#00f")]})
    assert user.content == '[\n{"name": "réd"},\n{"name": "blue", "hex": "#00f"}\n]'
    _, user = a_question(prompt=prompt).render({"thing": {"of": "wall", "colours": [Colour(name="red")]}})
    assert user.content == '{\n"of": "wall",\n"colours": [\n{"name": "red"}\n]\n}'


def test_null_in_a_row_is_a_value_and_stays(a_question: Maker) -> None:
    _, user = a_question(prompt="s\n---\n{{ thing|json }}").render({"thing": [{"paid_on": None}]})
    assert user.content == '[\n{"paid_on": null}\n]'


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


@pytest.mark.parametrize("returns", [list[int], int, str, Colour | None])
def test_an_answer_that_is_no_object_must_have_a_name(returns: Any) -> None:
    with pytest.raises(ConfigError, match=r"name the field that holds it: under=\.\.\."):
        question("q", returns=returns)


class Wall(BaseModel):
    area: float = Field(ge=1, description="In square metres.")
    shade: Literal["light", "dark"] = "light"
    coats: list[Colour | Literal["primer"]] = Field(min_length=1, max_length=3)
    layers: dict[str, int] = {}


def test_limits_choices_defaults_and_descriptions_are_told(a_question: Maker) -> None:
    assert (
        """{
  area: number 1.., // In square metres.
  shade?: "light" | "dark" = "light",
  coats: (Colour | "primer")[1..3],
  layers?: { [name]: integer },
}
Colour = { name: string, hex?: string }"""
        in a_question(Wall).answer_format
    )


def test_a_list_may_be_bounded(a_question: Maker) -> None:
    bounded = replace(a_question(list[int]), most=2)
    assert "{ things: integer[..2] }" in bounded.answer_format
    assert parse(bounded, "[1, 2]") == [1, 2]
    with pytest.raises(ParseError, match="at most 2 items"):
        parse(bounded, "[1, 2, 3]")

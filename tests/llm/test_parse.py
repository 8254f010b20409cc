import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from skillweave.llm.parse import ParseError, parse
from skillweave.llm.question import Question


class Colour(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    share: float


def read(returns: Any, text: str) -> Any:
    return parse(Question("q", returns), text)


def complaints(returns: Any, text: str) -> list[str]:
    with pytest.raises(ParseError) as caught:
        read(returns, text)
    return caught.value.complaints


ANSWER = '[{"name": "red", "share": 0.5}]'


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f"\ufeff{ANSWER}\n",
        f"Here you are:\n\n{ANSWER}\n\nI hope that helps [1].",
        f"```json\n{ANSWER}\n```",
        f"Sure!\n```\n{ANSWER}\n```\nAnything else?",
        f"```json\n{ANSWER}",
        f"<think>maybe [1, 2] or {{}}</think>{ANSWER}",
        '[{"name": "red", "share": 0.5,},]',
        f"As [R7] says, see {{below}}: {ANSWER}",
        f'For example ```{{"name": "x"}}``` is one; mine is {ANSWER}',
    ],
)
def test_what_surrounds_an_answer_is_forgiven(text: str) -> None:
    assert read(list[Colour], text) == [Colour(name="red", share=0.5)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the answer is empty"),
        ("I cannot answer that.", "holds no JSON"),
        ('[{"name": "red", "name": "blue", "share": 1}]', "key 'name' stands twice"),
        ('[{"name": "red", "share": NaN}]', "NaN is no JSON number"),
        ('[{"name": "red", "share": -Infinity}]', "-Infinity is no JSON number"),
        ('[{"name": "red", "share": 1e999}]', "too large"),
        ('[{"name": "red", "share": ' + "9" * 5000 + "}]", "at most 40 are read"),
        ('[{"name": "\\ud800", "share": 1}]', "half of a surrogate pair"),
        ('[{"name": "red", "sha', "seems to be cut off"),
        ("[" * 3000 + "]" * 3000, "nested deeper than 64 levels"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ("[" + " " * 5_000_000 + "]", "characters; at most"),
    ],
)
def test_what_is_no_answer_is_refused_with_the_reason(text: str, complaint: str) -> None:
    assert complaint in "; ".join(complaints(list[Colour], text))


@pytest.mark.parametrize(
    "text",
    ["```" + " " * 400_000 + "!", "[" + "[1,]," * 80_000, "say " + "[x" * 200_000, "x {1} " * 60_000],
    ids=["blanks", "commas", "brackets", "braces"],
)
def test_no_text_takes_time_that_grows_faster_than_it_does(text: str) -> None:
    """Each would take minutes."""
    complaints(list[Colour], text)


def test_faults_of_fields_are_named_by_path() -> None:
    assert complaints(list[Colour], '[{"name": 3, "share": 1, "extra": 0}]') == [
        "0.name: Input should be a valid string",
        "0.extra: Extra inputs are not permitted",
    ]


def test_no_fault_of_an_honest_answer_is_cut_and_a_hostile_one_is_not_told_all() -> None:
    assert len(complaints(list[Colour], json.dumps([{"name": 1, "share": 1}] * 20))) == 20
    found = complaints(list[Colour], json.dumps([{"name": 1, "share": 1}] * 2000))
    assert len(found) == 101
    assert found[-1] == "... and 1900 more"


def test_a_place_is_named_by_what_stands_there_and_told_once_for_all_types_that_it_might_have() -> None:
    class Swatch(BaseModel):
        colours: list[Colour]
        weight: int | bool

    given = {"colours": [{"name": "red"}], "weight": "x"}
    missing, weight = complaints(Swatch, json.dumps(given))
    assert missing == "colours.0 (red).share: Field required"
    assert weight.startswith("weight: Input should be a valid integer")
    assert "or: Input should be a valid boolean" in weight


@pytest.mark.parametrize("text", ['{"colours": [{"name": "red", "share": 1}]}', '[{"name": "red", "share": 1}]'])
def test_a_list_is_read_under_its_name_or_bare(text: str) -> None:
    question = Question("q", list[Colour], under="colours")
    assert parse(question, text) == [Colour(name="red", share=1)]


def test_another_form_than_a_named_list_is_refused_with_the_name() -> None:
    question = Question("q", list[Colour], under="colours")
    with pytest.raises(ParseError, match=r"^colours: Input should be a valid list$"):
        parse(question, '{"colors": []}')
    with pytest.raises(ParseError, match=r"^note: Extra inputs are not permitted$"):
        parse(question, '{"colours": [], "note": ""}')


def test_null_is_left_out_where_a_field_has_a_default_and_cannot_be_null() -> None:
    class Paint(BaseModel):
        coats: int = 2
        notes: list[str] = []
        dry: bool | None = True
        under: "Paint | None" = None

    given = {"coats": None, "notes": None, "dry": None, "under": {"coats": None}}
    assert read(Paint, json.dumps(given)) == Paint(dry=None, under=Paint())
    assert "coats" in complaints(Paint, '{"coats": "two"}')[0]
    assert complaints(Colour, '{"name": null, "share": 1}') == ["name: Input should be a valid string"]


def test_an_element_of_a_truncated_list_is_not_the_answer() -> None:
    assert "cut off" in complaints(Colour, '[{"name": "red", "share": 1}, {"name": "bl')[0]


def test_an_example_before_a_truncated_answer_is_not_the_answer() -> None:
    complaints(list[str], 'Of the form ["x"]: ["a", "b"')


def test_commas_in_strings_stay() -> None:
    assert read(list[str], '["a,]", "b,}",]') == ["a,]", "b,}"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, min_size=1, max_size=4), st.sampled_from(["", "Here: ", "```json\n"]), st.booleans())
def test_any_json_list_is_read_as_it_is(value: list[Any], before: str, escaped: bool) -> None:
    text = before + json.dumps(value, ensure_ascii=escaped)
    assert read(list[Any], text) == value


@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers(), max_size=2), min_size=1, max_size=3), st.data())
def test_no_truncated_list_is_ever_accepted(value: list[Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    complaints(list[Any], text[: data.draw(st.integers(0, len(text) - 1))])


@given(st.text(max_size=300))
def test_no_text_makes_the_parser_fail_otherwise(text: str) -> None:
    with contextlib.suppress(ParseError):
        read(dict[str, list[int]], text)


def code(text: str) -> str:
    return parse(Question("q", str, form="code"), text)


def test_code_is_read_with_or_without_a_fence() -> None:
    source = "import json\n\nprint(json)\n"
    assert code(source) == code(f"Here it is:\n```python\n{source}```\nDone.") == source


def test_the_longest_block_is_the_code() -> None:
    assert code("Run `x`:\n```\nx\n```\n```python\ny = 1\nz = 2\n```") == "y = 1\nz = 2\n"


@pytest.mark.parametrize("text", ["def f(:\n  pass", "```python\nx = (\n```", "x = 1\0", "(" * 2000 + ")" * 2000])
def test_code_that_is_no_python_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="not valid Python"):
        code(text)


def test_text_loses_only_a_fence_around_all_of_it() -> None:
    question = Question("q", str, form="text")
    assert parse(question, "```markdown\n# Rules\n\n```\ncode\n```\n\nend\n```") == "# Rules\n\n```\ncode\n```\n\nend\n"
    assert parse(question, "# Rules\n```\ncode\n```") == "# Rules\n```\ncode\n```\n"

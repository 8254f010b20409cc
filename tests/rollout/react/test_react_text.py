import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.react.agent import NO_TOOLS, described, rendered
from rollout.task import Definition
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall
from skillweave.text_calls import read_text


def test_a_reply_in_the_right_form_is_a_thought_and_a_call() -> None:
    read = read_text('Thought: I look it up.\nAction: find\nAction Input: {"name": "Ann"}')
    assert read == ("I look it up.", "find", '{"name": "Ann"}', "")


def test_an_answer_keeps_its_lines() -> None:
    read = read_text("Thought: Done.\nAnswer: Yes.\n\n- one\n- two")
    assert read == ("Done.", None, "", "Yes.\n\n- one\n- two")


def test_words_without_any_mark_are_the_answer() -> None:
    assert read_text("Hello, what is your name?") == ("", None, "", "Hello, what is your name?")


def test_invented_observations_and_all_that_follows_are_cut_off() -> None:
    read = read_text('Action: find\nAction Input: {}\nObservation: {"id": 1}\nThought: Good.\nAnswer: It is 1.')
    assert read == ("", "find", "{}", "")
    assert read_text("Observation: all done\nAnswer: yes") == ("", None, "", "")


def test_of_several_actions_the_first_counts() -> None:
    read = read_text('Thought: a\nAction: one\nAction Input: {"x": 1}\nThought: b\nAction: two\nAction Input: {"x": 2}')
    assert read == ("a", "one", '{"x": 1}', "")


@pytest.mark.parametrize(
    "reply",
    [
        '```\nThought: t\nAction: f\nAction Input: {"x": 1}\n```',
        'Thought: t\nAction: `f`\nAction Input: ```json\n{"x": 1}\n```',
        'Thought: t\nAction: f\nAction Input:\n```\n{"x": 1}\n```\nI wait for the result.',
        '**Thought:** t\n**Action:** f\n**Action Input:** {"x": 1}',
        'Thought: t\nAction: f({"x": 1})',
        'Thought: t\nAction: f\nAction Input: {"x": 1} (my best guess)',
        '<think>t</think>\nAction: f\nAction Input: `{"x": 1}`',
        't\n\nAction: f\nAction Input: {"x": 1}\nAction: g',
    ],
)
def test_other_ways_to_write_the_same_call_are_understood(reply: str) -> None:
    assert read_text(reply) == ("t", "f", '{"x": 1}', "")


def test_arguments_may_stand_on_several_lines() -> None:
    read = read_text('Action: f\nAction Input: {\n  "x": {\n    "y": [1,\n 2]\n  }\n}\nObservation: ok')
    assert json.loads(read.arguments) == {"x": {"y": [1, 2]}}


def test_a_missing_input_is_empty() -> None:
    assert read_text("Thought: t\nAction: f") == ("t", "f", "", "")


def test_arguments_that_are_no_json_are_kept_as_they_are() -> None:
    assert read_text("Action: f\nAction Input: {'x': 1}").arguments == "{'x': 1}"
    assert read_text('Action: f\nAction Input: {"x": 1').arguments == '{"x": 1'


def test_words_beside_a_call_are_said() -> None:
    assert read_text("Answer: One moment.\nAction: f\nAction Input: {}") == ("", "f", "{}", "One moment.")


def test_a_line_of_an_answer_that_looks_like_an_action_is_no_call() -> None:
    assert read_text("Answer: Here is the plan.\nAction: pay").tool is None


def test_no_action_is_no_call() -> None:
    assert read_text("Thought: t\nAction: None\nAnswer: Hi.") == ("t", None, "", "Hi.")


def test_a_mark_in_the_middle_of_a_line_is_none() -> None:
    assert read_text("Note: the Action: field is empty.").words == "Note: the Action: field is empty."


@given(st.text(alphabet="Thought:Action InputAnswerObservation\n`{}\"'()<>/k*_ []1", max_size=200))
def test_no_reply_breaks_the_reader(reply: str) -> None:
    read = read_text(reply)
    assert read.tool is None or read.tool.strip()
    assert "\nObservation:" not in read.words


@given(
    st.dictionaries(
        st.text(max_size=5), st.integers() | st.text(max_size=20) | st.lists(st.text(max_size=3)), max_size=4
    )
)
def test_arguments_come_out_as_they_went_in(arguments: dict[str, object]) -> None:
    call = ToolCall(id="c", function=FunctionCall(name="f", arguments=json.dumps(arguments)))
    written = rendered([(Message(role="assistant", tool_calls=[call]), "why")])[0].content
    read = read_text(written or "")
    assert (read.thought, read.tool, json.loads(read.arguments)) == ("why", "f", arguments)


def test_tools_are_described_with_what_binds_their_arguments() -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "day": {"type": "string", "description": "The\nday.", "pattern": "^2"},
            "slot": {"type": ["integer", "null"], "enum": [1, 2]},
        },
        "required": ["day"],
    }
    tool: Definition = {
        "type": "function",
        "function": {"name": "book", "description": "Book a slot.", "parameters": schema},
    }
    assert described([tool]).splitlines() == [
        "- book: Book a slot.",
        '    day (string): The day. {"pattern": "^2"}',
        '    slot (integer|null, optional) {"enum": [1, 2]}',
    ]
    assert described([]) == NO_TOOLS


def test_what_one_side_says_in_a_row_is_one_message() -> None:
    call = ToolCall(id="c", function=FunctionCall(name="f", arguments="{}"))
    said = [
        Message(role="system", content="You help."),
        Message(role="user", content="Hi."),
        Message(role="assistant", content="Wait.", tool_calls=[call]),
        Message(role="tool", tool_call_id="c", content="3"),
        Message(role="user", content="Well?"),
    ]
    assert [(message.role, message.content) for message in rendered([(message, "") for message in said])] == [
        ("system", "You help."),
        ("user", "Hi."),
        ("assistant", "Answer: Wait.\nAction: f\nAction Input: {}"),
        ("user", "Observation: 3\n\nWell?"),
    ]

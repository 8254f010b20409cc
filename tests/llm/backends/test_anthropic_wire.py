from skillweave.llm.backends.anthropic import system_text, turns, wire_tools
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall


def a_call(id: str, arguments: str | dict[str, Json]) -> ToolCall:
    return ToolCall(id=id, function=FunctionCall(name="book", arguments=arguments))


def test_results_of_parallel_calls_and_the_users_words_are_one_message() -> None:
    messages = [
        Message(role="system", content="Be kind."),
        Message(role="user", content="Book both."),
        Message(role="assistant", content="Yes.", tool_calls=[a_call("a", '{"day": 1}'), a_call("b", {"day": 2})]),
        Message(role="tool", content="done", tool_call_id="a"),
        Message(role="tool", content="", tool_call_id="b"),
        Message(role="user", content="And?"),
    ]
    assert turns(messages) == [
        {"role": "user", "content": [{"type": "text", "text": "Book both."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Yes."},
                {"type": "tool_use", "id": "a", "name": "book", "input": {"day": 1}},
                {"type": "tool_use", "id": "b", "name": "book", "input": {"day": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "done"},
                {"type": "tool_result", "tool_use_id": "b"},
                {"type": "text", "text": "And?"},
            ],
        },
    ]


def test_system_messages_stand_apart() -> None:
    messages = [Message(role="system", content="One."), Message(role="user", content="x")]
    assert system_text([*messages, Message(role="system", content="Two.")]) == "One.\n\nTwo."
    assert system_text(messages[1:]) == ""


def test_an_empty_answer_leaves_one_message_of_the_user() -> None:
    messages = [
        Message(role="user", content="One."),
        Message(role="assistant", content=""),
        Message(role="user", content="Two."),
    ]
    (turn,) = turns(messages)
    assert [block["text"] for block in turn["content"]] == ["One.", "Two."]


def test_signed_reasoning_goes_back_as_it_came_and_first() -> None:
    block = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
    said = Message.model_validate({"role": "assistant", "content": "Yes.", "thinking_blocks": [block]})
    (turn,) = turns([said])
    assert turn["content"] == [block, {"type": "text", "text": "Yes."}]
    other = {"role": "assistant", "content": "Yes.", "thinking_blocks": [{"type": "reasoning", "id": "x"}]}
    assert turns([Message.model_validate(other)])[0]["content"] == [{"type": "text", "text": "Yes."}]
    foreign = Message.model_validate({"role": "user", "content": "Yes.", "thinking_blocks": [block]})
    assert turns([foreign]) == [{"role": "user", "content": [{"type": "text", "text": "Yes."}]}]


def test_malformed_arguments_go_back_within_an_object() -> None:
    for text in ('{"day": ', "[1]", "nonsense", "[" * 4000):
        (turn,) = turns([Message(role="assistant", tool_calls=[a_call("a", text)])])
        assert turn["content"][0]["input"] == {"INVALID_JSON": text}
    (turn,) = turns([Message(role="assistant", tool_calls=[a_call("a", "")])])
    assert turn["content"][0]["input"] == {}


def test_tools_have_a_schema_even_without_parameters() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"day": {"type": "integer"}}}
    tools: list[dict[str, Json]] = [
        {"type": "function", "function": {"name": "book", "description": "Books.", "parameters": schema}},
        {"type": "function", "function": {"name": "list"}},
    ]
    assert wire_tools(tools) == [
        {"name": "book", "description": "Books.", "input_schema": schema},
        {"name": "list", "input_schema": {"type": "object", "properties": {}}},
    ]

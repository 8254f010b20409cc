"""Calls that models write as text are read, and found; words that mention a tool are no call."""

import pytest

from skillweave.base.call_arguments import read_arguments
from skillweave.schema.record import Json
from skillweave.text_calls import MAX_CALLS, find_call, read_calls

NAMES = ["find_slots", "book_slot"]
ARGUMENTS: dict[str, Json] = {"day": "2025-01-01", "count": 3}
JSON = '{"day": "2025-01-01", "count": 3}'
SCHEMA: dict[str, Json] = {"properties": {"day": {"type": "string"}, "count": {"type": ["integer", "null"]}}}
TOOL: dict[str, Json] = {"type": "function", "function": {"name": "find_slots", "parameters": SCHEMA}}
MARKED = [
    f'<tool_call>\n{{"name": "find_slots", "arguments": {JSON}}}\n</tool_call>',
    f'<function_call>{{"name": "find_slots", "arguments": {JSON}}}</function_call>',
    f'<tool_calls>[{{"name": "find_slots", "arguments": {JSON}}}]</tool_calls>',
    "<tool_call>\n<function=find_slots>\n<parameter=day>\n2025-01-01\n</parameter>\n<parameter=count>\n3\n</parameter>\n"
    "</function>\n</tool_call>",
    "<tool_call>find_slots\n<arg_key>day</arg_key>\n<arg_value>2025-01-01</arg_value>\n<arg_key>count</arg_key>\n"
    "<arg_value>3</arg_value>\n</tool_call>",
    f"<function=find_slots>{JSON}</function>",
    f'[TOOL_CALLS] [{{"name": "find_slots", "arguments": {JSON}}}]',
    f"[TOOL_CALLS]find_slots[ARGS]{JSON}",
    f'<|python_tag|>{{"name": "find_slots", "parameters": {JSON}}}',
    f'<|tool_call|>[{{"name": "find_slots", "arguments": {JSON}}}]',
    f"functions.find_slots:0{JSON}",
    f"<|tool_calls_section_begin|><|tool_call_begin|>functions.find_slots:0<|tool_call_argument_begin|>{JSON}"
    "<|tool_call_end|><|tool_calls_section_end|>",
    f"<|channel|>commentary to=functions.find_slots <|constrain|>json<|message|>{JSON}<|call|>",
    f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find_slots\n```json\n{JSON}\n```"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    f"<｜tool▁call▁begin｜>find_slots<｜tool▁sep｜>{JSON}<｜tool▁call▁end｜>",
    '<minimax:tool_call>\n<invoke name="find_slots">\n<parameter name="day">2025-01-01</parameter>\n'
    '<parameter name="count">3</parameter>\n</invoke>\n</minimax:tool_call>',
    f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "find_slots", "parameters": {JSON}}}]<|END_ACTION|>',
]
UNMARKED = [
    f"to=functions.find_slots json{JSON}",
    f"<|start|>assistant to=functions.find_slots<|channel|>commentary json<|message|>{JSON}",
    f'{{"arguments": {JSON}, "name": "find_slots"}}',
    f'{{"recipient_name": "functions.find_slots", "parameters": {JSON}}}',
    f'{{"tool_uses": [{{"parameters": {JSON}, "recipient_name": "functions.find_slots"}}]}}',
    f'{{"action": "find_slots", "action_input": {JSON}}}',
    '{"action": "find_slots", "action_input": "2025-01-01"}',
    f'{{"function_name": "find_slots", "args": {JSON}}}',
    f'{{"id": "c1", "kwargs": {{"deep": {JSON}}}, "tool": "find_slots"}}',
    f'{{"find_slots": {JSON}}}',
    'slots = await find_slots(day="2025-01-01")',
    f'<tool name="find_slots">{JSON}</tool>',
    "<find_slots><day>2025-01-01</day></find_slots>",
    "<use_tool><name>find_slots</name></use_tool>",
    '{"parameters": {"day": "2025-01-01"}, "function": "find_slots", "why": "It is a long rea',
    '<|tool_call_start|>[find_slots(day="2025-01-01", count=3)]<|tool_call_end|>',
    "<|tool_call_start|>[find_slots()]<|tool_call_end|>",
    "<start_function_call>call:find_slots{day:<escape>2025-01-01<escape>}<end_function_call>",
    f">>>find_slots\n{JSON}",
    f'<longcat_tool_call>{{"name": "find_slots", "arguments": {JSON}}}</longcat_tool_call>',
    "<longcat_tool_call>find_slots\n<longcat_arg_key>day</longcat_arg_key>",
    f"find_slots\n{JSON}",
    f"`find_slots`\n```json\n{JSON}\n```",
    f"<some_new_mark>find_slots{JSON}</some_new_mark>",
    f"action: find_slots\naction input: {JSON}",
    f"Thought 1: Hm.\nAction 1: find_slots\nAction Input 1: {JSON}",
    f'{{"name": "find_slots", "arguments": {JSON}}}',
    f'```json\n{{"name": "find_slots", "arguments": {JSON}}}\n```',
    f'{{"type": "function", "function": {{"name": "find_slots", "arguments": {JSON}}}}}',
    '[find_slots(day="2025-01-01", count=3)]',
    'find_slots(day="2025-01-01")',
    '```tool_code\nprint(default_api.find_slots(day="2025-01-01"))\n```',
    f"Action: find_slots\nAction Input: {JSON}",
    '<tool_call>{"name": "find_slots", "arguments": {"da',
]


@pytest.mark.parametrize("text", MARKED)
def test_a_call_in_a_form_of_training_is_read(text: str) -> None:
    words, calls = read_calls(f"One moment.\n{text}", [TOOL])
    assert words == "One moment."
    assert [(call.function.name, call.function.arguments) for call in calls] == [("find_slots", ARGUMENTS)]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "find_slots", "arguments": {"day": "a", "day": "b"}}</tool_call>',
        '<tool_call>{"arguments": {"day": {"x": 1, "x": 2}}, "name": "find_slots"}</tool_call>',
        '[TOOL_CALLS][{"name": "find_slots", "arguments": {"day": "a", "day": "b"}}]',
        '<function=find_slots>{"day": "a", "day": "b"}</function>',
        '<tool_call>{"name": "book_slot", "name": "find_slots", "arguments": {"day": "a"}}</tool_call>',
    ],
)
def test_a_key_that_stands_twice_is_refused_as_in_a_native_call(text: str) -> None:
    (call,) = read_calls(text).calls
    assert call.function.name == "find_slots"
    assert "stands twice" in (read_arguments(call.function.arguments).fault or "")


def test_of_several_calls_only_the_one_that_cannot_be_read_is_refused() -> None:
    good = '{"name": "find_slots", "arguments": {"day": "a"}}'
    bad = '{"name": "find_slots", "arguments": {"day": "a", "day": "b"}}'
    calls = read_calls(f"<tool_calls>[{good} , {bad}, {good}]</tool_calls>").calls
    assert [read_arguments(call.function.arguments).values for call in calls] == [{"day": "a"}, None, {"day": "a"}]


def test_several_calls_are_read_in_their_order_and_no_more_than_so_many() -> None:
    words, calls = read_calls(f"{MARKED[0]}\n{MARKED[3]}", [TOOL])
    assert (words, [call.function.arguments for call in calls]) == ("", [ARGUMENTS] * 2)
    assert len(read_calls(MARKED[0] * 500).calls) == MAX_CALLS


def test_arguments_in_tags_are_text_where_the_tool_takes_text() -> None:
    text = "<function=find_slots><parameter=day>20250101</parameter><parameter=count>null</parameter></function>"
    assert read_calls(text, [TOOL]).calls[0].function.arguments == {"day": "20250101", "count": None}


@pytest.mark.parametrize("text", [*MARKED, *UNMARKED])
def test_a_call_of_an_offered_tool_is_found(text: str) -> None:
    found = find_call(f"One moment.\n{text}", NAMES)
    assert found is not None
    assert "find_slots" in found
    assert find_call(text, ["other_tool"]) is None


@pytest.mark.parametrize(
    "words",
    [
        "I will use find_slots to look, then book_slot.",
        "The tool find_slots(day) lists them.",
        'I called "find_slots" for you.',
        "Your name: find_slots",
        "find_slots: it has the arguments day and count.",
        '{"name": "Ann", "arguments": "none"}, and find_slots',
        "The functions.find_slots tool",
        "Shall I go ahead with book_slot?",
        "The function\nfind_slots\nlists them {as you know}.",
        '{"name": "find_slots"}',
        "Press <find_slots> to look.",
        "<b>find_slots</b> is what I use.",
        '{"tool": "find_slots", "result": {"slots": []}}',
        '{"note": "find_slots", "input": {"a": 1}}',
        '{"text": "I use find_slots with arguments", "arguments": {}}',
        "You asked to=day, find_slots {",
        "> find_slots (see above)",
    ],
)
def test_words_that_mention_a_tool_are_no_call(words: str) -> None:
    assert find_call(words, NAMES) is None
    assert read_calls(words) == (words, ())


@pytest.mark.parametrize(
    "piece",
    ["<tool_call>", "<tool_call>{", "find_slots(", "[TOOL_CALLS]", "<function=find_slots><parameter=a><",
     '{"name": "find_slots"', "\nfind_slots( ", "<tool_call>find_slots<arg_key>a</arg_key><arg_value>", "[",
     '{"find_slots":', '{"a": "find_slots", ', "find_slots{", "to=find_slots ",
     '{"find_slots": {}}', "\n>find_slots\n"],
)  # fmt: skip
def test_a_hostile_text_is_read(piece: str) -> None:
    """With time that grows by the square, the suite's time-out would end it."""
    text = piece * (2**19 // len(piece)) + "find_slots"
    find_call(text, NAMES)
    read_calls(text)

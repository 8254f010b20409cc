"""Calls that models write as text are read, and found; words that mention a tool are no call."""

import pytest

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
    ],
)
def test_words_that_mention_a_tool_are_no_call(words: str) -> None:
    assert find_call(words, NAMES) is None
    assert read_calls(words) == (words, ())


@pytest.mark.parametrize(
    "piece",
    ["<tool_call>", "<tool_call>{", "find_slots(", "[TOOL_CALLS]", "<function=find_slots><parameter=a><",
     '{"name": "find_slots"', "\nfind_slots( ", "<tool_call>find_slots<arg_key>a</arg_key><arg_value>", "["],
)  # fmt: skip
def test_a_hostile_text_is_read(piece: str) -> None:
    """With time that grows by the square, the suite's time-out would end it."""
    text = piece * (2**19 // len(piece)) + "find_slots"
    find_call(text, NAMES)
    read_calls(text)

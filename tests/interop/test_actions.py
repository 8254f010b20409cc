"""What a trainer may send as a step, and what is read in the text of a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.actions import MAX_CHARACTERS, Action, ActionError, ActionLike, action_of, read_action
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message
from skillweave.world.tools import read_call

CALL = {"name": "book_slot", "arguments": {"slot_id": "S-1"}}


def made(action: Action) -> list[tuple[str, object]]:
    """Tool and arguments of each call, as they are read."""
    return [(call.function.name, read_call(call).arguments) for call in action.calls]


BOOKED = [("book_slot", {"slot_id": "S-1"})]


@pytest.mark.parametrize(
    "given",
    [
        CALL,
        [CALL],
        {"tool": "book_slot", "arguments": '{"slot_id": "S-1"}'},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": CALL}]},
        Message.model_validate({"role": "assistant", "tool_calls": [{"id": "c1", "function": CALL}]}),
    ],
)
def test_a_call_may_be_written_in_several_forms(given: ActionLike) -> None:
    assert made(action_of(given)) == BOOKED


@pytest.mark.parametrize(
    "text",
    [
        'Thought: book it.\n\nAction: book_slot\nAction Input: {"slot_id": "S-1"}',
        'Action: book_slot({"slot_id": "S-1"})',
        '<think>book it</think>\n<tool_call>\n{"name": "book_slot", "arguments": {"slot_id": "S-1"}}\n</tool_call>',
        '<tool_call>{"name": "book_slot", "arguments": {"slot_id": "S-1"}}',
        '<function_call>{"name": "book_slot", "arguments": {"slot_id": "S-1"}}</function_call>',
    ],
)
def test_a_call_is_found_in_text(text: str) -> None:
    action = read_action(text)
    assert made(action) == BOOKED
    assert not action.words


@pytest.mark.parametrize("rule", ["<think>x</think>", "a </think> b", "<think>x", "[THINK]x[/THINK]", "◁think▷x"])
@pytest.mark.parametrize(
    "form",
    [
        'Thought: keep it.\nAction: note\nAction Input: {{"rule": "{}"}}',
        '<think>keep it</think><tool_call>{{"name": "note", "arguments": {{"rule": "{}"}}}}</tool_call>',
        "<tool_call><function=note>\n<parameter=rule>\n{}\n</parameter>\n</function></tool_call>",
        "<tool_call>note<arg_key>rule</arg_key><arg_value>{}</arg_value></tool_call>",
    ],
)
def test_a_mark_of_thoughts_in_an_argument_belongs_to_the_argument(form: str, rule: str) -> None:
    action = read_action(form.format(rule))
    assert made(action) == [("note", {"rule": rule})]
    assert not action.words


@pytest.mark.parametrize(
    ("text", "words", "thought", "calls"),
    [
        ("thought: they greet\nanswer: Hello", "Hello", "they greet", []),
        ("Thought 1: book it\nAction 1: book_slot\nAction Input 1: {}", "", "book it", [("book_slot", {})]),
        ("THOUGHT: book it\n**ACTION 2:** book_slot\n**ACTION INPUT 2:** {}", "", "book it", [("book_slot", {})]),
        ("final answer: Hello\nobservation: none", "Hello", "", []),
        ("My answer: Hello", "My answer: Hello", "", []),
    ],
)
def test_marks_may_be_numbered_and_in_any_case(text: str, words: str, thought: str, calls: list[object]) -> None:
    action = read_action(text)
    assert (action.words, action.thought, made(action)) == (words, thought, calls)


def test_several_calls_and_words_beside_them() -> None:
    block = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
    action = read_action(f"One moment.\n{block}\n{block}")
    assert action.words == "One moment."
    assert made(action) == [("look", {}), ("look", {})]


def test_a_block_that_cannot_be_read_is_a_call_with_a_fault() -> None:
    action = read_action('<tool_call>{"name": "look", "arguments": {</tool_call>')
    assert made(action) == [("tool_call", None)]


BLOCK = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'


@pytest.mark.parametrize(
    "thought",
    [f"<think>Shall I {BLOCK}?", f"[THINK]Or {BLOCK}", "<think>\nAction: look\nAction Input: {}\n", "<think>"],
)
def test_a_thought_that_is_cut_off_is_neither_words_nor_a_call(thought: str) -> None:
    for action in (
        read_action(thought),
        action_of(thought),
        action_of({"role": "assistant", "content": thought}),
        action_of(Action(thought)),
    ):
        assert (action.words, action.calls) == ("", ())


@pytest.mark.parametrize("mention", [BLOCK, "\nAction: look\nAction Input: {}\n", "</reasoning>"])
@pytest.mark.parametrize(("opening", "closing"), [("<think>", "</think>"), ("", "</think>"), ("[THINK]", "[/THINK]")])
def test_a_call_that_a_thought_mentions_is_not_made(mention: str, opening: str, closing: str) -> None:
    text = f"{opening}I could {mention} now.{closing}\n\nHello."
    for action in (read_action(text), action_of({"content": text}), action_of(text)):
        assert (action.words, action.calls) == ("Hello.", ())
        assert "I could" in action.thought
    called = read_action(f"{opening}I could {mention} now.{closing}{BLOCK}")
    assert (made(called), called.words) == ([("look", {})], "")


def test_parts_of_a_message_that_are_thoughts_are_not_said() -> None:
    parts: list[Json] = [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Hello."}]
    assert action_of({"role": "assistant", "content": parts}).words == "Hello."


def test_text_without_a_form_is_words() -> None:
    assert read_action("Shall I go ahead?") == Action("Shall I go ahead?")
    assert action_of("Action: look\nAction Input: {}").calls == ()


@pytest.mark.parametrize(
    "given",
    [
        5,
        None,
        [],
        {},
        [CALL] * 65,
        {"name": ""},
        {"role": "user", "content": "Hi"},
        {"content": 5},
        pytest.param("x" * (MAX_CHARACTERS + 1), id="too long"),
    ],
)
def test_what_is_no_step_is_refused_in_a_line(given: object) -> None:
    with pytest.raises(ActionError) as refused:
        action_of(given)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", "name", "arguments", "function", "id", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(json_values)
def test_garbage_is_a_step_or_an_action_error(value: object) -> None:
    try:
        action = action_of(value)  # type: ignore[arg-type]
    except ActionError:
        return
    for call in action.calls:
        read_call(call)


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    action = read_action(text)
    for call in action.calls:
        read_call(call)

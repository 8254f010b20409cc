"""A model's thoughts are told from its words, in every form that models write, and words are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillweave.thoughts import split_thoughts, write_thoughts

FINAL = "<|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    ("text", "thoughts", "words"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", "Hm.", "Yes."),
        ("Hm.\n</think>\n\nYes.", "Hm.", "Yes."),
        ("<think>Hm, and then", "Hm, and then", ""),
        ("<think", "", ""),
        ("Yes. <think>Hm.</think> No. <THINK kind='x'>Ha.</THINK>", "Hm.\n\nHa.", "Yes. No."),
        ("<think>a<think>b</think>c</think>Yes.", "a<think>b\n\nc", "Yes."),
        ("<think>a <reasoning>b</reasoning> c</think>Yes.", "a <reasoning>b</reasoning> c", "Yes."),
        ("<think>a <reasoning>b</reasoning> c", "a <reasoning>b</reasoning> c", ""),
        ("<think>Hm.</thinking>Yes.", "Hm.", "Yes."),
        ("<think>I end with `</think>`, I know.</think>Yes.", "I end with `</think>`, I know.", "Yes."),
        ("<think/>Yes.", "", "Yes."),
        ("<think></think>Yes.", "", "Yes."),
        ("<thought>Hm.</thought>Yes.", "Hm.", "Yes."),
        ("<reasoning>Hm.</reasoning>Yes.", "Hm.", "Yes."),
        ("<seed:think>Hm.</seed:think>Yes.", "Hm.", "Yes."),
        ("<longcat_think>Hm.</longcat_think>Yes.", "Hm.", "Yes."),
        ("[THINK]Hm.[/THINK]Yes.", "Hm.", "Yes."),
        ("[THINK]Hm, and", "Hm, and", ""),
        ("◁think▷Hm.◁/think▷Yes.", "Hm.", "Yes."),
        ("<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>", "Hm.", "Yes."),
        ("<|inner_prefix|>Hm.<|inner_suffix|>Yes.", "Hm.", "Yes."),
        ("<|channel>thought\nHm.<channel|>Yes.", "Hm.", "Yes."),
        ("<think>\nHm.\n</think>\n<answer>\nYes.\n</answer>", "Hm.", "Yes."),
        ("Here is my thought process: Hm. Here is my response: Yes.", "Hm.", "Yes."),
        (f"<|channel|>analysis<|message|>Hm.<|end|>{FINAL}Yes.<|return|>", "Hm.", "Yes."),
        ("<|channel|>analysis<|message|>Hm, and", "Hm, and", ""),
        (f"Hm.<|end|>{FINAL}Yes.", "Hm.", "Yes."),
        (f"<|channel|>commentary<|message|>One moment.<|end|>{FINAL}Yes.", "", "One moment. Yes."),
        ("analysisWe greet.assistantfinalYes.", "We greet.", "Yes."),
        ("< think >Hm.</ think >Yes.", "Hm.", "Yes."),
        ('<think type="x" n=1>Hm.</think>Yes.', "Hm.", "Yes."),
        (
            "Yes, <think>Hm.</think> (<thought>Ha.</thought>) and [THINK]Oh.[/THINK]so",
            "Hm.\n\nHa.\n\nOh.",
            "Yes, ( ) and so",
        ),
        ("Yes <think>Hm.</thinking>Ok.", "Hm.", "Yes Ok."),
        ("Yes.\n<think>Hm, and", "Hm, and", "Yes."),
        ("Yes. <think>Hm.</think> <think>Ha, and", "Hm.\n\nHa, and", "Yes."),
        ("I mean <think> as such.\n<think>Hm.</think>Yes.", "as such.\n<think>Hm.", "I mean Yes."),
        ('I draft {"text": "a"}.</think>{"text": "b"}', 'I draft {"text": "a"}.', '{"text": "b"}'),
        ('{"text": "a", </think>{"text": "b"}', '{"text": "a",', '{"text": "b"}'),
        ('<think>I call {"q": "</think>"}.</think>Yes.', 'I call {"q": "</think>"}.', "Yes."),
    ],
)
def test_thoughts_are_told_from_words(text: str, thoughts: str, words: str) -> None:
    assert split_thoughts(text) == (thoughts, words)


@pytest.mark.parametrize(
    "text",
    [
        "If a < b and b > c, I think <3 is fine. ",
        "Give it some thought [I think] - analysis is good.",
        "I write my reasoning in `<think>` tags.",
        "The mark is '</think>', as you know.",
        "<b>Thinking</b> of you <thinker>",
        '<tool_call>{"name": "f"}</tool_call>',
        "Here is my response: yes.",
        "<!-- think --> Yes.",
        "email <thoughts@clinic.org>",
        "<think@mail.com>",
        "<thinking@x.org> wrote",
        "see <think.com>",
        "go to <reasoning.example.org>",
        "I used <reasoning to>",
        "1 <thought",
        "it ends with <think",
        "<thought, she said",
        "<Reasoning Ltd> is the firm",
        "<Reasoning Ltd>",
        "Order <thoughts> volume 2",
        "the tag (<think>) is",
        "the tag “<thinking>” is",
        "(<thought>)",
        "the button [THINK] is",
        "Press it:\n[THINK] is green",
        "I am <thinking> of you",
        'Action Input: {"rule": "<think>x</think>"}',
        'Action Input: {"rule": "<think>x</think>',
        '{"q": "a </think> b"}',
        '{"text":"SECRET</think>WORDS","done":false}',
        '{"text":"a "quoted" SECRET</think>WORDS","done":fa',
        '<tool_call>{"name": "f", "arguments": {"q": "[THINK]"}}</tool_call>',
        "<function=f>\n<parameter=q>\n<think>a</think>\n</parameter>\n</function>",
        "<tool_call>f<arg_key>q</arg_key><arg_value>a </think> b</arg_value></tool_call>",
        "",
    ],
)
def test_ordinary_words_are_left_as_they_are(text: str) -> None:
    assert split_thoughts(text) == ("", text)


@given(
    st.lists(
        st.sampled_from(
            ["<think>", "</think>", "<reasoning>", "[THINK]", "[/THINK]", "a", " ", "\n", "<|end|>", FINAL, "`"]
        )
    )
)
def test_words_hold_no_thought_any_more(pieces: list[str]) -> None:
    words = split_thoughts("".join(pieces)).words
    assert split_thoughts(words) == ("", words)


@given(st.text(alphabet="abc .\n", min_size=1).map(str.strip).filter(bool), st.text(alphabet="abc .\n").map(str.strip))
def test_what_is_written_is_read_again(thoughts: str, words: str) -> None:
    assert split_thoughts(write_thoughts(thoughts, words)) == (thoughts, words)


@pytest.mark.parametrize(
    "piece",
    ["<think>", "</think>", "<think", "<", "<|channel|>analysis", "<|start|>assistant", "[THINK]", "a_", "analysisA",
     "<think></reasoning>", "<think>a</think>", "a <think> ",
     '{"a":', '{"a":"</think>",', "<parameter=a>", "<think a=", "<|channel|>final<|message|>", "<think> "],
)  # fmt: skip
def test_hostile_text_comes_to_an_end(piece: str) -> None:
    """A pattern that goes back over what it has read would not."""
    split_thoughts(piece * (2**18 // len(piece)) + "<think>")

"""What a model's reply is read as: the record, whatever stands around it, and plain text as the last resort."""

import json

import pytest

from rollout.user import UserAnswer, read_answer

YES = UserAnswer(text='Yes, "do" it.', agrees=True, wants_human=False, later=None, done=False)
BYE = UserAnswer(text="Thanks, bye!", agrees=None, wants_human=False, later=None, done=True)


@pytest.mark.parametrize(
    "reply",
    [
        YES.written,
        f"```json\n{json.dumps(json.loads(YES.written), indent=2)}\n```",
        f"Here is my answer:\n{YES.written}\nI hope that it is right.",
        f"<think>They ask {{whether}} I agree.</think>{YES.written}",
        r'{"text": "Yes, \"do\" it.", "agrees": "yes", "wants_human": "no", "done": "False"}',
        r'{"text": "Yes, \"do\" it.", "agrees": true,}',
        r'{"message": "Yes, \"do\" it.", "agrees": true, "wants_human": null}',
        f"[{YES.written}]",
        '{"text": "Yes, "do" it.", "agrees": true, "wants_human": false, "done": false}',
        "{'text': 'Yes, \"do\" it.', 'agrees': True, 'wants_human': False, 'done': False}",
        'Yes, "do" it.\n```json\n{"agrees": true, "wants_human": false, "done": false}\n```',
        '{"agrees": true, "done": false, "text": "Yes, \\"do\\" it.',
    ],
)
def test_a_record_is_read_in_any_wrapping(reply: str) -> None:
    assert read_answer(reply) == YES


@pytest.mark.parametrize(
    "reply",
    [
        BYE.written,
        "Thanks, bye! ###STOP###",
        '{"text": "Thanks, bye! ###STOP###", "agrees": null}',
        '{"text": "Thanks, bye!", "done": "true", "wants_hum',
    ],
)
def test_the_end_is_seen_and_its_mark_cut_off(reply: str) -> None:
    assert read_answer(reply) == BYE


def test_line_breaks_in_a_broken_string_stay() -> None:
    assert read_answer('{"text": "One.\nTwo.", "done": false').text == "One.\nTwo."
    assert read_answer(r'{"text": "One.\nTwo.", "done": false').text == "One.\nTwo."


@pytest.mark.parametrize("text", ["I would like {this}, please.", "It costs 30.00 [I think].", "text: hello there"])
def test_plain_text_is_taken_as_it_is(text: str) -> None:
    assert read_answer(text) == UserAnswer(text=text, agrees=None, wants_human=False, later=None, done=False)


@pytest.mark.parametrize("reply", ["", "  ", '{"text": ""}', "<think>Hm, what now", '{"done": true}', "###STOP###"])
def test_no_words_are_no_text(reply: str) -> None:
    assert read_answer(reply).text == ""


def test_who_asks_for_a_human_says_so() -> None:
    answer = read_answer('{"text": "A human, please.", "agrees": false, "wants_human": "Yes", "done": 0}')
    assert (answer.agrees, answer.wants_human, answer.done) == (False, True, False)


@pytest.mark.parametrize(
    "reply",
    [
        '{"text":"SECRET</think>My words.","agrees":true,"wants_human":false,"later":null,"done":false}',
        '{"text":"<think>SECRET</think>My words.","agrees":true,"wants_human":false,"later":null,"done":false}',
        '```json\n{"text":"<think>SECRET</think>My words.","agrees":true,"done":fal',
        '<think>SECRET {"text":"no"}</think>{"text":"SECRET</think>My words.","agrees":true}',
        '{"text":"SE"CR"ET</think>My words.","agrees":true,"done":false}',
    ],
)
def test_a_thought_within_the_text_is_not_said_and_the_record_stays_whole(reply: str) -> None:
    answer = read_answer(reply)
    assert (answer.text, answer.agrees, answer.done) == ("My words.", True, False)

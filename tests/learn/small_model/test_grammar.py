"""Whatever a network prefers, its calls are valid."""

import json
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from learn.small_model.grammar import Grammar, offered, types
from learn.small_model.reading import read
from learn.small_model.vocabulary import Vocabulary
from tests.learn.small_model.conversations import TOOLS, a_conversation

WINDOW = 600
ROWS = [read(a_conversation(number)["messages"], window=WINDOW, learned=True) for number in range(4)]
VOCABULARY = Vocabulary.of(ROWS)


def a_grammar(row: int = 0) -> Grammar:
    encoded = VOCABULARY.encode(ROWS[row], Random(0))
    return Grammar(offered(TOOLS, VOCABULARY), VOCABULARY, encoded.slots)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_replies_that_are_drawn_at_random_have_valid_calls(seed: int) -> None:
    random, grammar = Random(seed), a_grammar()
    slots = VOCABULARY.encode(ROWS[0], Random(0)).slots
    for _ in range(400):
        options = grammar.allowed()
        assert options
        # Calls are begun and ended often enough to be tested.
        signs = [number for number in options if VOCABULARY.token(number, slots).kind in ("control", "key")]
        grammar.add(VOCABULARY.token(random.choice(signs if signs and random.random() < 0.5 else options), slots))
        if grammar.is_done:
            break
    for call in grammar.reply().calls:
        arguments = json.loads(call.arguments)
        if call.name == "book_room":
            assert {*arguments} == {"room_id", "guests", "plan"}
            assert arguments["plan"] in ("flexible", "saver")
            assert isinstance(arguments["guests"], int | float | str)
        else:
            assert (call.name, {*arguments}) == ("find_rooms", {"day"})


def test_what_was_learned_can_be_written() -> None:
    for number, row in enumerate(ROWS):
        grammar, encoded = a_grammar(number), VOCABULARY.encode(row, Random(0))
        for place, piece in enumerate(row):
            if piece.learned:
                assert encoded.columns[0][place] in grammar.allowed(), piece
                grammar.add(piece.token)
            if grammar.is_done:
                grammar = a_grammar(number)


def test_a_reply_reads_as_the_message_that_was_learned() -> None:
    grammar = a_grammar()
    row = ROWS[0]
    begin = next(place for place, piece in enumerate(row) if piece.token.text == "book_room")
    for piece in row[begin - 1 :]:
        grammar.add(piece.token)
        if grammar.is_done:
            break
    [call] = grammar.reply().calls
    assert json.loads(call.arguments) == {"room_id": "HRROO-0000", "guests": 1, "plan": "saver"}


def test_a_call_that_was_cut_off_is_left_out() -> None:
    grammar = a_grammar()
    begin = next(place for place, piece in enumerate(ROWS[0]) if piece.token.text == "book_room")
    for piece in ROWS[0][begin - 1 : begin + 3]:
        grammar.add(piece.token)
    assert grammar.reply().calls == []


def test_tools_that_were_never_learned_are_not_called() -> None:
    stranger = {"type": "function", "function": {"name": "unheard_of"}}
    assert {*offered([*TOOLS, stranger], VOCABULARY)} == {"find_rooms", "book_room"}


def test_types_of_a_schema() -> None:
    assert types({"type": ["string", "null"]}) == ["string", "null"]
    assert types({"anyOf": [{"type": "integer"}, {"type": "null"}]}) == ["integer", "null"]

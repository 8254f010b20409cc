"""What the model sees of conversations."""

import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from learn.small_model.reading import BEGIN, HIGHEST, LOWEST, MENTIONED, Piece, read, spelled, unspelled
from learn.small_model.tokens import ConversationToken, word
from learn.small_model.vocabulary import Vocabulary
from tests.learn.small_model.conversations import a_conversation

WINDOW = 600


def result_pieces(rows: object, said: str = "The Market Double, please.") -> list[Piece]:
    """The pieces of a result after a user's words."""
    messages = [{"role": "user", "content": said}, {"role": "tool", "content": json.dumps(rows)}]
    return [piece for piece in read(messages, window=WINDOW) if piece.role == "tool"]


def test_of_the_system_prompt_only_its_head_is_seen() -> None:
    texts = {piece.token.text for piece in read(a_conversation()["messages"][:1], window=WINDOW)}
    assert {"Harbour", "2025-03-17", "signed"} <= texts
    assert "Manual" not in texts
    assert "R7" not in texts


def test_the_row_that_was_mentioned_comes_first() -> None:
    pieces = result_pieces([{"id": f"R-{place}", "name": name} for place, name in enumerate(["A B", "Market Double"])])
    first = [piece for piece in pieces if piece.rank == 1]
    assert [piece.token.text for piece in first] == ["row", "R-1", "Market", "Double"]
    assert [piece.flag == MENTIONED for piece in first] == [False, False, True, True]


def test_the_ends_of_a_column_are_marked() -> None:
    pieces = result_pieces([{"price_cents": price} for price in (300, 100, 200)])
    marks = {piece.token.text: piece.extreme for piece in pieces if piece.key}
    assert marks == {"100": LOWEST, "200": 0, "300": HIGHEST}


def test_a_conversation_that_goes_on_keeps_its_pieces() -> None:
    messages = a_conversation(3)["messages"]
    whole = read(messages, window=WINDOW, learned=True)
    for end in (2, 4, 6):
        begun = read(messages[:end], window=WINDOW)
        assert [piece._replace(learned=True) for piece in begun] == [
            piece._replace(learned=True) for piece in whole[: len(begun)]
        ]
        assert begun[-1].token == BEGIN["assistant"]


def test_a_window_is_kept() -> None:
    assert len(read(a_conversation()["messages"], window=30)) == 30


def test_values_that_stood_nowhere_are_spelled() -> None:
    token = ConversationToken("date", "2025-04-26")
    assert unspelled([word("on"), *spelled(token), word(".")]) == [word("on"), token, word(".")]


def test_a_badly_spelled_value_becomes_a_word() -> None:
    [opened, *_, closed] = spelled(ConversationToken("date", "2025-04-26"))
    assert unspelled([opened, word("-"), closed]) == [word("-")]


def test_numbers_give_the_tokens_back() -> None:
    rows = [read(a_conversation(number)["messages"], window=WINDOW, learned=True) for number in range(4)]
    vocabulary = Vocabulary.of(rows)
    for row in rows:
        encoded = vocabulary.encode(row, Random(1))
        assert [vocabulary.token(number, encoded.slots) for number in encoded.columns[0]] == [p.token for p in row]


def test_ids_are_slots_that_differ_each_time_and_their_first_writing_is_not_learned() -> None:
    row = read(a_conversation()["messages"], window=WINDOW, learned=True)
    vocabulary = Vocabulary.of([row])
    first, second = (vocabulary.encode(row, Random(seed)) for seed in (1, 2))
    places = [place for place, piece in enumerate(row) if piece.token.kind == "id"]
    assert all(first.columns[0][place] >= len(vocabulary) for place in places)
    assert [first.columns[0][place] for place in places] != [second.columns[0][place] for place in places]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_result_can_be_read(value: object) -> None:
    assert len(read([{"role": "tool", "content": json.dumps(value)}], window=WINDOW)) <= WINDOW

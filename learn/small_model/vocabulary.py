"""Pieces as numbers, and numbers as tokens.

Frequent words have numbers of their own. Values and rare words have none: each distinct one of a conversation takes a
slot, drawn anew each time, so that the model learns to copy what stands in a slot, and not what it is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from learn.small_model.reading import CONTROLS, ROLES, UNKNOWN, Piece, is_copied
from learn.small_model.tokens import SMALL, ConversationToken

SLOTS = 512
LEAST_CONVERSATIONS = 3
"""Conversations that a word stands in to have a number of its own, unless an assistant says it."""
KINDS = ("control", "word", "key", "tool", "date", "time", "money", "number", "id")
COLUMNS = ("token", "kind", "role", "key", "rank", "flag", "extreme")
"""What the model is given of each piece, in this order."""


class Encoded(NamedTuple):
    """A conversation in numbers."""

    columns: list[list[int]]
    """For each of COLUMNS the numbers of all pieces."""
    learned: list[bool]
    slots: dict[int, ConversationToken]
    """What stands in the slots."""


class Vocabulary:
    """The words with numbers of their own. Slots are numbered after them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self.unknown = self._numbers[UNKNOWN.name]

    @classmethod
    def of(cls, conversations: Iterable[Sequence[Piece]]) -> "Vocabulary":
        """The vocabulary of conversations that are to be learned."""
        counts: Counter[str] = Counter()
        needed = {token.name for token in CONTROLS} | {f"number:{number}" for number in range(SMALL + 1)}
        needed |= {"key:", "word:-", "word::", "word:.", "word:+", "word:@"}
        for pieces in conversations:
            counts.update({piece.token.name for piece in pieces if not is_copied(piece.token)})
            needed |= {piece.token.name for piece in pieces if piece.learned and not is_copied(piece.token)}
            needed |= {f"key:{piece.key}" for piece in pieces}
        often = {name for name, count in counts.items() if count >= LEAST_CONVERSATIONS}
        return cls(sorted(needed | often))

    def __len__(self) -> int:
        return len(self.names)

    def number(self, name: str) -> int | None:
        """The number of a token by its name; None if it has none of its own."""
        return self._numbers.get(name)

    def token(self, number: int, slots: Mapping[int, ConversationToken]) -> ConversationToken:
        """The token of a number."""
        if number >= len(self.names):
            return slots[number]
        kind, _, text = self.names[number].partition(":")
        return ConversationToken(kind, text)  # type: ignore[arg-type]

    def encode(self, pieces: Sequence[Piece], random: Random, *, hidden: frozenset[str] = frozenset()) -> Encoded:
        """The numbers of a conversation's pieces.

        Args:
            pieces: The pieces.
            random: Draws the slots.
            hidden: Names of words that take a slot although they have a number.
        """
        free = list(range(len(self), len(self) + SLOTS))
        random.shuffle(free)
        taken: dict[ConversationToken, int] = {}
        rows: list[tuple[int, ...]] = []
        learned: list[bool] = []
        for piece in pieces:
            # A rare word that stands nowhere before cannot be written.
            can_write = len(taken)
            rows.append(self._row(piece, taken, free, hidden))
            learned.append(piece.learned and len(taken) == can_write and rows[-1][0] != self.unknown)
        columns = [list(column) for column in zip(*rows, strict=True)]
        return Encoded(columns, learned, {number: token for token, number in taken.items()})

    def _row(
        self, piece: Piece, taken: dict[ConversationToken, int], free: list[int], hidden: frozenset[str]
    ) -> tuple[int, ...]:
        token = piece.token
        number = None if is_copied(token) or token.name in hidden else self._word(token)
        if number is None and token.kind in ("key", "tool", "control"):
            number = self.unknown
        if number is None:
            if token not in taken and free:
                taken[token] = free.pop()
            number = taken.get(token, self.unknown)
        return self.row(number, piece)

    def row(self, number: int, piece: Piece) -> tuple[int, ...]:
        """A piece's number in each column; `number` is its token's."""
        key = self._numbers.get(f"key:{piece.key}", self._numbers["key:"])
        return (
            number,
            KINDS.index(piece.token.kind),
            ROLES.index(piece.role),
            key,
            piece.rank,
            piece.flag,
            piece.extreme,
        )

    def _word(self, token: ConversationToken) -> int | None:
        number = self._numbers.get(token.name)
        return number if number is not None else self._numbers.get(token.name.lower())

"""The network: a small decoder with a pointer beside its vocabulary.

The next token is one of the vocabulary, or a copy of one that stands before: one softmax ranges over both, and a
token's probability is the sum over its number and its copies. Slots have fixed random vectors, which nothing is
learned about.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from learn.small_model.reading import RANKS, ROLES
from learn.small_model.vocabulary import COLUMNS, KINDS, SLOTS

HEAD = 32
"""Width of an attention head."""
FLAGS, EXTREMES = 3, 3
TELLING = 2
"""The first roles of ROLES, whose words make the topic of a conversation."""
BEFORE = 2
"""Tokens before each one that it is mixed with at the input: a token knows its neighbours from the first layer on."""


@dataclass(frozen=True)
class Shape:
    """The size of a network."""

    vocabulary: int
    width: int = 128
    layers: int = 3
    dropout: float = 0.1


class Past:
    """What the network keeps of the tokens that it has read."""

    def __init__(self, layers: int) -> None:
        self.keys: list[Tensor | None] = [None] * layers
        self.values: list[Tensor | None] = [None] * layers
        self.inputs: Tensor | None = None
        self.topic: tuple[Tensor, Tensor] | None = None
        self.places: Tensor | None = None
        self.length = 0


class _Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = width // HEAD
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor], past: Past | None, layer: int) -> Tensor:
        batch, length, width = x.shape
        heads = self.attention(self.before_attention(x)).view(batch, length, 3, self.heads, HEAD).transpose(1, 3)
        query, key, value = _turned(heads[:, :, 0], turns), _turned(heads[:, :, 1], turns), heads[:, :, 2]
        if past is not None:
            key, value = _joined(past.keys[layer], key), _joined(past.values[layer], value)
            past.keys[layer], past.values[layer] = key, value
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=length > 1)
        x = x + self.dropout(self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.mlp(self.before_mlp(x)))


def _joined(past: Tensor | None, new: Tensor) -> Tensor:
    return new if past is None else torch.cat([past, new], dim=2)


def _turned(heads: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary positions."""
    cosine, sine = turns
    first, second = heads.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class Network(nn.Module):
    def __init__(self, shape: Shape, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.shape = shape
        width = shape.width
        self.words = nn.Embedding(shape.vocabulary, width)
        slots = torch.randn(SLOTS, width) / width**0.5
        self.register_buffer("slots", slots)
        self.key = nn.Linear(width, width, bias=False)
        sizes = {"kind": len(KINDS), "role": len(ROLES), "rank": RANKS, "flag": FLAGS, "extreme": EXTREMES}
        self.features = nn.ModuleDict({name: nn.Embedding(size, width) for name, size in sizes.items()})
        self.mix = nn.Linear((BEFORE + 1) * width, width, bias=False)
        self.topic = nn.Linear(width, width, bias=False)
        self.dropout = nn.Dropout(shape.dropout)
        self.blocks = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))
        self.last = nn.LayerNorm(width)
        self.out = nn.Linear(width, shape.vocabulary)
        self.asking, self.place = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        for embedding in (self.words, *self.features.values()):
            nn.init.normal_(embedding.weight, std=width**-0.5)
        self.out.weight = self.words.weight

    def forward(self, columns: Tensor, past: Past | None = None) -> tuple[Tensor, Tensor]:
        """The states after each piece, and the keys that the pointer looks for.

        Args:
            columns: Pieces' numbers, of the shape (batch, len(COLUMNS), length).
            past: What was read before; it is added to.
        """
        inputs = self._inputs(columns)
        began = past.length if past else 0
        before = (
            past.inputs if past and past.inputs is not None else inputs.new_zeros(len(inputs), BEFORE, inputs.shape[2])
        )
        row = torch.cat([before, inputs], dim=1)
        length = inputs.shape[1]
        x = inputs + self.mix(
            torch.cat([row[:, BEFORE - back : BEFORE - back + length] for back in range(BEFORE + 1)], dim=2)
        )
        x = x + self.topic(self._topic(columns, past))
        x = self.dropout(x)
        turns = _turns(began, length, x)
        for layer, block in enumerate(self.blocks):
            x = block(x, turns, past, layer)
        x = self.last(x)
        places = self.place(x)
        if past is not None:
            past.inputs, past.length = row[:, -BEFORE:], began + length
            places = past.places = places if past.places is None else torch.cat([past.places, places], dim=1)
        return x, places

    def scores(self, states: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the vocabulary's words and of the pieces that may be copied, for states of one conversation."""
        return self.out(states), self.asking(states) @ places.transpose(-1, -2) / places.shape[-1] ** 0.5

    def _topic(self, columns: Tensor, past: Past | None) -> Tensor:
        """The mean of the words that the system and the user have said so far, at every place."""
        told = (columns[:, COLUMNS.index("role")] < TELLING).unsqueeze(2) & (
            columns[:, :1].transpose(1, 2) < self.shape.vocabulary
        )
        words = functional.embedding(columns[:, 0].clamp(max=self.shape.vocabulary - 1), self.words.weight) * told
        total, count = words.cumsum(1), told.to(words.dtype).cumsum(1)
        if past is not None:
            if past.topic is not None:
                total, count = total + past.topic[0], count + past.topic[1]
            past.topic = total[:, -1:], count[:, -1:]
        return total * self.words.weight.shape[1] ** 0.5 / count.clamp(min=1).sqrt() / 4

    def _inputs(self, columns: Tensor) -> Tensor:
        named = dict(zip(COLUMNS, columns.unbind(1), strict=True))
        table = torch.cat([self.words.weight, self.slots])
        inputs = functional.embedding(named["token"], table) + self.key(functional.embedding(named["key"], table))
        for name, embedding in self.features.items():
            inputs = inputs + embedding(named[name])
        return inputs


def _turns(began: int, length: int, like: Tensor) -> tuple[Tensor, Tensor]:
    frequencies = 10_000.0 ** (-torch.arange(0, HEAD, 2, device=like.device) / HEAD)
    angles = torch.arange(began, began + length, device=like.device)[:, None] * frequencies
    return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


def loss(network: Network, columns: Tensor, learned: Tensor) -> Tensor:
    """The sum over all learned pieces of the surprise at them, by what stands before them.

    Args:
        network: The network.
        columns: (batch, len(COLUMNS), length).
        learned: (batch, length): what is learned.
    """
    states, places = network(columns)
    total = states.new_zeros(())
    for row in range(len(columns)):
        at = learned[row].nonzero()[:, 0]
        at = at[at > 0]
        tokens = columns[row, 0]
        words, copies = network.scores(states[row, at - 1], places[row])
        aims = tokens[at]
        open_ = torch.arange(len(tokens))[None] < at[:, None]
        copies = copies.masked_fill(~open_, -torch.inf)
        right = copies.masked_fill(tokens[None] != aims[:, None], -torch.inf)
        word = words.gather(1, aims.clamp(max=words.shape[1] - 1)[:, None]).masked_fill(
            (aims >= words.shape[1])[:, None], -torch.inf
        )
        everything = torch.logsumexp(torch.cat([words, copies], dim=1), dim=1)
        total = total + (everything - torch.logsumexp(torch.cat([word, right], dim=1), dim=1)).sum()
    return total

"""Replies of a trained model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from learn.small_model.grammar import Grammar, WrittenReply, offered
from learn.small_model.network import Network, Past
from learn.small_model.reading import Piece, read
from learn.small_model.vocabulary import Encoded, Vocabulary


@dataclass(frozen=True)
class DecodingSettings:
    """How tokens are drawn."""

    temperature: float = 0.0
    """0 takes the likeliest."""
    top_p: float = 1.0
    most: int = 320
    """Tokens of a reply."""
    seed: int = 0


class Generated(NamedTuple):
    reply: WrittenReply
    is_whole: bool
    """False if it was cut off at its most tokens."""
    read: int
    written: int
    """Tokens that were read and written."""


class Decoder:
    """Writes replies to conversations."""

    def __init__(self, network: Network, vocabulary: Vocabulary, window: int) -> None:
        self._network = network.eval()
        self._vocabulary = vocabulary
        self._window = window

    @torch.inference_mode()
    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], sampling: DecodingSettings
    ) -> Generated:
        """The next message of the assistant."""
        pieces = read(messages, window=self._window)
        encoded = self._vocabulary.encode(pieces, Random(0))
        grammar = Grammar(offered(tools, self._vocabulary), self._vocabulary, encoded.slots)
        self._write(grammar, encoded, sampling)
        return Generated(grammar.reply(), grammar.is_done, len(pieces), len(grammar.tokens))

    def _write(self, grammar: Grammar, encoded: Encoded, sampling: DecodingSettings) -> None:
        generator = torch.Generator().manual_seed(sampling.seed)
        past = Past(self._network.shape.layers)
        columns = torch.tensor(encoded.columns)[None]
        tokens = columns[0, 0]
        for _ in range(sampling.most):
            states, places = self._network(columns, past)
            words, copies = self._network.scores(states[0, -1:], places[0])
            number = _drawn(_weights(words[0], copies[0], tokens, len(self._vocabulary)), grammar, sampling, generator)
            token = self._vocabulary.token(number, encoded.slots)
            grammar.add(token)
            if grammar.is_done:
                break
            key = "" if token.kind == "key" else grammar.key
            row = self._vocabulary.row(number, Piece(token, "assistant", key))
            columns = torch.tensor(row)[None, :, None]
            tokens = torch.cat([tokens, columns[0, 0]])


def _weights(words: Tensor, copies: Tensor, tokens: Tensor, vocabulary: int) -> Tensor:
    """The probability of each number: its own, and that of its copies."""
    shares = torch.softmax(torch.cat([words, copies]), dim=0)
    size = max(vocabulary, int(tokens.max()) + 1)
    weights = torch.zeros(size)
    weights[:vocabulary] = shares[:vocabulary]
    return weights.index_add_(0, tokens, shares[vocabulary:])


def _drawn(weights: Tensor, grammar: Grammar, sampling: DecodingSettings, generator: torch.Generator) -> int:
    allowed = torch.tensor([number for number in grammar.allowed() if number < len(weights)])
    chances = weights[allowed]
    if sampling.temperature <= 0 or float(chances.sum()) <= 0:
        return int(allowed[chances.argmax()])
    chances = torch.softmax(chances.clamp(min=1e-30).log() / sampling.temperature, dim=0)
    ordered, places = chances.sort(descending=True)
    kept = ordered.cumsum(0) - ordered < sampling.top_p
    drawn = torch.multinomial(ordered * kept, 1, generator=generator)
    return int(allowed[places[drawn]])

"""Training: conversations in, a model's folder out. The same data, seed and number of threads give the same weights."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from learn.small_model.conversations import load_conversations
from learn.small_model.folder import SmallModel, refuse_occupied, save
from learn.small_model.network import Network, Shape, loss
from learn.small_model.reading import Piece, read
from learn.small_model.vocabulary import COLUMNS, Vocabulary
from skillweave.base.command import command_line, shell_word

RARE = 0.2
"""Share of the conversations below which a word is rare: only such words are hidden in slots now and then."""
WEIGHT_DECAY = 0.3
LONGEST_STEP = 1.0
"""The norm that gradients are clipped to."""
SPREAD = 60
READ = 2_500_000
"""Pieces that a training reads where no number of epochs is given: minutes on two cores."""
FEWEST_EPOCHS, MOST_EPOCHS = 8, 40
"""Conversations of one batch have about the same length, give or take so many pieces."""


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained; the defaults were found on three worlds and a hundred conversations."""

    epochs: int = 0
    """Passes over the conversations; 0: as many as READ allows."""
    steps: int = 0
    """The most steps; 0: no bound."""
    batch: int = 2
    """Conversations of a step."""
    width: int = 128
    layers: int = 2
    window: int = 768
    """Pieces of a conversation that the model sees."""
    learning_rate: float = 0.003
    warm_up: float = 0.03
    """Share of the steps in which the learning rate rises; then it falls along a cosine."""
    dropout: float = 0.2
    hidden: float = 0.2
    """Share of the rare words that are hidden in slots, anew each epoch."""


class _Hiding:
    """Hides rare words of conversations, so that the model learns to copy what it never saw."""

    def __init__(self, rows: Sequence[Sequence[Piece]], share: float) -> None:
        named = [{piece.token.name for piece in row if piece.token.kind == "word"} for row in rows]
        counts = Counter(name for names in named for name in names)
        self._rare = {name for name, count in counts.items() if count < RARE * len(rows)}
        self._share = share

    def draw(self, row: Sequence[Piece], random: Random) -> frozenset[str]:
        """Names of words to hide: of those that the assistant was not the first to say."""
        first: dict[str, bool] = {}
        for piece in row:
            first.setdefault(piece.token.name, piece.learned)
        rare = [name for name, is_learned in first.items() if not is_learned and name in self._rare]
        return frozenset(name for name in rare if random.random() < self._share)


def run_training(data: Path, to: Path, seed: int, settings: TrainingSettings, say: Callable[[str], None]) -> None:
    """Train a model, and write its folder when it is trained.

    Args:
        data: The file of conversations.
        to: The folder; a model in it is replaced, at the end and at once.
        seed: Any whole number.
        settings: How.
        say: Gets a line an epoch.

    Raises:
        ConfigError, ArtifactError: The data or the folder cannot be used.
    """
    refuse_occupied(to)
    rows = [read(row["messages"], window=settings.window, learned=True) for row in load_conversations(data)]
    vocabulary = Vocabulary.of(rows)
    network = Network(Shape(len(vocabulary), settings.width, settings.layers, settings.dropout), seed)
    figures = {
        "conversations": len(rows),
        "pieces": sum(map(len, rows)),
        "learned_pieces": sum(piece.learned for row in rows for piece in row),
        "vocabulary": len(vocabulary),
        "parameters": sum(weights.numel() for weights in network.parameters()),
    }
    say(", ".join(f"{value} {name.replace('_', ' ')}" for name, value in figures.items()))
    began = time.monotonic()
    losses = list(_epochs(network, vocabulary, rows, seed, settings, say))
    done = {"seed": seed, "threads": torch.get_num_threads(), "losses": losses, **figures}
    seconds = round(time.monotonic() - began, 1)
    save(SmallModel(network, vocabulary, settings.window), to, asdict(settings), {**done, "seconds": seconds})
    serve = command_line("learn.small_model", "serve", to)
    say(f"wrote {shell_word(to)} after {seconds:g} seconds; next: {serve}")


def _epochs(
    network: Network,
    vocabulary: Vocabulary,
    rows: Sequence[Sequence[Piece]],
    seed: int,
    settings: TrainingSettings,
    say: Callable[[str], None],
) -> Iterator[float]:
    """Train, and give each epoch's mean loss of a piece."""
    random, hiding = Random(seed), _Hiding(rows, settings.hidden)
    optimizer = _optimizer(network)
    epochs = settings.epochs or epochs_of(sum(map(len, rows)))
    steps = epochs * math.ceil(len(rows) / settings.batch)
    steps = min(steps, settings.steps) if settings.steps else steps
    step, began = 0, time.monotonic()
    network.train()
    for epoch in range(1, epochs + 1):
        total = count = 0.0
        for batch in _batches(rows, settings.batch, random)[: steps - step]:
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * _pace(step / steps, settings.warm_up)
            columns, learned = _tensors([rows[place] for place in batch], vocabulary, hiding, random)
            value = loss(network, columns, learned)
            pieces = max(1, int(learned.sum()))
            optimizer.zero_grad()
            (value / pieces).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), LONGEST_STEP)
            optimizer.step()
            total, count = total + value.item(), count + pieces
        say(f"epoch {epoch} of {epochs}: loss {total / count:.4f}, {time.monotonic() - began:.0f} s")
        yield round(total / count, 6)
        if step == steps:
            return


def epochs_of(pieces: int) -> int:
    """The passes over conversations of so many pieces together, where no number is given."""
    return max(FEWEST_EPOCHS, min(MOST_EPOCHS, round(READ / max(1, pieces))))


def _optimizer(network: Network) -> torch.optim.Optimizer:
    decayed = [weights for weights in network.parameters() if weights.dim() > 1]
    rest = [weights for weights in network.parameters() if weights.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))


def _pace(done: float, warm_up: float) -> float:
    """The learning rate as a share of its highest."""
    return min(1.0, done / warm_up) * (0.5 + 0.5 * math.cos(math.pi * done)) if warm_up else 1.0


def _batches(rows: Sequence[Sequence[Piece]], size: int, random: Random) -> list[list[int]]:
    lengths = {place: len(row) + random.random() * SPREAD for place, row in enumerate(rows)}
    order = sorted(lengths, key=lambda place: lengths[place])
    batches = [order[begin : begin + size] for begin in range(0, len(order), size)]
    random.shuffle(batches)
    return batches


def _tensors(
    rows: Sequence[Sequence[Piece]], vocabulary: Vocabulary, hiding: _Hiding, random: Random
) -> tuple[Tensor, Tensor]:
    """A batch's columns, padded at the end, and what is learned of it."""
    encoded = [vocabulary.encode(row, random, hidden=hiding.draw(row, random)) for row in rows]
    longest = max(map(len, rows))
    columns = torch.zeros(len(rows), len(COLUMNS), longest, dtype=torch.long)
    learned = torch.zeros(len(rows), longest, dtype=torch.bool)
    for place, row in enumerate(encoded):
        columns[place, :, : len(row.learned)] = torch.tensor(row.columns)
        learned[place, : len(row.learned)] = torch.tensor(row.learned)
    return columns, learned

"""A trained model's folder. It is written beside its place and takes it in one rename: what has the name is whole."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from learn.small_model.network import Network, Shape
from learn.small_model.vocabulary import Vocabulary
from skillweave.base.errors import ArtifactError, ConfigError

FORMAT = "skillweave-small-model/1"
WEIGHTS, WORDS, SETTINGS, TRAINING = "model.pt", "vocabulary.json", "settings.json", "training.json"


class SmallModel(NamedTuple):
    """A model as it lies in a folder."""

    network: Network
    vocabulary: Vocabulary
    window: int
    """Pieces of a conversation that it sees."""


def refuse_occupied(folder: Path) -> None:
    """Raise ConfigError if a folder holds anything but a model of ours, which a training replaces."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{str(folder)!r} is no folder; give --to a new one")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SETTINGS).is_file():
        raise ConfigError(f"the folder {str(folder)!r} holds something else; give --to a new or an empty one")


def save(model: SmallModel, folder: Path, settings: Mapping[str, Any], training: Mapping[str, Any]) -> None:
    """Write a model's folder; it takes the place of an earlier one."""
    partial, old = (folder.with_name(f"{folder.name}.{end}") for end in ("writing", "replaced"))
    for left in (partial, old):
        shutil.rmtree(left, ignore_errors=True)
    partial.mkdir(parents=True)
    shape = model.network.shape
    own = {"format": FORMAT, "width": shape.width, "layers": shape.layers, "window": model.window, **settings}
    torch.save(model.network.state_dict(), partial / WEIGHTS)
    for name, value in ((WORDS, model.vocabulary.names), (SETTINGS, own), (TRAINING, training)):
        (partial / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if folder.exists():
        folder.replace(old)
    partial.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def load(folder: Path) -> SmallModel:
    """The model of a folder. Raises ConfigError if there is none, ArtifactError if it cannot be read."""
    if not (folder / SETTINGS).is_file():
        raise ConfigError(
            f"there is no trained model in {str(folder)!r}; train one with: python -m learn.small_model train"
        )
    try:
        settings = json.loads((folder / SETTINGS).read_text("utf-8"))
        vocabulary = Vocabulary(json.loads((folder / WORDS).read_text("utf-8")))
        if settings["format"] != FORMAT:
            raise ValueError(f"its format is {settings['format']!r}, not {FORMAT!r}")
        network = Network(Shape(len(vocabulary), settings["width"], settings["layers"]))
        network.load_state_dict(torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True))
        return SmallModel(network, vocabulary, settings["window"])
    except Exception as error:  # a file of any content; torch raises anything
        why = " ".join(str(error).split())[:200]
        raise ArtifactError(f"the model in {str(folder)!r} cannot be read ({why}); train it anew") from None

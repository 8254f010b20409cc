"""What words have to do with each other: stems, and other words for the same thing."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml

from evaluator.checks.communicate import content_words

_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning; underscores part words."""
    return content_words(text.replace("_", " "))


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Lower case words, parted and framed by one space."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def says(text: str, phrase: str) -> bool:
    """Whether the text holds the phrase, its last word in any form."""
    return f" {' '.join(_WORD.findall(phrase.casefold()))}" in plain(text)


def alike(kind: str, word: str, text: str) -> float:
    """How well a text speaks of a word of a name: 1 by the word itself, less by another for it."""
    if stems(word) & stems(text):
        return 1.0
    return 0.8 if any(says(text, phrase) for phrase in _lexicon()[kind].get(word, ())) else 0.0


@cache
def _lexicon() -> Mapping[str, Mapping[str, list[str]]]:
    loaded: dict[str, Any] = yaml.safe_load(
        files("rollout.offline.agents.greedy").joinpath("lexicon.yaml").read_text("utf-8")
    )
    return loaded

"""Recorded models: what strong models answered when they were asked to author a company, to be given again.

A cassette here is found by question, item and attempt, not by the words of the prompt, so that it outlives a prompt's
rewording.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from skillweave.base.errors import AuthorError
from skillweave.llm.backends.backend import Request
from synth.offline.author import ANSWERS, OfflineAuthor

CASSETTES = Path(__file__).parent / "cassettes"
OFFLINE = frozenset({"database.generator", "policy.write", "server.write", "server.tests"})
"""What the offline author answers: code, and the manual, whose rules have other numbers once a tool is taken out."""
Spoken = tuple[str, str, int]
"""Question, item, attempt."""


@cache
def takes(name: str) -> dict[Spoken, str]:
    """What a cassette holds."""
    lines = (CASSETTES / f"{name}.jsonl").read_text("utf-8").splitlines()
    found = (json.loads(line) for line in lines)
    return {(take["question"], take["key"], take["attempt"]): take["text"] for take in found}


class Recorded(OfflineAuthor):
    """The model of a cassette; who has nothing more to say gives no usable answer."""

    cassette = ""

    def __call__(self, request: Request) -> str:
        if request.question in OFFLINE:
            return super().__call__(request)
        spoken = (request.question, request.key, request.attempt)
        if spoken not in takes(self.cassette):
            raise AuthorError(f"{self.cassette} holds no answer to {spoken}")
        return takes(self.cassette)[spoken]

    def check_seeds(self, seeds: Sequence[str]) -> None:
        """A model knows a company for every seed."""


assert ANSWERS.keys() >= OFFLINE


class Veterinary(Recorded):
    cassette = "veterinary_clinic"


class Tools(Recorded):
    cassette = "tool_hire"

"""The toy's author."""

from collections.abc import Sequence

from skillweave.llm.backends.backend import Request


class ToyAuthor:
    def __init__(self, seed: int, catalogue: Sequence[str] = ()) -> None:
        self._seed = seed

    def __call__(self, request: Request) -> str:
        word = str(request.variables["word"])
        return f'"{word} is a word"' if word != "mute" else "no"

    def check_seeds(self, seeds: Sequence[str]) -> None:
        return None

    def digest(self, key: str, questions: Sequence[str], seeds: Sequence[str]) -> str:
        return f"toy-{self._seed}"

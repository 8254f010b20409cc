"""What an offline answer is made from: the question's variables, its key and the run's seed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from skillweave.base.errors import AuthorError
from synth.offline.services import ServiceVariant, variant

T = TypeVar("T")


@dataclass(frozen=True)
class OfflineQuestion:
    question: str
    key: str
    variables: Mapping[str, object]
    seed: int

    def get(self, name: str, kind: type[T]) -> T:
        """A variable of that type. AuthorError where the question came without it."""
        value = self.variables.get(name)
        if not isinstance(value, kind):
            raise AuthorError(
                f"question {self.question!r} gave {name!r} as {type(value).__name__}, not {kind.__name__}"
            )
        return value

    def many(self, name: str, kind: type[T]) -> list[T]:
        """A variable that is a list of that type."""
        values = self.get(name, list)
        if not all(isinstance(value, kind) for value in values):
            raise AuthorError(f"question {self.question!r} gave {name!r} with something else than {kind.__name__}")
        return values

    def variant(self, domain: str) -> ServiceVariant:
        """The variant behind a domain."""
        return variant(self.seed, domain)

    @property
    def random(self) -> Random:
        """Seeded by run, question and key, so that order and concurrency never change a byte."""
        return Random(f"{self.seed}/{self.question}/{self.key}")


Answer = Callable[[OfflineQuestion], Any]
"""What a question is answered with: something that JSON can hold, a record or a list of them, or a text."""

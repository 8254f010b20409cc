"""What an offline answer is made from: the question's name and variables, its key and the run's seed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from skillweave.base.errors import AuthorError
from synth.offline.services import ServiceVariant, variant

T = TypeVar("T")


@dataclass(frozen=True)
class OfflineQuestion:
    """A question that the offline author is asked."""

    name: str
    key: str
    """The item that it is asked about."""
    variables: Mapping[str, object]
    """What its prompt is rendered from."""
    seed: int
    """The run's."""

    def get(self, name: str, kind: type[T]) -> T:
        """The variable `name`. AuthorError if the question has none of this type."""
        value = self.variables.get(name)
        if not isinstance(value, kind):
            raise AuthorError(f"question {self.name!r} gave {name!r} as {type(value).__name__}, not {kind.__name__}")
        return value

    def many(self, name: str, kind: type[T]) -> list[T]:
        """The variable `name`, a list of this type. AuthorError if it is anything else."""
        values = self.get(name, list)
        if not all(isinstance(value, kind) for value in values):
            raise AuthorError(f"question {self.name!r} gave {name!r} with something else than {kind.__name__}")
        return values

    def variant(self, domain: str) -> ServiceVariant:
        """The service, setting and knobs that stand behind a domain. AuthorError if there are none."""
        return variant(self.seed, domain)

    @property
    def random(self) -> Random:
        """Random numbers seeded by run, question and key: order and concurrency never change a byte."""
        return Random(f"{self.seed}/{self.name}/{self.key}")


Answer = Callable[[OfflineQuestion], Any]
"""Answers a question: with a text, a record, a list of records, or any other value that JSON can hold."""

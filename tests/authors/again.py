"""Questions of a recorded run, asked again: by their words, with the answer known that is right."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import Backend
from skillweave.llm.ledger import Ledger
from skillweave.llm.parse import parse
from skillweave.llm.question import Question
from skillweave.llm.replay import CassetteEntry
from skillweave.schema.trajectory import Message
from synth.engine.pipeline import load_pipeline


def questions() -> dict[str, Question[Any]]:
    """All questions of the pipeline, by name."""
    return {each.name: each for step in load_pipeline("synth.steps").steps for each in step.questions}


@dataclass(frozen=True)
class _Again(Question[Any]):
    """A question whose words are those of a take."""

    said: tuple[Message, ...] = ()

    def render(self, variables: Mapping[str, object]) -> tuple[Message, Message]:
        system, user = self.said
        return system, user


async def asked_again(take: CassetteEntry, backend: Backend, ledger: Ledger, *, repairs: int = 2) -> bool:
    """Ask what a take was asked, until the right answer comes. Raises AuthorError, ProviderError."""
    found = questions()[take.question]
    question = _Again(**{field.name: getattr(found, field.name) for field in fields(found)}, said=tuple(take.messages))
    right = parse(question, take.reply.text)
    answer = await ask(
        backend,
        question,
        key=take.key,
        variables={},
        check=lambda answer: [] if answer == right else ["it is not right"],
        repairs=repairs,
        continuations=3,
        ledger=ledger,
    )
    return bool(answer == right)
